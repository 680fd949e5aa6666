"""An expression as plain values."""

import pytest

from podberth.cel.tree import Call, Entries, Items, Literal, Loop, Name, Select, Tree, plain, tree_of, walk
from snapshots import environment


def tree(source: str) -> Tree:
    return tree_of(source, environment(), {})


def test_each_kind_of_part_is_reported() -> None:
    found = tree("has(object.spec.nodeName) ? {'a': [1, 2.5, null]} : {'a': object.spec.containers.map(c, c.name)}")

    assert isinstance(found, Call)
    assert found.function == "_?_:_"
    kinds = {type(part) for part in walk(found)}
    assert kinds == {Call, Select, Name, Entries, Items, Literal, Loop}
    test, first, _ = found.operands
    assert test == Select(
        operand=Select(operand=Name(name="object"), field="spec", asks=False), field="nodeName", asks=True
    )
    assert plain(first) == {"a": [1, 2.5, None]}


def test_what_says_the_same_is_equal_wherever_it_stands() -> None:
    found = tree("gpu.count == 1 ||\n    gpu.count == 1")

    assert isinstance(found, Call)
    one, two = found.operands
    assert one == two
    assert (one.line, two.line) == (1, 2)


def test_a_reserved_word_is_the_field_that_it_stands_for() -> None:
    assert tree("request.__namespace__") == tree("request.namespace")


def test_a_list_whose_length_nobody_knows_is_no_list_of_items() -> None:
    assert not isinstance(tree("[?object.spec.?nodeName]"), Items)


@pytest.mark.parametrize("source", ["gpu.count", "[gpu.count]", "{'a': gpu.count}"])
def test_what_is_no_literal_has_no_plain_value(source: str) -> None:
    with pytest.raises(ValueError, match="literals"):
        plain(tree(source))


def test_the_value_of_a_key_is_found() -> None:
    found = tree("{'a': 1}")

    assert isinstance(found, Entries)
    assert found.get("a") == Literal(value=1)
    assert found.get("b") is None
    repeated = tree("{'a': 1, 'a': 2}")
    assert isinstance(repeated, Entries)
    assert repeated.get("a") == Literal(value=2)

"""Literals of several types, and texts that may be none, are refused in native policies, as upstream refuses them."""

import pytest

from natives import environment
from podberth.cel.engine import CompileError, Want


@pytest.mark.parametrize(
    "source",
    ["[1, 'a']", "[object.a, 'a']", "{'a': 1, 'b': 'c'}", "{'a': 1, 2: 3}", "[[1], ['a']]", "[1, 2.0].size() > 1"],
)
def test_a_mixed_literal_is_refused_at_its_element(source: str) -> None:
    with pytest.raises(CompileError, match="expected type"):
        environment().compile(source, want=Want.ANY)


@pytest.mark.parametrize(
    "source", ["[1, 2]", "[]", "{'a': dyn(1), 'b': dyn('c')}", "'%s %d'.format(['a', 1])", "[dyn(1), dyn('a')]"]
)
def test_other_literals_are_taken(source: str) -> None:
    environment().compile(source, want=Want.ANY)


@pytest.mark.parametrize("source", ["object.a", "dyn('x')", "true ? dyn('a') : 'b'"])
def test_a_text_has_the_type_string(source: str) -> None:
    with pytest.raises(CompileError, match="want string; write string"):
        environment().compile(source, want=Want.STRING)


def test_a_text_that_may_be_absent_wants_a_default() -> None:
    with pytest.raises(CompileError, match=r"want string; write a.orValue\(b\)"):
        environment().compile("optional.of('x')", want=Want.STRING)
    environment().compile("optional.of('x').orValue('')", want=Want.STRING)


@pytest.mark.parametrize("source", ["string(object.a)", "'x'", "null"])
def test_a_text_or_null_is_taken(source: str) -> None:
    environment().compile(source, want=Want.STRING)

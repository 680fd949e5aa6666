"""What the engine has as upstream stays native; only what can differ is corrected."""

import pytest

from podberth.cel import ast
from podberth.cel.correcting import guessed
from podberth.cel.engine import Environment, Want
from podberth.cel.functions import ReviewContext
from podberth.kube.schema import PodSchema

from .conftest import Evaluate


def functions(environment: Environment, source: str) -> set[str]:
    """Return what a program calls, as it runs."""
    lowered = environment.compile(source, want=Want.ANY)._lowered
    return set(ast.functions(lowered.checked))


@pytest.mark.parametrize(
    "source",
    [
        "has(object.spec.nodeName)",
        "object.spec.?nodeName.orValue('') == ''",
        "object.metadata.?labels[?'team'].hasValue()",
        "object.spec.containers[?0].?image.hasValue()",
        "object.spec.containers.all(c, has(c.resources) && c.resources.?limits.hasValue())",
        "object.spec.containers[0].image.matches('^a')",
        "gpu.count > 1 && object.spec.priority <= 5",
        "string(gpu.count) + object.metadata.labels['a']",
        "'a' in ['a', 'b'] && gpu.kind == 'whole'",
    ],
)
def test_what_the_checker_knows_stays_native(environment: Environment, source: str) -> None:
    found = functions(environment, source)
    assert not any(name == "type" or name.startswith("internal.") for name in found)


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("has(oldObject.spec)", "@in"),
        ("object.spec.?containers[1]", "size"),
        ("dyn(object).?spec", "type"),
        ("string(1.5)", "internal.doubleText"),
        ("'%s'.format([1])", "internal.formatted"),
        ("1.5 < 2.5", "internal.fail"),
    ],
)
def test_what_can_differ_is_corrected(environment: Environment, source: str, asked: str) -> None:
    assert asked in functions(environment, source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("object.spec.?nodeName.hasValue()", False),
        ("dyn(object)[?'a']['b']", True),
        ("dyn(object).?a.optMap(v, v['b'])", True),
        ("dyn(object).a.exists(v, v.b)", True),
        ("object.spec.containers.exists(c, c.name == dyn('a'))", False),
    ],
)
def test_a_type_is_a_guess_where_it_is_of_any_value(environment: Environment, source: str, expected: bool) -> None:
    declared = {"object": environment.compile("object", want=Want.ANY).type}
    checked = environment._check(source, declared, frozenset(), environment._checker)
    assert bool(guessed(checked)) is expected


def test_a_name_of_the_policys_is_not_caught_by_a_correction(evaluate: Evaluate) -> None:
    # The corrections' own loops are over x and v.
    source = "[dyn({'b': 1})].map(x, [dyn('b')].map(v, x[?v].hasValue() && optional.of(x)[v].hasValue()))"
    assert evaluate(source) == [[True]]


@pytest.mark.parametrize(
    "loop", ["{'a': 1, 'b': 2}.exists(k, k == 'b')", "[1, 2].exists(x, x == 1)", "!['a', 'b'].all(x, x == 'b')"]
)
@pytest.mark.parametrize(
    "body", ["dyn(['a', 'b']).isSorted()", "dyn({'b': 3}).?b.orValue(0) > 2", "'a-b'.split('-')[1] == 'b'"]
)
def test_a_body_behind_a_loop_that_ended_early_has_its_own_operands(evaluate: Evaluate, loop: str, body: str) -> None:
    # The loop's slot was left full, and the body read it: a denial, or none, of the wrong pod.
    assert evaluate(f"{loop} && {body}") is True
    assert evaluate(f"{loop} ? {body} : false") is True


def test_an_optional_behind_nested_loops_that_ended_early_is_its_own(review: ReviewContext) -> None:
    # A native policy's object is dyn. The keys of a map come in any order, so that loops end elsewhere each time.
    environment = Environment(PodSchema.packaged(), native=True)
    own = "{'whole': ['a', 'g'], 'shared': ['s'], 'mig': ['m']}"
    every = "object.spec.containers"
    has = f"{every}.exists(c, c.of.limits.exists(k, k in {own}[v]))"
    taken = f"[{own}.filter(v, {has}).join(',')].exists(f, f.contains(','))"
    behind = f"{every}.exists(c, c.?of.?limits.orValue({{}}).exists(k, k in ['g', 's']))"
    expression = environment.compile(f"{taken} && {behind}", want=Want.BOOL)
    pod = {"spec": {"containers": [{"of": {"limits": {"g": "1", "s": "1"}}}, {"of": {"limits": {"cpu": "1"}}}]}}
    activation = environment.activation({"object": pod}, review)
    assert {expression.evaluate(activation) for _ in range(40)} == {True}

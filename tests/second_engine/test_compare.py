"""Two engines asked the same; the rows of the table of known differences."""

from contextlib import suppress
from typing import Any

import pytest

from podberth.cel.engine import Activation, CelType, Expression, Want
from podberth.cel.functions import ReviewContext
from podberth.errors import EvaluationError
from podberth.kube.schema import PodSchema
from second_engine import KNOWN, ComparingEnvironment, Difference
from unit.cel.conftest import BINDINGS, review

__all__ = ["review"]


@pytest.fixture
def comparing() -> ComparingEnvironment:
    return ComparingEnvironment(PodSchema.packaged())


def evaluate(environment: ComparingEnvironment, review: ReviewContext, source: str, **variables: str) -> Any:
    known: dict[str, CelType | Expression] = {}
    for name, each in variables.items():
        known[name] = environment.compile(each, want=Want.ANY, variables=known)
    activation: Activation = environment.activation(BINDINGS, review)
    return environment.compile(source, want=Want.ANY, variables=known).evaluate(activation)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("gpu.count > 2 && gpu.kind == 'whole'", True),
        ("object.spec.containers.exists(c, c.name == 'side')", True),
        ("object.metadata.__namespace__ == 'ml'", True),
        ("gpu.requests.map(r, {'container': r.container, 'n': r.quantity})", [{"container": "main", "n": 4}]),
        ("has(object.spec.nodeName) || object.metadata.labels['team'] == 'vision'", True),
        ("topology.nodes(gpu).withLinkDomain(4).count", 2),
        ("topology.nodes(gpu).anyOffers('nvidia.com/gpu') && !topology.nodes(gpu).anyOffers('rdma/hca')", True),
        ("topology.nodes(gpu).exist && !mig.known('9g.900gb')", True),
        ("mig.nearest('nvidia.com/mig-1g.6gb')", "nvidia.com/mig-1g.5gb"),
        ("true || object.spec.nodeName == 'a'", True),
        ("'a,b,,c'.split(',') == ['a', 'b', '', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']", True),
        ("'abc'.split('') == ['a', 'b', 'c'] && ['a', 'b'].join('-') == 'a-b' && ['a', 'b'].join() == 'ab'", True),
        ("'tacocat'.indexOf('c') + 'tacocat'.indexOf('c', 3) + 'tacocat'.lastIndexOf('t')", 2 + 4 + 6),
        ("'TacoCät'.lowerAscii() + 'ä'.upperAscii() + 'a'.upperAscii()", "tacocätäA"),
        ("'hello'.substring(1, 3) + 'hello'.charAt(4) + 'hello'.charAt(5) + ' x '.trim()", "elox"),
        ("'a.b.c'.replace('.', '-', 1) + 'a.b'.replace('.', '')", "a-b.cab"),
        ("'tacocat'.lastIndexOf('a', 3) + [4, 2, 4].indexOf(4) + [4, 2, 4].lastIndexOf(4)", 1 + 0 + 2),
        ("has(object.spec.restartPolicy) && object.spec.restartPolicy == 'Always'", False),
        ("dyn(1) == 1.0 && dyn(1.0) == 1 && dyn(1) < 1.5 && dyn('1') != 1 && 1.0 in [dyn(1)]", True),
        ("!has(object.spec.nodeName) && has(object.metadata.labels.team)", True),
        ("'a=' + string(true) + string(1)", "a=true1"),
        ("((['a'] + ['b']).map(x, x + '1')).filter(x, x in ['b' + '1'])", ["b1"]),
        ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
        ("[[1, 2].map(x, [][x])].size() == 1 || true", True),
        ("[1, 2,] == [1, 2] && {'a': 1,} == {'a': 1}", True),
        ("object.metadata.labels.`a.b/c`", "d"),
        ("duration('3s') - duration('1s') == duration('2s')", True),
        ("b'a' + b'b'", bytearray(b"ab")),
        ("mig.smallest(4000, 1).exist", True),
        ("(" * 30 + "gpu.count" + ")" * 30, 4),
    ],
)
def test_engines_agree(comparing: ComparingEnvironment, review: ReviewContext, source: str, value: Any) -> None:
    assert evaluate(comparing, review, source) == value
    assert (comparing.agreed, comparing.explained, list(comparing.differences)) == (1, {}, [])


OPTIONALS = [
    ("object.metadata.?labels[?'absent'].orValue('none')", "none"),
    ("object.metadata.?labels[?'team'].orValue('none')", "vision"),
    ("object.metadata.?labels[?'team']", "vision"),
    ("object.metadata.?labels[?'absent']", None),
    ("object.metadata.?annotations.absent.or(object.metadata.?labels.team).value()", "vision"),
    ("object.spec.?affinity.?nodeAffinity.hasValue()", False),
    ("has(object.?spec.containers) && !has(object.?metadata.annotations)", True),
    ("object.spec.containers[?1].?name.value() + object.spec.containers[?2].?name.orValue('-')", "side-"),
    ("[?optional.of(1), ?optional.none(), 2]", [1, 2]),
    ("{?'a': optional.of(1), ?'b': optional.none(), 'c': 3}", {"a": 1, "c": 3}),
    ("optional.of([1]).optMap(x, x.size()).value() + optional.none().optMap(x, x + 1).orValue(1)", 2),
    ("optional.of({'a': 1}).optFlatMap(x, x.?a).value() == 1", True),
    ("optional.ofNonZeroValue('').hasValue() || optional.ofNonZeroValue(0).hasValue()", False),
    ("optional.of(1).orValue(1 / 0) == 1", True),
    ("optional.of(1) == optional.of(1) && optional.none() != optional.of(1)", True),
    ("optional.unwrap([optional.of(1), optional.none()]) == [optional.of(1)].unwrapOpt()", True),
    ("type(optional.none()) == optional_type", True),
    ("true || object.metadata.?labels.value().absent == 'a'", True),
]


@pytest.mark.parametrize(("source", "value"), OPTIONALS)
def test_engines_agree_on_optionals(
    comparing: ComparingEnvironment, review: ReviewContext, source: str, value: Any
) -> None:
    assert evaluate(comparing, review, source) == value
    assert (comparing.agreed, comparing.explained, list(comparing.differences)) == (1, {}, [])


def test_a_difference_inside_of_an_optional_is_found(comparing: ComparingEnvironment, review: ReviewContext) -> None:
    # cel-python has no NaN: its quotient is infinite.
    assert evaluate(comparing, review, "optional.of(0.0 / 0.0).value() == 0.0 / 0.0") is False
    assert [found.second for found in comparing.differences] == ["true"]


def test_variables_are_evaluated_by_the_second_engine_too(
    comparing: ComparingEnvironment, review: ReviewContext
) -> None:
    source = "variables.level == '' || variables.nodes.count > 100"
    found = evaluate(
        comparing, review, source, nodes="topology.nodes(gpu)", level="variables.nodes.narrowestLevel(gpu.count)"
    )
    assert found is False
    assert (comparing.agreed, list(comparing.differences)) == (3, [])  # either variable is compared on its own too


def test_a_variable_may_be_optional(comparing: ComparingEnvironment, review: ReviewContext) -> None:
    found = evaluate(
        comparing, review, "variables.team.orValue('') == 'vision'", team="object.metadata.?labels[?'team']"
    )
    assert found is True
    assert (comparing.agreed, list(comparing.differences)) == (2, [])


def test_a_variable_is_compared_once_for_an_activation(comparing: ComparingEnvironment, review: ReviewContext) -> None:
    assert evaluate(comparing, review, "[1, 2].exists(x, variables.count == x * 2)", count="gpu.count") is True
    assert comparing.agreed == 2


@pytest.mark.parametrize(
    "source",
    [
        "object.metadata.labels['absent'].charAt(99)",
        "has(dyn(object).spec.absent.below)",
        "optional.none().value()",
        "[1][dyn('a')]",  # the first engine's words have "error: " in them
        "{'a': 1 / 0}.a",
        "[1].filter(x, 1 / 0 == x)",
    ],
)
def test_both_err_is_agreement_whatever_their_words(
    comparing: ComparingEnvironment, review: ReviewContext, source: str
) -> None:
    with pytest.raises(EvaluationError):
        evaluate(comparing, review, source)
    assert (comparing.agreed, list(comparing.differences)) == (1, [])


# One vector for each row, of what made the row necessary.
VECTORS = {
    "libraries": "'%s'.format(['a']) == 'a'",
    "comprehensions of two variables": "['a'].exists(i, each, i == 0 && each == 'a')",
}


def test_every_row_of_the_table_has_its_vector() -> None:
    assert [row.name for row in KNOWN] == list(VECTORS)
    assert all(row.issue.startswith("https://github.com/") for row in KNOWN)


@pytest.mark.parametrize("name", VECTORS)
def test_a_known_difference_is_explained_and_no_finding(
    comparing: ComparingEnvironment, review: ReviewContext, name: str
) -> None:
    with suppress(EvaluationError):
        evaluate(comparing, review, VECTORS[name])
    assert (comparing.agreed, comparing.explained, list(comparing.differences)) == (0, {name: 1}, [])


def test_a_difference_that_no_row_explains_is_kept_once(comparing: ComparingEnvironment) -> None:
    found = Difference("a > 1", "true", "false")
    comparing.note(found)
    comparing.note(found)
    assert list(comparing.differences) == [found]
    assert str(found) == "a > 1: cel-cpp says true, cel-python says false"
    assert comparing.agreed == 0


@pytest.mark.parametrize("source", ["quantity('1') == quantity('1')", "sets.contains([1], [1])", "[1].sum() == 1"])
def test_what_no_library_of_cel_pythons_has_is_explained(
    comparing: ComparingEnvironment, review: ReviewContext, source: str
) -> None:
    assert evaluate(comparing, review, source) is True
    assert (dict(comparing.explained), list(comparing.differences)) == ({"libraries": 1}, [])


def test_what_cel_python_cannot_parse_is_a_finding(comparing: ComparingEnvironment, review: ReviewContext) -> None:
    assert evaluate(comparing, review, "[,] == []") is True
    assert [found.second.partition(":")[0] for found in comparing.differences] == ["unreadable"]

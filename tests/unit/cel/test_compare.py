"""Two engines asked the same; the rows of the table of known differences."""

from contextlib import suppress
from typing import Any

import pytest

from podberth.cel.compare import KNOWN, ComparingEnvironment, Difference
from podberth.cel.engine import Activation, CelType, Expression, Want
from podberth.cel.functions import ReviewContext
from podberth.errors import EvaluationError
from podberth.kube.schema import PodSchema

from .conftest import BINDINGS


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
        ("topology.nodes(gpu).exist && !mig.known('9g.900gb')", True),
        ("mig.nearest('nvidia.com/mig-1g.6gb')", "nvidia.com/mig-1g.5gb"),
        ("true || object.spec.nodeName == 'a'", True),
        ("'a,b,,c'.split(',') == ['a', 'b', '', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']", True),
        ("'abc'.split('') == ['a', 'b', 'c'] && ['a', 'b'].join('-') == 'a-b' && ['a', 'b'].join() == 'ab'", True),
        ("'tacocat'.indexOf('c') + 'tacocat'.indexOf('c', 3) + 'tacocat'.lastIndexOf('t')", 2 + 4 + 6),
        ("'TacoCät'.lowerAscii() + 'ä'.upperAscii() + 'a'.upperAscii()", "tacocätäA"),
        ("'hello'.substring(1, 3) + 'hello'.charAt(4) + 'hello'.charAt(5) + ' x '.trim()", "elox"),
        ("'a.b.c'.replace('.', '-', 1) + 'a.b'.replace('.', '')", "a-b.cab"),
        ("has(object.spec.restartPolicy) && object.spec.restartPolicy == 'Always'", False),
    ],
)
def test_engines_agree(comparing: ComparingEnvironment, review: ReviewContext, source: str, value: Any) -> None:
    assert evaluate(comparing, review, source) == value
    assert (comparing.agreed, comparing.explained, list(comparing.differences)) == (1, {}, [])


def test_variables_are_evaluated_by_the_second_engine_too(
    comparing: ComparingEnvironment, review: ReviewContext
) -> None:
    source = "variables.level == '' || variables.nodes.count > 100"
    found = evaluate(
        comparing, review, source, nodes="topology.nodes(gpu)", level="variables.nodes.narrowestLevel(gpu.count)"
    )
    assert found is False
    assert comparing.agreed == 1


def test_both_err_is_agreement_whatever_their_words(comparing: ComparingEnvironment, review: ReviewContext) -> None:
    with pytest.raises(EvaluationError):
        evaluate(comparing, review, "object.metadata.labels['absent'].charAt(99)")
    assert (comparing.agreed, list(comparing.differences)) == (1, [])


# One vector for each row, of what made the row necessary.
VECTORS = {
    "optionals": "object.metadata.?labels[?'absent'].orValue('none') == 'none'",
    "format()": "'%s'.format(['a']) == 'a'",
    "numbers of two kinds": "dyn(1) == 1.0",
    "has() below what is absent": "has(dyn(object).spec.absent.below)",
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


def test_a_variable_that_the_second_engine_cannot_read_has_the_firsts_value(
    comparing: ComparingEnvironment, review: ReviewContext
) -> None:
    found = evaluate(
        comparing, review, "variables.team == 'vision'", team="object.metadata.?labels[?'team'].orValue('')"
    )
    assert found is True
    assert (comparing.agreed, dict(comparing.explained)) == (1, {"optionals": 1})


def test_the_second_engine_can_decide(review: ReviewContext) -> None:
    environment = ComparingEnvironment(PodSchema.packaged(), second_decides=True)
    with pytest.raises(EvaluationError, match="overload"):
        evaluate(environment, review, "dyn(1) == 1.0")
    assert evaluate(environment, review, "gpu.count") == 4

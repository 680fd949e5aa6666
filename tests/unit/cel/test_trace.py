"""The values of an expression's parts, and which of them the engine needed."""

from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission.checked import checked
from podberth.admission.review import decode_review
from podberth.admission.under_review import PodUnderReview
from podberth.cel.engine import Activation, Expression, Want
from podberth.cel.trace import ExpressionResult, Traced, Tracer
from snapshots import cluster, environment, snapshot


def activation(document: dict[str, Any], *, nodes: list[dict[str, Any]] | None = None) -> Activation:
    known = snapshot(objects=nodes or [])
    return PodUnderReview(checked(decode_review(review(document))), known).activation(None)


def compiled(**sources: str) -> dict[str, Expression]:
    found: dict[str, Expression] = {}
    for name, source in sources.items():
        found[name] = environment().compile(source, want=Want.ANY, variables=dict(found))
    return found


def trace(source: str, document: dict[str, Any] | None = None, **variables: str) -> Traced:
    tree = Tracer(environment(), compiled(**variables)).trace(source, activation(document or gpu_pod(2)))
    assert tree is not None
    return tree


def flat(tree: Traced) -> dict[str, object]:
    """Return text -> value of the parts; what was not asked is "-", an error its text."""
    value = tree.answer.error or tree.answer.value if tree.asked else "-"
    return {tree.text: value} | {text: each for part in tree.parts for text, each in flat(part).items()}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("gpu.count > 1", {"gpu.count > 1": True, "gpu.count": 2}),
        (
            "gang.known && gpu.count > 1",
            {"gang.known && gpu.count > 1": False, "gang.known": False, "gpu.count > 1": "-"},
        ),
        (
            "!gang.known || gpu.count > 1",
            {"!gang.known || gpu.count > 1": True, "!gang.known": True, "gang.known": False, "gpu.count > 1": "-"},
        ),
        (
            "gang.known ? gpu.count : gpu.perContainer",
            {
                "gang.known ? gpu.count : gpu.perContainer": 2,
                "gang.known": False,
                "gpu.count": "-",
                "gpu.perContainer": 2,
            },
        ),
        (
            "object.metadata.?labels.hasValue()",
            {"object.metadata.?labels.hasValue()": False, "object.metadata.?labels": None},
        ),
    ],
)  # fmt: skip
def test_each_part_has_its_value_and_what_was_not_needed_is_reported(source: str, expected: dict[str, object]) -> None:
    assert flat(trace(source)) == expected


def test_what_leads_to_a_value_is_reported_where_there_is_none() -> None:
    tree = trace("dyn(object).spec.nothing.more == 'a'")
    assert tree.answer.error
    assert any("nothing" in text and "no such key" in str(value) for text, value in flat(tree).items())


def test_a_false_operand_settles_what_an_error_before_it_does_not() -> None:
    found = flat(trace("dyn(gpu).nope == 1 && gang.known && gpu.count > 0"))
    assert found["dyn(gpu).nope == 1 && gang.known && gpu.count > 0"] is False
    assert found["gang.known"] is False
    assert found["gpu.count > 0"] == "-"


def test_a_loop_shows_the_results_of_its_first_elements() -> None:
    tree = trace("[1, 2, 3, 4, 5, 6, gpu.count].exists(n, n > 5)")
    assert tree.answer == ExpressionResult(value=True)
    assert [(each.element, each.answer.value) for each in tree.elements] == [(n, False) for n in range(1, 6)]
    assert tree.more == 2


def test_an_element_without_an_answer_does_not_hide_the_others() -> None:
    tree = trace("[0, 1, gpu.count].all(n, 10 / n > 0)")
    assert [bool(each.answer.error) for each in tree.elements] == [True, False, False]


def test_the_body_of_a_loop_that_goes_round_nothing_is_not_asked() -> None:
    assert flat(trace("object.spec.?volumes.orValue([]).exists(v, gang.known)"))["gang.known"] == "-"


def test_an_optional_without_a_value_is_absent_and_null_is_a_value() -> None:
    tree = trace("object.metadata.?labels['team'].hasValue()")
    [optional] = tree.parts
    assert (tree.answer, optional.answer) == (ExpressionResult(value=False), ExpressionResult(absent=True))
    assert trace("[null, gpu.count][0]").answer == ExpressionResult(value=None)


def test_nodes_are_reported_as_how_many_they_are() -> None:
    tracer = Tracer(environment(), compiled(found="topology.nodes(gpu)"))
    names = activation(gpu_pod(2), nodes=cluster(hgx_h100_8=2, l4_1=1))
    tree = tracer.trace("variables.found.count == 2", names)
    assert tree is not None
    assert flat(tree)["variables.found"] == {"nodes": 2}


def test_the_variables_that_were_needed_are_those_that_were_reached() -> None:
    variables = {"one": "gpu.count", "two": "variables.one + 1", "never": "gpu.count + 5"}
    tracer = Tracer(environment(), compiled(**variables))
    found = tracer.reached("variables.two > 1 || variables.never > 0", activation(gpu_pod(2)))
    assert found == {"two": ExpressionResult(value=3), "one": ExpressionResult(value=2)}

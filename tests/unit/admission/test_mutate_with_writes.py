"""The writes of each mutation apart: together they are the decision of /mutate."""

from typing import Any

from builders import gpu_pod, review
from podberth.admission.decide import mutate, mutate_with_writes
from podberth.admission.outcome import Written
from podberth.admission.review import decode_review
from podberth.kube.patch import apply
from podberth.wellknown import APPLIED_ANNOTATION
from snapshots import policy, snapshot

_TWO = """  mutations:
  - {name: team, labels: {team: "'vision'"}, reason: "'of the vision team'"}
  - {env: {A: "'1'"}}"""
_THIRD = "  mutations:\n  - tolerations: \"[{'key': 'a', 'operator': 'Exists'}]\""
_FAILING = (
    '  failurePolicy: Ignore\n  mutations:\n  - {labels: {b: "\'1\'"}}\n  - {labels: {c: "string(dyn(gpu).nope)"}}'
)


def written(document: dict[str, Any], *policies: str) -> tuple[Written, ...]:
    request = decode_review(review(document))
    known = snapshot(*policies)
    outcome, steps = mutate_with_writes(request, known)
    assert outcome.patch == mutate(request, known).patch
    assert outcome.warnings == mutate(request, known).warnings
    return steps


def test_each_mutation_is_listed_with_its_policy_its_words_and_its_operations() -> None:
    steps = written(gpu_pod(labels={"app": "a"}), policy("a", _TWO, order=1), policy("b", _THIRD, order=2))

    assert [(step.policy, step.mutation) for step in steps] == [
        ("a", "team"),
        ("a", "mutations[1]"),
        ("b", "mutations[0]"),
    ]
    assert steps[0].reason == "of the vision team"
    assert steps[0].patch == [{"op": "add", "path": "/metadata/labels/team", "value": "vision"}]
    assert all(operation["path"].startswith("/spec/containers/0/env") for operation in steps[1].patch)


def test_the_steps_lead_to_the_pod_that_mutate_makes_but_for_the_record() -> None:
    document = gpu_pod(labels={"app": "a"})
    steps = written(document, policy("a", _TWO, order=1), policy("b", _THIRD, order=2))
    final = apply(
        document,
        mutate(
            decode_review(review(document)), snapshot(policy("a", _TWO, order=1), policy("b", _THIRD, order=2))
        ).patch,
    )
    del final["metadata"]["annotations"][APPLIED_ANNOTATION]
    final["metadata"] = {key: value for key, value in final["metadata"].items() if value}

    for step in steps:
        document = apply(document, step.patch)
    assert document == final


def test_a_policy_that_fails_midway_has_written_nothing() -> None:
    assert written(gpu_pod(), policy("a", _FAILING)) == ()


def test_what_is_written_later_is_not_in_an_earlier_step() -> None:
    [step] = written(gpu_pod(), policy("a", "  mutations:\n  - annotations: {a: \"'1'\"}"))
    assert step.patch == [{"op": "add", "path": "/metadata/annotations", "value": {"a": "1"}}]

"""A mutation that can write anything and would write again what it wrote is an error of its policy."""

import json
from typing import Any

import pytest

from builders import container, gpu_container, gpu_pod, pod, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.wellknown import APPLIED_ANNOTATION
from snapshots import policy, snapshot
from snapshots import snapshot_of_mutations as known


def mutate(document: dict[str, Any], of: Snapshot) -> Outcome:
    return decide.mutate(decode_review(review(document)), of)


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"jsonPatch": json.dumps(operations)}


UNSTABLE = [
    (patch({"op": "add", "path": "/spec/tolerations/-", "value": {"key": "a"}}), "changes /spec/tolerations/- again"),
    (patch({"op": "remove", "path": "/spec/tolerations/0"}), "fails when applied twice"),
    (
        {"applyConfiguration": "{'metadata': {'labels': {'a': object.metadata.?labels[?'a'].orValue('') + 'x'}}}"},
        "changes /metadata/labels/a again",
    ),
]


@pytest.mark.parametrize(("mutation", "message"), UNSTABLE)
def test_a_mutation_that_would_change_the_pod_twice_is_an_error(mutation: dict[str, Any], message: str) -> None:
    document = gpu_pod(tolerations=[{"key": "own"}])
    outcome = mutate(document, known(mutation))

    assert outcome.patch == []
    assert [each.action for each in outcome.decisions] == ["error"]
    assert message in outcome.decisions[0].message
    assert "mutations[0]" in outcome.decisions[0].message
    assert mutate(document, known(mutation, fail="Fail")).verdict == "denied"


@pytest.mark.parametrize(
    "guard",
    [
        {"when": "!object.spec.tolerations.exists(t, t.key == 'a')"},
        {"jsonPatch": UNSTABLE[0][0]["jsonPatch"][:-1] + ", {'op': 'test', 'path': '/spec/tolerations/2'}]"},
    ],
)
def test_a_guarded_one_is_none(guard: dict[str, Any]) -> None:
    mutation = {**UNSTABLE[0][0], **guard}
    if "when" not in guard:
        mutation = patch(
            {"op": "test", "path": "/spec/hostname"},
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "a"}},
            {"op": "add", "path": "/spec/hostname", "value": "h"},
        )
    document = gpu_pod(tolerations=[{"key": "own"}])
    of = known(mutation)
    once = apply(document, mutate(document, of).patch)

    assert [each["key"] for each in once["spec"]["tolerations"]] == ["own", "a"]
    assert mutate(once, of).patch == []


def test_a_matching_condition_guards_too() -> None:
    text = policy(
        "a",
        '  matchConditions: [{name: once, expression: "!has(object.spec.hostname)"}]\n'
        f"  mutations: [{json.dumps(UNSTABLE[0][0])}, "
        + json.dumps(patch({"op": "add", "path": "/spec/hostname", "value": "h"}))
        + "]",
    )
    outcome = mutate(gpu_pod(tolerations=[{"key": "own"}]), snapshot(text))

    assert outcome.verdict == "mutated"


def test_a_list_that_a_later_policy_adds_to_leaves_a_record_that_holds() -> None:
    env = [{"name": "A", "value": "1"}]
    of = known(patch({"op": "add", "path": "/spec/containers/0/env", "value": env}), {"env": {"B": "'2'"}})
    document = pod(gpu_container("main"), container("side"))
    once = apply(document, mutate(document, of).patch)

    assert "p1" in json.loads(once["metadata"]["annotations"][APPLIED_ANNOTATION])
    assert mutate(once, of).patch == []

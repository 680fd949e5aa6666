"""What the floor wrote on a pod is taken off before podberth decides, and is not written twice."""

from typing import Any

import pytest

from builders import gpu_pod, pod, review
from node_builders import node_manifest
from podberth.admission import decide
from podberth.admission.floor import without_floor
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.kube.pod_limits import LARGEST
from snapshots import policy, snapshot

TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
OTHER = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
OWN = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
TOLERATES = policy(
    "tolerates",
    "  matchConditions: [{name: gpus, expression: gpu.count > 0}]\n"
    "  variables: [{name: nodes, expression: topology.nodes(gpu)}]\n"
    "  mutations: [{when: variables.nodes.exist, tolerations: variables.nodes.tolerations}]\n",
)
GPU_NODE = node_manifest("a", devices={"nvidia.com/gpu": "8"}, taints=[TAINT])


def floored(words: str, *tolerations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a pod of which the floor says that it wrote ``words``."""
    spec: dict[str, Any] = {"tolerations": list(tolerations)} if tolerations else {}
    labels = {"podberth.io/floor": "wrote", **fields.pop("labels", {})}
    return gpu_pod(annotations={"podberth.io/floor": words}, labels=labels, **spec, **fields)


def mutated(document: dict[str, Any], known: Snapshot) -> tuple[dict[str, Any], Outcome]:
    request = decode_review(review(document))
    assert request.object is not None
    outcome = decide.mutate(request, known)
    return apply(request.object, outcome.patch), outcome


def test_what_both_write_is_not_in_the_patch() -> None:
    known = snapshot(TOLERATES, objects=[GPU_NODE])
    made, outcome = mutated(floored("nvidia.com/gpu:NoSchedule", OWN, TOLERATION), known)
    assert made["spec"]["tolerations"] == [OWN, TOLERATION]
    assert [each["path"] for each in outcome.patch if each["path"].startswith("/spec")] == []
    assert "podberth.io/floor" not in made["metadata"]["annotations"]
    # It is podberth's own from now on: in the record, and in a line for the user.
    assert '"tolerates":{"tolerations":[' in made["metadata"]["annotations"]["podberth.io/applied"]
    assert outcome.warnings == ("podberth: tolerates nvidia.com/gpu:NoSchedule",)


def test_what_podberth_would_not_write_is_taken_off() -> None:
    made, outcome = mutated(
        floored("nvidia.com/gpu:NoSchedule sku=gpu:NoSchedule", TOLERATION, OTHER),
        snapshot(TOLERATES, objects=[GPU_NODE]),
    )
    assert made["spec"]["tolerations"] == [TOLERATION]
    assert outcome.verdict == "mutated"
    made, _ = mutated(floored("sku=gpu:NoSchedule", OTHER), snapshot())
    assert made == gpu_pod()


def test_with_podberth_the_pod_is_the_same_as_without_the_floor() -> None:
    known = snapshot(TOLERATES, objects=[GPU_NODE])
    assert mutated(floored("nvidia.com/gpu:NoSchedule", TOLERATION), known)[0] == mutated(gpu_pod(), known)[0]


def test_a_second_pod_gets_the_remembered_decision() -> None:
    known = snapshot(TOLERATES, objects=[GPU_NODE])
    first, _ = mutated(floored("nvidia.com/gpu:NoSchedule", TOLERATION, name="a"), known)
    second, _ = mutated(floored("nvidia.com/gpu:NoSchedule", TOLERATION, name="b"), known)
    bare, _ = mutated(gpu_pod(name="b"), known)
    assert first["spec"]["tolerations"] == second["spec"]["tolerations"] == [TOLERATION]
    assert second == bare


def test_a_denial_is_the_same() -> None:
    fails = policy("fails", "  failurePolicy: Fail\n  mutations: [{labels: {a: object.metadata.labels.b}}]\n")
    _, outcome = mutated(floored("nvidia.com/gpu:NoSchedule", TOLERATION), snapshot(fails))
    assert outcome.denial == mutated(gpu_pod(), snapshot(fails))[1].denial != ""


def test_the_gangs_label_is_taken_off_where_the_floor_wrote_it() -> None:
    labels = {"podberth.io/gang": "jobset-a", "x": "y"}
    assert without_floor(floored("gang", labels=labels))["metadata"]["labels"] == {"x": "y"}
    assert without_floor(floored("", labels=labels))["metadata"]["labels"] == labels
    assert "labels" not in without_floor(floored("gang", labels={"podberth.io/gang": "jobset-a"}))["metadata"]


def test_the_authors_own_stays() -> None:
    own: list[dict[str, Any]] = [
        {**TOLERATION, "tolerationSeconds": 5},
        {"key": "nvidia.com/gpu", "operator": "Exists"},
        {**OTHER, "value": "cpu"},
        OWN,
    ]
    bare = without_floor(floored("nvidia.com/gpu:NoSchedule sku=gpu:NoSchedule", *own, TOLERATION, OTHER))
    assert bare["spec"]["tolerations"] == own


@pytest.mark.parametrize(
    "odd",
    [
        {"metadata": {"annotations": ["podberth.io/floor"], "labels": "podberth.io/floor"}},
        {"metadata": None},
        {},
    ],
)
def test_a_pod_of_any_shape_without_the_marks_is_left_as_it_is(odd: dict[str, Any]) -> None:
    assert without_floor(odd) is odd


@pytest.mark.parametrize("spec", [None, [], {"tolerations": 3}, {"tolerations": [None, 1, {"key": 3}]}])
def test_a_spec_of_any_shape_is_left_as_it_is(spec: Any) -> None:
    annotations = {"podberth.io/floor": "gang a:NoSchedule", "x": "y"}
    odd = {"metadata": {"annotations": annotations, "labels": 7}, "spec": spec}
    assert without_floor(odd) == {"metadata": {"annotations": {"x": "y"}, "labels": 7}, "spec": spec}


@pytest.mark.parametrize("value", [1, None, "", ["gang"]])
def test_a_mark_of_any_value_is_taken_off(value: Any) -> None:
    odd = {"metadata": {"annotations": {"podberth.io/floor": value}, "labels": {"podberth.io/floor": value}}}
    assert without_floor(odd) == {"metadata": {}}


def test_a_pod_without_the_floors_annotation_is_not_copied() -> None:
    plain = pod()
    assert without_floor(plain) is plain


@pytest.mark.parametrize(
    ("words", "tolerations"),
    [("nvidia.com/gpu:NoSchedule", LARGEST["spec", "tolerations"] + 1), ("nvidia.com/gpu:NoSchedule " * 1_000, 1)],
)
def test_a_mark_beyond_what_is_read_is_not_the_floors(words: str, tolerations: int) -> None:
    """The pod is compared with its limits only afterwards, so a longer list must not be walked here."""
    odd = floored(words, *[TOLERATION] * tolerations)
    assert without_floor(odd) is odd

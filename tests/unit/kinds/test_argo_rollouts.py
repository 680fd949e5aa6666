"""The pods of a Rollout's first version.

The expected values are those of argoproj/argo-rollouts 9f8d111d, rollout/sync.go createDesiredReplicaSet.
"""

from typing import Any

import pytest

from builders import gpu_container, workload
from podberth.check.unknown_fields import unknown_fields_in
from podberth.kube.positions import render_path
from podberth.kube.schema import PodSchema
from podberth.workload.projection import project
from podberth.workload.templates import Template, templates

JSON = dict[str, Any]
OWN = {"app": "serve", "track": "mine"}
ADDED: JSON = {"labels": {"track": "first"}, "annotations": {"note": "first"}}
OTHER: JSON = {"labels": {"track": "next"}}


def rollout(strategy: object = None, **more: Any) -> JSON:
    template = {"metadata": {"labels": OWN}, "spec": {"containers": [gpu_container("server")]}}
    return workload("argoproj.io/v1alpha1", "Rollout", {"template": template, "strategy": strategy, **more}, name="web")


def found(document: JSON) -> list[Template]:
    made = templates(document, namespace="default")
    assert [each.problems for each in made] == [()] * len(made)
    return made


def test_a_pod_is_owned_by_a_replica_set_of_the_rollout_and_has_the_hash_as_a_label() -> None:
    [made] = found(rollout())
    metadata = made.pod["metadata"]
    assert metadata["labels"] == {**OWN, "rollouts-pod-template-hash": "0000000000"}
    assert metadata["generateName"] == "web-0000000000-"
    [owner] = metadata["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["name"]) == ("apps/v1", "ReplicaSet", "web-0000000000")


@pytest.mark.parametrize(("more", "replicas"), [({}, 1), ({"replicas": 3}, 3), ({"replicas": 0}, 0)])
def test_a_rollout_has_one_replica_unless_it_says_another_number(more: JSON, replicas: int) -> None:
    assert [each.replicas for each in found(rollout(**more))] == [replicas]


@pytest.mark.parametrize(
    ("strategy", "place"),
    [
        ({"canary": {"stableMetadata": ADDED, "canaryMetadata": OTHER}}, "spec.strategy.canary.stableMetadata"),
        ({"blueGreen": {"activeMetadata": ADDED, "previewMetadata": OTHER}}, "spec.strategy.blueGreen.activeMetadata"),
        (
            {"canary": {"stableMetadata": ADDED}, "blueGreen": {"activeMetadata": OTHER}},
            "spec.strategy.canary.stableMetadata",
        ),
    ],
)
def test_the_metadata_of_the_stable_version_replaces_that_of_the_template(strategy: JSON, place: str) -> None:
    [made] = found(rollout(strategy))
    metadata = made.pod["metadata"]
    assert (metadata["labels"]["track"], metadata["annotations"]) == ("first", {"note": "first"})
    for key, name in (("labels", "track"), ("annotations", "note")):
        step = [{"op": "replace", "path": f"/metadata/{key}/{name}", "value": "other"}]
        left, _ = project(made, [step], step)
        assert left.left == f"metadata.{key}.{name}: {place}.{key} replaces it; change it there"


@pytest.mark.parametrize("strategy", ["canary", {"canary": []}, {"blueGreen": {"activeMetadata": {"labels": ["x"]}}}])
def test_a_strategy_of_a_wrong_shape_adds_nothing(strategy: object) -> None:
    [made] = found(rollout(strategy))
    assert made.pod["metadata"]["labels"]["track"] == "mine"


def test_a_rollout_that_refers_to_a_workload_has_no_template_of_its_own() -> None:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    assert found(rollout(workloadRef=reference)) == []
    without = workload("argoproj.io/v1alpha1", "Rollout", {"workloadRef": reference}, name="web")
    assert found(without) == []


def unknown(document: JSON) -> list[tuple[str, str]]:
    made = unknown_fields_in(document, found(document), PodSchema.packaged())
    return [(render_path(each.path), each.message.partition(";")[0]) for each in made]


def test_slips_and_fields_that_the_crd_lacks_are_found() -> None:
    right = {"canary": {"stableService": "a", "canaryService": "b", "steps": [], "stableMetadata": ADDED}}
    assert unknown(rollout(right, replicas=1, minReadySeconds=5)) == []
    assert unknown(rollout({"canary": {"stableMetadat": ADDED}}, replica=1)) == [
        ("spec.strategy.canary.stableMetadat", "got stableMetadat"),
        ("spec.replica", "got replica"),
    ]
    lost = rollout()
    lost["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    assert unknown(lost) == [
        (
            "spec.template.spec.schedulingGroup",
            "got schedulingGroup, which the CRD of Rollout does not have, so that it is lost",
        )
    ]

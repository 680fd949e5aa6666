"""A gang of one Job as the controller's makers see it, for tests: its pods, the known facts, and the plan."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from builders import gpu_pod, owned
from podberth.controller.plan import makers
from podberth.controller.plan.intake import waiting_pod
from podberth.controller.plan.world import ActionPlan, Made, WaitingPod, World
from podberth.kube.pod import OwnerReference

NATIVE, COSCHEDULING, KOORDINATOR = (
    f"podgroups.{group}" for group in ("scheduling.k8s.io", "scheduling.x-k8s.io", "scheduling.sigs.k8s.io")
)
SERVED = {
    NATIVE: "scheduling.k8s.io/v1alpha2",
    COSCHEDULING: "scheduling.x-k8s.io/v1alpha1",
    KOORDINATOR: "scheduling.sigs.k8s.io/v1alpha1",
}
FIELDS: Mapping[str, Any] = {
    "native": {"schedulingGroup": {"podGroupName": "gang"}},
    "coscheduling": {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}},
    "koordinator": {"labels": {"pod-group.scheduling.sigs.k8s.io": "gang"}},
    "volcano": {"annotations": {"scheduling.k8s.io/group-name": "gang"}},
    "kai": {"annotations": {"pod-group-name": "gang"}, "schedulerName": "kai-scheduler"},
}
JOB = OwnerReference("batch/v1", "Job", "train", "j-1")
SET = OwnerReference("jobset.x-k8s.io/v1alpha2", "JobSet", "set", "s-1")
NOW = 1_000_000.0


def document(system: str = "native", size: str = "2", **annotations: str) -> dict[str, Any]:
    """Return a pod of a Job as admission makes it a member."""
    fields = dict(FIELDS[system])
    labels = {"podberth.io/gang": "gang", **fields.pop("labels", {})}
    noted = {"podberth.io/gang-size": size, **annotations, **fields.pop("annotations", {})}
    made = owned(gpu_pod(labels=labels, annotations=noted, **fields), "Job", name="train", uid="j-1")
    made["metadata"] |= {"namespace": "team", "uid": "p-1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return made


def member(system: str = "native", size: str = "2", **annotations: str) -> WaitingPod:
    found = waiting_pod(document(system, size, **annotations))
    assert found is not None
    return replace(found, created=NOW)


def world(*pods: WaitingPod, known: Mapping[str, Mapping[tuple[str, str], Made]] | None = None, **more: Any) -> World:
    served = more.pop("served", SERVED)
    fields: dict[str, Any] = {
        "pods": {f"pod-{number}": pod for number, pod in enumerate(pods)},
        "known": {kind: {} for kind in served} | dict(known or {}),
        "served": served,
        "absent": frozenset({"podgroups.scheduling.volcano.sh", "podgroups.scheduling.run.ai"}),
        "owners": {("team", JOB): None},
        "gone": frozenset(),
        "fixed": {},
        "patience_seconds": 60.0,
    }
    found = {(at, owner): _whole(at, owner, each) for (at, owner), each in more.pop("documents", {}).items()}
    return World(**fields | more, documents=found)


def _whole(namespace: str, owner: OwnerReference, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a look-up of an owner has found with the names by which it was asked for."""
    named = {"name": owner.name, "namespace": namespace, "uid": owner.uid}
    metadata = {**document["metadata"], **named}
    return {**document, "apiVersion": owner.api_version, "kind": owner.kind, "metadata": metadata}


def reference_to(owner: OwnerReference) -> dict[str, Any]:
    """Return the entry of metadata.ownerReferences of a controller."""
    named = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    return {**named, "controller": True}


def plan(seen: World, after: float = 0.0) -> ActionPlan:
    return makers.plan(seen, NOW + after)


def ours(**more: Any) -> Made:
    return Made(uid="g-1", version="7", ours=True, owners=(JOB,), minimum=2) if not more else replace(ours(), **more)

"""The workloads whose pods podberth can foretell: one table, and what each controller stamps on its pods.

A row says which objects it is about, where their pod template stands, and how the controller makes a pod of it. Only
Kubernetes' own controllers are here; what the apiserver adds is ``defaults``. A stamp writes on a Pod that is its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..wellknown import JOB_COMPLETION_INDEX
from .subject import at

PLACEHOLDER_UID: Final = "00000000-0000-0000-0000-000000000000"
"""Stands for the uid of an object that does not exist yet; the nil UUID is never a real one (RFC 9562, 5.9)."""

# Stand for hashes and times that only the controller knows. Kubernetes' hashes are written without vowels and without 0
# (apimachinery pkg/util/rand SafeEncodeString), so that no real one is met.
_PLACEHOLDER_HASH: Final = "0000000000"
_PLACEHOLDER_MINUTES: Final = "00000000"

Stamp = Callable[[dict[str, Any], "Owner"], None]


@dataclass(frozen=True, slots=True)
class Owner:
    """The object that will own the pods. ``spec`` is what their controller reads; nothing in it has been checked."""

    name: str
    uid: str
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """One kind of workload."""

    api_versions: frozenset[str]
    kind: str
    template_path: tuple[str, ...]
    """From the object to its pod template."""
    spec_path: tuple[str, ...]
    """From the object to the spec that the pods' controller reads: a CronJob's is that of its Job."""
    stamp: Stamp
    owner: Callable[[str, str], tuple[str, str]] = lambda name, uid: (name, uid or PLACEHOLDER_UID)
    """Name and uid of the pods' controller, from those of the workload; it may be an object in between."""


def row_for(workload: Mapping[str, Any]) -> WorkloadKind | None:
    """Return the row of an object by its apiVersion and kind, or None where its pods cannot be foretold."""
    version, kind = workload.get("apiVersion"), workload.get("kind")
    if not isinstance(version, str):
        return None
    return next((row for row in KINDS if row.kind == kind and version in row.api_versions), None)


def _labels(pod: dict[str, Any]) -> dict[str, str]:
    metadata: dict[str, Any] = pod["metadata"]
    metadata["labels"] = labels = dict(metadata.get("labels") or {})
    return labels


def _annotations(pod: dict[str, Any]) -> dict[str, str]:
    metadata: dict[str, Any] = pod["metadata"]
    metadata["annotations"] = annotations = dict(metadata.get("annotations") or {})
    return annotations


def _own(pod: dict[str, Any], api_version: str, kind: str, owner: Owner) -> None:
    """Write the owner and the name to come (GetPodFromTemplate, kubernetes pkg/controller/controller_utils.go)."""
    pod["metadata"]["generateName"] = f"{owner.name}-"
    pod["metadata"]["ownerReferences"] = [
        {
            "apiVersion": api_version,
            "kind": kind,
            "name": owner.name,
            "uid": owner.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def _stamp_replica_set(pod: dict[str, Any], owner: Owner) -> None:
    """As the Deployment and ReplicaSet controllers do (kubernetes pkg/controller/deployment/sync.go)."""
    _own(pod, "apps/v1", "ReplicaSet", owner)
    _labels(pod)["pod-template-hash"] = _PLACEHOLDER_HASH


def _stamp_stateful_set(pod: dict[str, Any], owner: Owner) -> None:
    """As for the first pod (newStatefulSetPod, kubernetes pkg/controller/statefulset/stateful_set_utils.go)."""
    _own(pod, "apps/v1", "StatefulSet", owner)
    start = at(owner.spec, "ordinals", "start")
    ordinal = str(start if isinstance(start, int) else 0)
    name = f"{owner.name}-{ordinal}"
    pod["metadata"]["name"] = name
    _labels(pod).update(
        {
            "apps.kubernetes.io/pod-index": ordinal,
            "controller-revision-hash": f"{owner.name}-{_PLACEHOLDER_HASH}",
            "statefulset.kubernetes.io/pod-name": name,
        }
    )
    spec = pod["spec"]
    spec["hostname"] = name
    if at(owner.spec, "serviceName"):
        spec["subdomain"] = owner.spec["serviceName"]
    templates = at(owner.spec, "volumeClaimTemplates")
    claims = [at(each, "metadata", "name") for each in (templates if isinstance(templates, list) else ())]
    if claims:
        volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}} for claim in claims]
        spec["volumes"] = volumes + [each for each in spec.get("volumes") or () if each.get("name") not in claims]


def _stamp_job(pod: dict[str, Any], owner: Owner) -> None:
    """As the apiserver's generateSelector and the Job controller do, for index 0 where the Job is Indexed.

    Sources: kubernetes pkg/registry/batch/job/strategy.go, pkg/controller/job/{job_controller,indexed_job_utils}.go.
    """
    _own(pod, "batch/v1", "Job", owner)
    labels, metadata = _labels(pod), pod["metadata"]
    if owner.spec.get("manualSelector") is not True:
        for prefix in ("", "batch.kubernetes.io/"):
            labels[f"{prefix}controller-uid"] = owner.uid
            labels[f"{prefix}job-name"] = owner.name
    finalizers = list(metadata.get("finalizers") or ())
    metadata["finalizers"] = [*finalizers, "batch.kubernetes.io/job-tracking"]
    if owner.spec.get("completionMode") != "Indexed":
        return
    labels[JOB_COMPLETION_INDEX] = "0"
    annotations = _annotations(pod)
    annotations[JOB_COMPLETION_INDEX] = "0"
    if owner.spec.get("backoffLimitPerIndex") is not None:
        annotations["batch.kubernetes.io/job-index-failure-count"] = "0"
    metadata["generateName"] = f"{owner.name}-0-"
    pod["spec"]["hostname"] = f"{owner.name}-0"
    for field in ("initContainers", "containers"):
        for container in pod["spec"].get(field) or ():
            _name_index(container)


def _name_index(container: dict[str, Any]) -> None:
    env = list(container.get("env") or ())
    if all(entry.get("name") != "JOB_COMPLETION_INDEX" for entry in env):
        path = f"metadata.labels['{JOB_COMPLETION_INDEX}']"
        container["env"] = [*env, {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}]


KINDS: Final[tuple[WorkloadKind, ...]] = (
    WorkloadKind(
        # The old versions are no longer served, but still shipped (in public samples).
        api_versions=frozenset({"apps/v1", "apps/v1beta2", "apps/v1beta1", "extensions/v1beta1"}),
        kind="Deployment",
        template_path=("spec", "template"),
        spec_path=("spec",),
        stamp=_stamp_replica_set,
        owner=lambda name, _: (f"{name}-{_PLACEHOLDER_HASH}", PLACEHOLDER_UID),
    ),
    WorkloadKind(
        api_versions=frozenset({"apps/v1", "apps/v1beta2", "apps/v1beta1"}),
        kind="StatefulSet",
        template_path=("spec", "template"),
        spec_path=("spec",),
        stamp=_stamp_stateful_set,
    ),
    WorkloadKind(
        api_versions=frozenset({"batch/v1"}),
        kind="Job",
        template_path=("spec", "template"),
        spec_path=("spec",),
        stamp=_stamp_job,
    ),
    WorkloadKind(
        api_versions=frozenset({"batch/v1", "batch/v1beta1"}),
        kind="CronJob",
        template_path=("spec", "jobTemplate", "spec", "template"),
        spec_path=("spec", "jobTemplate", "spec"),
        stamp=_stamp_job,
        owner=lambda name, _: (f"{name}-{_PLACEHOLDER_MINUTES}", PLACEHOLDER_UID),
    ),
)

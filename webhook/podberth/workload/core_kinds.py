"""Kubernetes' own kinds that make pods, and what their controllers stamp on them. The apiserver's part is ``defaults``.

Old API versions are no longer served, but still shipped in public samples.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..kinds.members import job_pods
from ..kinds.places import PLACEHOLDER_HASH, PLACEHOLDER_MINUTES, PLACEHOLDER_UID, Place, Scene, WorkloadKind, unknown
from ..kinds.stamping import add_annotations, add_env, add_labels, containers, own, owned_by_workload
from ..kube.paths import ELEMENT
from ..kube.unchecked import at, count, list_at, mapping_at
from ..wellknown import JOB_COMPLETION_INDEX

TEMPLATE_PATH: Final = ("spec", "template")


def replicas(scene: Scene) -> int:
    """Return ``spec.replicas``, one by default."""
    return count(scene.spec.get("replicas"), 1)


def _stamp_deployment(pod: dict[str, Any], scene: Scene) -> None:
    """As the Deployment and ReplicaSet controllers do (kubernetes pkg/controller/deployment/sync.go)."""
    own(pod, "apps/v1", "ReplicaSet", f"{scene.name}-{PLACEHOLDER_HASH}", PLACEHOLDER_UID)
    add_labels(pod, {"pod-template-hash": PLACEHOLDER_HASH})


def _stamp_daemon_set(pod: dict[str, Any], scene: Scene) -> None:
    """As the DaemonSet controller does: for a node, which it names in an affinity that is not foretold.

    Sources: kubernetes pkg/controller/daemon/{daemon_controller,util/daemonset_util}.go.
    """
    own(pod, "apps/v1", "DaemonSet", scene.name, scene.uid)
    add_labels(pod, {"controller-revision-hash": PLACEHOLDER_HASH, "pod-template-generation": "1"})
    spec = pod["spec"]
    tolerations = list(spec.get("tolerations") or ())
    keys = ["not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"]
    keys += ["network-unavailable"] if spec.get("hostNetwork") is True else []
    for key in keys:
        effect = "NoExecute" if key in {"not-ready", "unreachable"} else "NoSchedule"
        wanted = {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
        if wanted not in tolerations:
            tolerations.append(wanted)
    spec["tolerations"] = tolerations


def stamp_stateful_set(pod: dict[str, Any], name: str, spec: Mapping[str, Any]) -> None:
    """As for the first pod (newStatefulSetPod, kubernetes pkg/controller/statefulset/stateful_set_utils.go)."""
    start = at(spec, "ordinals", "start")
    ordinal = str(start if isinstance(start, int) else 0)
    pod_name = f"{name}-{ordinal}"
    pod["metadata"]["name"] = pod_name
    add_labels(
        pod,
        {
            "apps.kubernetes.io/pod-index": ordinal,
            "controller-revision-hash": f"{name}-{PLACEHOLDER_HASH}",
            "statefulset.kubernetes.io/pod-name": pod_name,
        },
    )
    pod_spec = pod["spec"]
    pod_spec["hostname"] = pod_name
    if at(spec, "serviceName"):
        pod_spec["subdomain"] = spec["serviceName"]
    templates = list_at(spec, "volumeClaimTemplates")
    claims = [at(each, "metadata", "name") for each in templates]
    if claims:
        volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{pod_name}"}} for claim in claims]
        others = [each for each in pod_spec.get("volumes") or () if each.get("name") not in claims]
        pod_spec["volumes"] = volumes + others


def _stamp_stateful_set(pod: dict[str, Any], scene: Scene) -> None:
    own(pod, "apps/v1", "StatefulSet", scene.name, scene.uid)
    stamp_stateful_set(pod, scene.name, scene.spec)


def stamp_job(pod: dict[str, Any], name: str, uid: str, spec: Mapping[str, Any]) -> None:
    """As the apiserver's generateSelector and the Job controller do, for index 0 where the Job is Indexed.

    Sources: kubernetes pkg/registry/batch/job/strategy.go, pkg/controller/job/{job_controller,indexed_job_utils}.go.
    """
    own(pod, "batch/v1", "Job", name, uid)
    metadata = pod["metadata"]
    if spec.get("manualSelector") is not True:
        for prefix in ("", "batch.kubernetes.io/"):
            add_labels(pod, {f"{prefix}controller-uid": uid, f"{prefix}job-name": name})
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), "batch.kubernetes.io/job-tracking"]
    if spec.get("completionMode") != "Indexed":
        return
    add_labels(pod, {JOB_COMPLETION_INDEX: "0"})
    add_annotations(pod, {JOB_COMPLETION_INDEX: "0"})
    if spec.get("backoffLimitPerIndex") is not None:
        add_annotations(pod, {"batch.kubernetes.io/job-index-failure-count": "0"})
    metadata["generateName"] = f"{name}-0-"
    pod["spec"]["hostname"] = f"{name}-0"
    field = {"fieldPath": f"metadata.labels['{JOB_COMPLETION_INDEX}']"}
    for container in containers(pod):
        add_env(container, {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": dict(field)}})


def _job_spec(scene: Scene) -> Mapping[str, Any]:
    cron = scene.document.get("kind") == "CronJob"
    return mapping_at(scene.spec, "jobTemplate", "spec") if cron else scene.spec


def _stamp_job(pod: dict[str, Any], scene: Scene) -> None:
    stamp_job(pod, scene.name, scene.uid, scene.spec)


def _stamp_cron_job(pod: dict[str, Any], scene: Scene) -> None:
    stamp_job(pod, f"{scene.name}-{PLACEHOLDER_MINUTES}", PLACEHOLDER_UID, _job_spec(scene))


def _job_replicas(scene: Scene) -> int:
    return job_pods(_job_spec(scene))


def _at_template(stamp: Callable[[dict[str, Any], Scene], None], count_of: Callable[[Scene], int]) -> tuple[Place, ...]:
    return (Place(path=TEMPLATE_PATH, stamp=stamp, replicas=count_of),)


_APPS: Final = "kubernetes/api apps/v1/types.go"

CORE_KINDS: Final[tuple[WorkloadKind, ...]] = (
    WorkloadKind(
        api_versions=frozenset({"apps/v1", "apps/v1beta2", "apps/v1beta1", "extensions/v1beta1"}),
        kind="Deployment",
        source=_APPS,
        places=_at_template(_stamp_deployment, replicas),
    ),
    WorkloadKind(
        api_versions=frozenset({"apps/v1", "apps/v1beta2", "apps/v1beta1"}),
        kind="StatefulSet",
        source=_APPS,
        places=_at_template(_stamp_stateful_set, replicas),
    ),
    WorkloadKind(
        api_versions=frozenset({"apps/v1", "apps/v1beta2", "extensions/v1beta1"}),
        kind="DaemonSet",
        source=_APPS,
        places=_at_template(_stamp_daemon_set, unknown),
    ),
    WorkloadKind(
        api_versions=frozenset({"apps/v1", "apps/v1beta2", "extensions/v1beta1"}),
        kind="ReplicaSet",
        source=_APPS,
        places=_at_template(owned_by_workload, replicas),
    ),
    WorkloadKind(
        api_versions=frozenset({"v1"}),
        kind="ReplicationController",
        source="kubernetes/api core/v1/types.go",
        places=_at_template(owned_by_workload, replicas),
    ),
    WorkloadKind(
        api_versions=frozenset({"batch/v1", "extensions/v1beta1"}),
        kind="Job",
        source="kubernetes/api batch/v1/types.go",
        places=_at_template(_stamp_job, _job_replicas),
    ),
    WorkloadKind(
        api_versions=frozenset({"batch/v1", "batch/v1beta1", "batch/v2alpha1"}),
        kind="CronJob",
        source="kubernetes/api batch/v1/types.go",
        places=(Place(path=("spec", "jobTemplate", *TEMPLATE_PATH), stamp=_stamp_cron_job, replicas=_job_replicas),),
    ),
    WorkloadKind(
        api_versions=frozenset({"v1"}),
        kind="PodTemplate",
        source="kubernetes/api core/v1/types.go: no controller makes pods of it by itself",
        places=(Place(path=("template",)),),
    ),
    WorkloadKind(
        api_versions=frozenset({"v1"}),
        kind="List",
        source="kubernetes/api core/v1/types.go",
        nested=(("items", ELEMENT),),
    ),
)

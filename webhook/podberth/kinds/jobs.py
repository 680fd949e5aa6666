"""Adds the fields that the controllers of Jobs and StatefulSets write on pods, also if an operator made the Job.

Also reads what a Job says about failures of its pods.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..kube.pod import controller
from ..kube.unchecked import LARGEST_SIZE, at, count, list_at, unread
from ..wellknown import JOB_COMPLETION_INDEX
from .members import Subject
from .places import PLACEHOLDER_HASH
from .stamping import add_annotations, add_env, add_labels, containers, own


def stamp_stateful_set(pod: dict[str, Any], name: str, uid: str, spec: Mapping[str, Any]) -> None:
    """Add to a pod the fields that the StatefulSet controller writes.

    Source: newStatefulSetPod (kubernetes/kubernetes pkg/controller/statefulset/stateful_set_utils.go).
    """
    own(pod, "apps/v1", "StatefulSet", name, uid)
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


def stamp_job(pod: dict[str, Any], name: str, uid: str, spec: Mapping[str, Any]) -> None:
    """Add to a pod the fields that the API server and the Job controller write; an Indexed pod gets index 0.

    Sources: kubernetes/kubernetes pkg/registry/batch/job/strategy.go,
    pkg/controller/job/{job_controller,indexed_job_utils}.go.
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


def job_pods(spec: object) -> int:
    """Return the number of pods that a Job runs at the same time: the parallelism, but at most the completions.

    Source: job_controller.go manageJob.
    """
    parallelism = count(at(spec, "parallelism"), 1)
    return min(parallelism, count(at(spec, "completions"), parallelism))


@dataclass(frozen=True, slots=True)
class JobFailures:
    """The fields of a Job that decide when failures of its pods make the Job fail."""

    backoff_limit: int
    """The number of pods that may fail before the Job fails; LARGEST_SIZE if each index has a limit of its own."""
    completions: int
    """The number of pods of a Job without failures: ``parallelism`` if the Job has no ``completions``."""
    parallelism: int
    ignores_disruptions: bool
    """Whether a pod that is evicted, preempted or drained is no failure."""

    def as_cel(self) -> dict[str, Any]:
        """Return the value of the field ``job`` of the CEL variable ``gang``."""
        return {
            "backoffLimit": self.backoff_limit,
            "completions": self.completions,
            "parallelism": self.parallelism,
            "ignoresDisruptions": self.ignores_disruptions,
        }


# pkg/apis/batch/v1/defaults.go SetDefaults_Job
_BACKOFF_LIMIT: Final = 6


def failures_of(pod: Subject) -> JobFailures | None:
    """Return what the pod's Job says about failures; None if the Job is not known, or if an operator makes the Job.

    An operator has fields of its own for failures, such as the failurePolicy of a JobSet. Source: kubernetes/api
    batch/v1/types.go JobSpec, PodFailurePolicyRule.
    """
    if pod.controller is None or pod.controller.kind != "Job" or not pod.controller.api_version.startswith("batch/"):
        return None
    owner = next(pod.lineage(), {})
    maker = controller(owner)
    spec = None
    if owner.get("kind") == "CronJob":
        spec = at(owner, "spec", "jobTemplate", "spec")
    elif owner.get("kind") == "Job" and (maker is None or maker.kind == "CronJob"):
        spec = at(owner, "spec")
    numbers = [at(spec, each) for each in ("backoffLimit", "parallelism", "completions")]
    if not isinstance(spec, Mapping) or unread(*numbers):
        return None
    limit, parallelism, completions = numbers
    parallel = count(parallelism, 1)
    return JobFailures(
        backoff_limit=LARGEST_SIZE if spec.get("backoffLimitPerIndex") is not None else count(limit, _BACKOFF_LIMIT),
        completions=count(completions, parallel),
        parallelism=parallel,
        ignores_disruptions=any(map(_ignores_disruptions, list_at(spec, "podFailurePolicy", "rules"))),
    )


def _ignores_disruptions(rule: object) -> bool:
    types = [at(each, "type") for each in list_at(rule, "onPodConditions")]
    return at(rule, "action") == "Ignore" and "DisruptionTarget" in types

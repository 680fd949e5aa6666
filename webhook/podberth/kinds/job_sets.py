"""Adds the fields that JobSet's controller writes on pods of JobSets, also on the pods of TrainJobs."""

from collections.abc import Mapping
from typing import Any, Final

from ..kube.paths import Path
from ..kube.unchecked import at, count, list_at, mapping_at, text, text_at
from .group_rules import items
from .jobs import job_pods, stamp_job
from .members import Subject
from .places import PLACEHOLDER_DIGEST, PLACEHOLDER_UID, Found
from .stamping import add_annotations, add_labels

REPLICATED_JOBS: Final = ("spec", "replicatedJobs")
"""The path from a JobSet to the list of replicated jobs."""
JOB_LISTS: Final[tuple[Path, ...]] = (REPLICATED_JOBS, ("spec", "template", *REPLICATED_JOBS))
"""The paths from an object to the replicated jobs of a JobSet (kubeflow/trainer pkg/apis/trainer/v1alpha1
JobSetTemplateSpec)."""
JOB_TEMPLATE: Final = ("template", "spec", "template")


EVERY: Final = "*"
"""The key, in the result of ``jobs_before``, for all replicated jobs together; no replicated job can have this name."""


def stamp_job_set(pod: dict[str, Any], name: str, uid: str, replicated: Found, before: Mapping[str, int]) -> None:
    """Add to a pod the fields that JobSet's controller writes on the first pod of a replicated job's first Job.

    ``before`` maps the name of each replicated job to the number of Jobs of all replicated jobs before it. Sources:
    kubernetes-sigs/jobset pkg/controllers/jobset_controller.go (labelAndAnnotateObject), pkg/webhooks
    jobset_webhook.go: by default a Job of a JobSet is Indexed, and its pods restart on failure.
    """
    role = text(replicated.get("name"))
    job_name = f"{name}-{role}-0"
    replicas = count(replicated.get("replicas"), 1)
    said = {
        "jobset-name": name,
        "jobset-uid": uid,
        "replicatedjob-name": role,
        "replicatedjob-replicas": str(replicas),
        "global-replicas": str(before[EVERY]),
        "job-index": "0",
        "job-global-index": str(before.get(role, before[EVERY])),
        "job-key": PLACEHOLDER_DIGEST,
        "restart-attempt": "0",
    }
    keys = {f"jobset.sigs.k8s.io/{key}": value for key, value in said.items()}
    add_labels(pod, keys)
    add_annotations(pod, keys)
    pod["spec"]["restartPolicy"] = pod["spec"].get("restartPolicy") or "OnFailure"
    pod["spec"]["subdomain"] = pod["spec"].get("subdomain") or name
    spec = mapping_at(replicated, "template", "spec")
    stamp_job(pod, job_name, PLACEHOLDER_UID, {"completionMode": "Indexed", **spec})


def jobs_before(jobs: object) -> Mapping[str, int]:
    """Return a mapping from the name of each replicated job to the number of Jobs of all replicated jobs before it.

    ``jobs`` is the unchecked list ``replicatedJobs``. The key EVERY has the number of all Jobs. If two replicated jobs
    have one name, the number belongs to the first.
    """
    before: dict[str, int] = {}
    every = 0
    for each in jobs if isinstance(jobs, list) else ():
        before.setdefault(text(at(each, "name")), every)
        every += count(at(each, "replicas"), 1)
    return {**before, EVERY: every}


def jobs_ended_before(jobs: object) -> Mapping[int, int]:
    """Return, for each replicated job, the length of the longest chain of jobs that must end before the job starts.

    The keys are the indexes in ``jobs``, the unchecked list of replicated jobs. Each job of a chain starts after the
    one before it has ended. The order comes from the field ``dependsOn``, which names earlier items of the list only
    (jobset_webhook.go).
    """
    by_name: dict[str, int] = {}
    by_place: dict[int, int] = {}
    for place, job in enumerate(jobs if isinstance(jobs, list) else ()):
        waits = list_at(job, "dependsOn")
        before = [each for each in waits if text_at(each, "name") in by_name]
        number = max((by_name[text_at(each, "name")] + (at(each, "status") == _ENDED) for each in before), default=0)
        by_place[place] = by_name[text_at(job, "name")] = number
    return by_place


# kubernetes-sigs/jobset pkg/controllers/depends_on.go: every Job of the other replicated job has succeeded. With Ready,
# the other status, the Jobs still run.
_ENDED: Final = "Complete"


def replicated_pods(replicated: Found) -> int:
    """Return the number of pods that all Jobs of a replicated job run at the same time."""
    return count(replicated.get("replicas"), 1) * job_pods(mapping_at(replicated, "template", "spec"))


def annotations_of_job(pod: Subject, owner: Found) -> Found | None:
    """Return the annotations of the Job that makes the pod; None if they are unknown.

    ``owner`` is the Job, or the CronJob or JobSet that will make the Job from its template. The annotations are unknown
    if ``owner`` is of another kind.
    """
    match owner.get("kind"):
        case "Job":
            return mapping_at(owner, "metadata", "annotations")
        case "CronJob":
            return mapping_at(owner, "spec", "jobTemplate", "metadata", "annotations")
        case "JobSet":
            role = pod.labels.get("jobset.sigs.k8s.io/replicatedjob-name")
            jobs = (each for _, each in items(at(owner, *REPLICATED_JOBS)) if each.get("name") == role)
            return mapping_at(next(jobs, {}), "template", "metadata", "annotations")
    return None

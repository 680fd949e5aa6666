"""Gangs that an operator or the Job controller makes: one row for each kind of owner, by the keys on its pods.

What stands on the pod comes first; the owner is read for the size where a snapshot has it. ReplicaSets, DaemonSets and
plain StatefulSets make no gangs, and so have no row.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from ..wellknown import JOB_COMPLETION_INDEX
from .subject import Member, Row, Subject, at, completion_index, count, index_of, named, number


def _leader_worker_set(pod: Subject) -> Member | None:
    """A group of a LeaderWorkerSet, named by its group key.

    The leader gets its key from LWS's own webhook, which may come after us: the key is computed as there.
    """
    key = pod.labels.get("leaderworkerset.sigs.k8s.io/group-key")
    worker = pod.labels.get("leaderworkerset.sigs.k8s.io/worker-index")
    if not key and worker == "0" and pod.name:
        key = hashlib.sha1(
            f"{pod.namespace}/{pod.name}".encode(errors="surrogatepass"), usedforsecurity=False
        ).hexdigest()
    if not key:
        return None
    size = number(pod.annotations.get("leaderworkerset.sigs.k8s.io/size")) or 0
    # A worker's StatefulSet starts at ordinal 1, so its ordinal is the worker index that LWS's webhook writes.
    index = index_of(worker or pod.labels.get("apps.kubernetes.io/pod-index"))
    return Member("LeaderWorkerSet", named("lws", key), size, index)


def _job_set(pod: Subject) -> Member:
    uid = pod.labels.get("jobset.sigs.k8s.io/jobset-uid") or ""
    jobs = at(pod.owners.get(uid) or pod.owner("JobSet"), "spec", "replicatedJobs")
    size = sum(
        count(at(job, "replicas"), 1) * count(at(job, "template", "spec", "parallelism"), 1)
        for job in (jobs if isinstance(jobs, list) else ())
    )
    alone = pod.labels.get("jobset.sigs.k8s.io/replicatedjob-replicas") == "1"
    index = completion_index(pod) if alone else -1
    return Member("JobSet", named("jobset", uid or pod.labels["jobset.sigs.k8s.io/jobset-name"]), size, index)


_KUBEFLOW_GROUP: Final = "kubeflow.org"


def _kubeflow(pod: Subject) -> Member:
    """A job of Training Operator v1, or of mpi-operator, whose launcher is a Job's pod and its workers are its own."""
    job = pod.labels["training.kubeflow.org/job-name"]
    index = index_of(pod.labels.get("training.kubeflow.org/replica-index"))
    controller = pod.controller
    if controller is not None and controller.group == _KUBEFLOW_GROUP and controller.kind != "MPIJob":
        size = _replica_specs(pod.owner(controller.kind))
        return Member(controller.kind, named(controller.kind.lower(), controller.uid), size, index)
    # Launcher and workers have no owner in common that both could name.
    return Member("MPIJob", named("mpijob", job), _replica_specs(pod.owner("MPIJob")), index)


def _replica_specs(job: Mapping[str, Any] | None) -> int:
    spec = at(job, "spec")
    for key, roles in spec.items() if isinstance(spec, Mapping) else ():
        if str(key).endswith("ReplicaSpecs") and isinstance(roles, Mapping):
            return sum(count(at(role, "replicas"), 1) for role in roles.values())
    return 0


def _volcano_job(pod: Subject) -> Member:
    name = pod.labels.get("volcano.sh/job-name") or pod.annotations.get("volcano.sh/job-name") or ""
    tasks = at(pod.owner("Job"), "spec", "tasks")
    size = sum(count(at(task, "replicas"), 1) for task in (tasks if isinstance(tasks, list) else ()))
    index = pod.labels.get("volcano.sh/task-index") or pod.annotations.get("volcano.sh/task-index")
    identity = pod.controller.uid if pod.controller else name
    return Member("VolcanoJob", named("vcjob", identity), size, index_of(index))


def _ray_cluster(pod: Subject) -> Member | None:
    """A RayCluster's head or worker. One that autoscales has no size, and its clean-up Job is no member."""
    if pod.labels.get("ray.io/node-type") not in {"head", "worker"}:
        return None
    spec = at(pod.owner("RayCluster"), "spec")
    groups = at(spec, "workerGroupSpecs")
    size = 0
    if isinstance(spec, Mapping) and spec.get("enableInTreeAutoscaling") is not True:
        workers = groups if isinstance(groups, list) else ()
        size = 1 + sum(count(at(group, "replicas"), 0) * count(at(group, "numOfHosts"), 1) for group in workers)
    identity = pod.controller.uid if pod.controller else pod.labels["ray.io/cluster"]
    return Member("RayCluster", named("raycluster", identity), size)


def _pod_gang(pod: Subject) -> Member:
    index = index_of(pod.labels.get("grove.io/podclique-pod-index"))
    return Member("PodCliqueSet", pod.labels["grove.io/podgang"], _cliques(pod.owner("PodCliqueSet")), index)


def _cliques(owner: Mapping[str, Any] | None) -> int:
    """Return the pods of a base gang: each clique, as often as its scaling group needs it at least; 0 if it scales.

    Source: ai-dynamo/grove operator/internal/controller/podcliqueset/components/podgang/syncflow.go.
    """
    template = at(owner, "spec", "template")
    groups = at(template, "podCliqueScalingGroups")
    times: dict[str, int] = {}
    for group in groups if isinstance(groups, list) else ():
        names = at(group, "cliqueNames")
        for name in names if isinstance(names, list) else ():
            times[str(name)] = count(at(group, "minAvailable"), 1)
    cliques = at(template, "cliques")
    size = 0
    for clique in cliques if isinstance(cliques, list) else ():
        if at(clique, "spec", "autoScalingConfig") is not None:
            return 0
        size += count(at(clique, "spec", "replicas"), 1) * times.get(str(at(clique, "name")), 1)
    return size


def _indexed_job(pod: Subject) -> Member | None:
    """An Indexed Job. One that works through more completions than run at once is a queue of tasks, not a gang.

    Kubernetes' own Job controller draws the same line (KEP-5547: Indexed, and parallelism equal to completions).
    """
    if pod.controller is None or pod.controller.kind != "Job":
        return None
    # Before a CronJob has made its first Job, the CronJob's template stands for it.
    spec = at(pod.owner("Job"), "spec") or at(pod.owner("CronJob"), "spec", "jobTemplate", "spec")
    size = 0
    if isinstance(spec, Mapping):
        size = count(spec.get("parallelism"), 1)
        if count(spec.get("completions"), 1) > size:
            return None
    return Member("Job", named("job", pod.controller.uid), size, completion_index(pod))


OPERATOR_ROWS: Final[tuple[Row, ...]] = (
    Row(
        source="kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go, pkg/webhooks/pod_webhook.go",
        read=_leader_worker_set,
        label="leaderworkerset.sigs.k8s.io/name",
    ),
    Row(
        source="kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go; Kubeflow Trainer v2 makes JobSets",
        read=_job_set,
        label="jobset.sigs.k8s.io/jobset-name",
    ),
    Row(
        source="kubeflow/training-operator pkg/apis/kubeflow.org/v1, kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1",
        read=_kubeflow,
        label="training.kubeflow.org/job-name",
    ),
    Row(
        source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/labels.go",
        read=_volcano_job,
        label="volcano.sh/job-name",
        annotation="volcano.sh/job-name",
    ),
    Row(
        source="ray-project/kuberay ray-operator/controllers/ray/utils/constant.go",
        read=_ray_cluster,
        label="ray.io/cluster",
    ),
    Row(source="ai-dynamo/grove operator/api/common/labels.go", read=_pod_gang, label="grove.io/podgang"),
)

INDEXED_JOB: Final = Row(
    source="kubernetes/api batch/v1/types.go JobCompletionIndexAnnotation",
    read=_indexed_job,
    label=JOB_COMPLETION_INDEX,
    annotation=JOB_COMPLETION_INDEX,
)

"""Minimums that are above what there is to count: a group that never becomes whole, and so never starts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
from ..workload.gangs import groups_in
from ..workload.places import Steps
from ..workload.subject import at, count, mapping_at, number
from ..workload.training_kinds import CLUSTERS
from .case import Case, Found, Pods, Wrong, whole

_NEVER: Final = "the group never starts"
BATCH_MINIMUM: Final = "kai.scheduler/batch-min-member"
_SCHEDULING: Final = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")

_Findings: TypeAlias = Iterator[tuple[Steps, str]]


def too_large_minimums(case: Case) -> Iterator[Wrong]:
    """Find minimums above the number of pods, by the kind of the object, then by what its pods say."""
    find = _KINDS.get(case.kind)
    for steps, message in find(case.document) if find else ():
        yield case.wrong(steps, message)
    if not case.is_bare:
        yield from _batch_minimum(case)
        for each in case.pods:
            yield from _declared(case, each)
            yield from _of_groups(case, each)


def _above(got: int, most: int, what: str) -> str:
    return f"got {got}, want {most} at most, {what}: {_NEVER}"


# ---- by kind --------------------------------------------------------------------------------------------------------
def _items(value: object) -> Iterator[tuple[int, Found]]:
    return ((index, each) for index, each in enumerate(value if isinstance(value, list) else ()) if _is_map(each))


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)


def _volcano_job(job: Found) -> _Findings:
    """Find what volcano-sh/volcano pkg/webhooks/admission/jobs/validate refuses, where its webhook runs."""
    total, tasks = 0, at(job, "spec", "tasks")
    for index, task in _items(tasks):
        replicas, least = count(task.get("replicas"), 1), count(task.get("minAvailable"))
        total += replicas
        if least > replicas:
            yield ("spec", "tasks", index, "minAvailable"), _above(least, replicas, "its replicas")
    least = count(at(job, "spec", "minAvailable"))
    if tasks and least > total:
        yield ("spec", "minAvailable"), _above(least, total, "the pods of its tasks")


def roles_of(job: Found) -> Mapping[str, int]:
    """Return the replicas of each role of a job of Kubeflow's."""
    spec = mapping_at(job, "spec")
    roles = next((mapping_at(spec, key) for key in spec if str(key).endswith("ReplicaSpecs")), {})
    return {str(role): count(at(each, "replicas"), 1) for role, each in roles.items()}


def _kubeflow(job: Found) -> _Findings:
    """Compare with kubeflow/training-operator pkg/apis/kubeflow.org/v1 SchedulingPolicy, ElasticPolicy."""
    roles = dict(roles_of(job))
    elastic = mapping_at(job, "spec", "elasticPolicy")
    low, high = count(elastic.get("minReplicas")), count(elastic.get("maxReplicas"))
    if high and low > high:
        yield ("spec", "elasticPolicy", "minReplicas"), _above(low, high, "maxReplicas")
    if high and "Worker" in roles:
        roles["Worker"] = max(high, roles["Worker"])
    least, total = count(at(job, *_SCHEDULING)), sum(roles.values())
    if roles and least > total:
        yield _SCHEDULING, _above(least, total, "the pods of its roles")


def _job(job: Found, *path: str) -> _Findings:
    """A Job (kubernetes/api batch/v1 JobSpec); ``path`` leads to its spec."""
    spec = mapping_at(job, *path)
    parallelism, completions = count(spec.get("parallelism"), 1), spec.get("completions")
    if completions is not None and parallelism > count(completions) > 0:
        made = count(completions)
        message = f"got {made}, want {parallelism}, as parallelism: of {parallelism} pods only {made} are ever made"
        yield (*path, "completions"), message
    gang = ("scheduling", "schedulingPolicy", "gang", "minCount")  # the gate WorkloadWithJob (KEP-5547)
    least = count(at(spec, *gang))
    if least > parallelism:
        yield (*path, *gang), _above(least, parallelism, "its parallelism")


def _cron_job(document: Found) -> _Findings:
    return _job(document, "spec", "jobTemplate", "spec")


def _job_set(document: Found) -> _Findings:
    for index, each in _items(at(document, "spec", "replicatedJobs")):
        for steps, message in _job({"spec": mapping_at(each, "template", "spec")}, "spec"):
            yield ("spec", "replicatedJobs", index, "template", *steps), message


def _ray(document: Found) -> _Findings:
    """Find worker groups (ray-project/kuberay ray-operator/apis/ray/v1 WorkerGroupSpec) that cannot be scaled."""
    base: tuple[str, ...] = ("spec", *CLUSTERS.get(str(document.get("kind")), ()))
    for index, group in _items(at(document, *base, "workerGroupSpecs")):
        low, high = count(group.get("minReplicas")), group.get("maxReplicas")
        if high is not None and low > count(high):
            steps: Steps = (*base, "workerGroupSpecs", index, "minReplicas")
            yield steps, f"got {low}, want {count(high)} at most, maxReplicas: the cluster cannot be scaled"


def _leader_worker_set(document: Found) -> _Findings:
    """Find subgroups that are larger than their group (kubernetes-sigs/lws api SubGroupPolicy)."""
    base = ("spec", "leaderWorkerTemplate")
    size = count(at(document, *base, "size"), 1)
    subgroup = count(at(document, *base, "subGroupPolicy", "subGroupSize"))
    if subgroup > size:
        yield (*base, "subGroupPolicy", "subGroupSize"), _above(subgroup, size, "the size of a group")


_KUBEFLOW: Final = ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob")
_KINDS: Final[Mapping[tuple[str, str], Callable[[Found], _Findings]]] = {
    ("batch", "Job"): lambda document: _job(document, "spec"),
    ("batch", "CronJob"): _cron_job,
    ("jobset.x-k8s.io", "JobSet"): _job_set,
    ("batch.volcano.sh", "Job"): _volcano_job,
    **{("kubeflow.org", kind): _kubeflow for kind in _KUBEFLOW},
    ("ray.io", "RayCluster"): _ray,
    **{("ray.io", kind): _ray for kind in ("RayJob", "RayCronJob", "RayService")},
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
}


# ---- by what the pods say -------------------------------------------------------------------------------------------
def _batch_minimum(case: Case) -> Iterator[Wrong]:
    """KAI's own minimum of a workload (pkg/podgrouper/podgrouper/plugins/constants)."""
    least, total = number(_text(case.annotations.get(BATCH_MINIMUM))) or 0, whole(case.pods)
    if total and least > total:
        yield case.wrong(("metadata", "annotations", BATCH_MINIMUM), _above(least, total, "the pods of the workload"))


def _declared(case: Case, pods: Pods) -> Iterator[Wrong]:
    """``podberth.io/gang-size``; under the user's own label a gang may be of several workloads."""
    size = number(_text(pods.annotations.get(GANG_SIZE_ANNOTATION))) or 0
    if not size or GANG_LABEL in pods.labels:
        return
    member = case.member(pods)
    own = member is not None and member.source not in ("PodGroup", "Workload", "Kueue", "YuniKorn")
    most = pods.replicas if case.kind == ("apps", "StatefulSet") else member.size if member is not None and own else 0
    if most and size > most:
        steps = ("metadata", "annotations", GANG_SIZE_ANNOTATION)
        yield pods.wrong(steps, _above(size, most, "the pods that the workload makes"))


def _of_groups(case: Case, pods: Pods) -> Iterator[Wrong]:
    """What a PodGroup, or an annotation in its place, wants at the least; told once, with the first template."""
    for row, member in groups_in(pods.template.pod, case.namespace, case.known.group_sizes):
        mates = [each for each in case.pods if _is_in(each, case, member.name)]
        total = whole(mates)
        if total and member.size > total and mates[0] is pods:
            yield pods.wrong(
                row.steps,
                f"got {member.name}, a group of {member.size} at the least, and this workload makes {total}: "
                "raise replicas or lower the minimum",
            )
            return


def _is_in(pods: Pods, case: Case, name: str) -> bool:
    return any(member.name == name for _, member in groups_in(pods.template.pod, case.namespace))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None

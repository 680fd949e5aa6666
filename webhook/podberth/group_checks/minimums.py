"""Minimums that are above the number of pods: a group that is never complete, and so never starts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from ..kinds.places import Steps
from ..kinds.ray_clusters import CLUSTERS
from ..kinds.replica_specs import REPLICA_SPECS
from ..kube.unchecked import at, count, mapping_at, number, text
from ..wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
from .case import Case, Found, Pods, Wrong, whole
from .together import BATCH_MINIMUM, JOB_SCHEDULING, MINIMUM

_NEVER: Final = "the group never starts"
# volcano-sh/volcano pkg/controllers/podgroup/pg_controller_handler.go getMinMemberFromUpperRes: read from the owners of
# pods that name no group, of these kinds. A ReplicaSet has its Deployment's annotations (kubernetes
# pkg/controller/deployment/util SetNewReplicaSetAnnotations).
_VOLCANO_MINIMUM: Final = "scheduling.volcano.sh/group-min-member"
_VOLCANO_GROUP: Final = "scheduling.k8s.io/group-name"
_OF_VOLCANO: Final = frozenset(
    {("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("batch", "Job")}
)

_Findings: TypeAlias = Iterator[tuple[Steps, str]]


def too_large_minimums(case: Case) -> Iterator[Wrong]:
    """Find minimums above the number of pods, in the object's own fields, then in its pods' annotations."""
    find = _KINDS.get(case.kind)
    for steps, message in find(case.document) if find else ():
        yield case.wrong(steps, message)
    if not case.is_bare:
        yield from _by_annotation(case)
        for each in case.pods:
            yield from _declared(case, each)
            yield from _of_groups(case, each)


def _above(got: int, most: int, what: str) -> str:
    return f"got {got}, want {most} at most, {what}: {_NEVER}"


# ---- by kind --------------------------------------------------------------------------------------------------------
def _items(value: object) -> Iterator[tuple[int, Found]]:
    rows = enumerate(value if isinstance(value, list) else ())
    return ((index, each) for index, each in rows if isinstance(each, Mapping))


def _volcano_job(job: Found) -> _Findings:
    """Find values that volcano-sh/volcano pkg/webhooks/admission/jobs/validate refuses, where its webhook runs."""
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
    """Return the replicas of each role of a Kubeflow job."""
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
    least, total = count(at(job, *MINIMUM)), sum(roles.values())
    if roles and least > total:
        yield MINIMUM, _above(least, total, "the pods of its roles")


def _job(job: Found, *path: str, mode: object = None) -> _Findings:
    """Find minimums of a Job (kubernetes/api batch/v1 JobSpec); ``path`` leads to its spec, ``mode`` is its default.

    A Job that is not Indexed is a queue of tasks, which may be fewer than could run at once.
    """
    spec = mapping_at(job, *path)
    parallelism, completions = count(spec.get("parallelism"), 1), spec.get("completions")
    indexed = (spec.get("completionMode") or mode) == "Indexed"
    if indexed and completions is not None and parallelism > count(completions) > 0:
        made = count(completions)
        message = f"got {made}, want {parallelism}, as parallelism: of {parallelism} pods only {made} are ever made"
        yield (*path, "completions"), message
    least = count(at(spec, *JOB_SCHEDULING, "gang", "minCount"))
    if least > parallelism:
        yield (*path, *JOB_SCHEDULING, "gang", "minCount"), _above(least, parallelism, "its parallelism")


def _cron_job(document: Found) -> _Findings:
    return _job(document, "spec", "jobTemplate", "spec")


def _job_set(document: Found) -> _Findings:
    for index, each in _items(at(document, "spec", "replicatedJobs")):
        # pkg/webhooks/jobset_webhook.go: Indexed is the default.
        for steps, message in _job({"spec": mapping_at(each, "template", "spec")}, "spec", mode="Indexed"):
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


def _clique_set(document: Found) -> _Findings:
    """Find what ai-dynamo/grove operator/internal/webhook/admission/pcs/validation refuses where its webhook runs."""
    base = ("spec", "template")
    for path, lists in ((("spec",), "cliques"), ((), "podCliqueScalingGroups")):
        for index, each in _items(at(document, *base, lists)):
            replicas, least = count(at(each, *path, "replicas"), 1), count(at(each, *path, "minAvailable"))
            if least > replicas:
                yield (*base, lists, index, *path, "minAvailable"), _above(least, replicas, "its replicas")


_KINDS: Final[Mapping[tuple[str, str], Callable[[Found], _Findings]]] = {
    ("batch", "Job"): lambda document: _job(document, "spec"),
    ("batch", "CronJob"): _cron_job,
    ("jobset.x-k8s.io", "JobSet"): _job_set,
    ("batch.volcano.sh", "Job"): _volcano_job,
    **{("kubeflow.org", kind): _kubeflow for kind in REPLICA_SPECS},
    ("ray.io", "RayCluster"): _ray,
    **{("ray.io", kind): _ray for kind in ("RayJob", "RayCronJob", "RayService")},
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("grove.io", "PodCliqueSet"): _clique_set,
}


# ---- in the pods' annotations ----------------------------------------------------------------------------------------
def _by_annotation(case: Case) -> Iterator[Wrong]:
    """Find minimums in the annotations that KAI and Volcano read from the object that owns the pods."""
    total, keys = whole(case.pods), [BATCH_MINIMUM]
    alone = [each for each in case.pods if not each.annotations.get(_VOLCANO_GROUP)]
    if case.kind in _OF_VOLCANO and any(each.scheduler == "volcano" for each in alone):
        keys.append(_VOLCANO_MINIMUM)
    for key in keys:
        least = number(text(case.annotations.get(key))) or 0
        if total and least > total:
            yield case.wrong(("metadata", "annotations", key), _above(least, total, "the pods of the workload"))


def _declared(case: Case, pods: Pods) -> Iterator[Wrong]:
    """Find a ``podberth.io/gang-size`` that is too large; a gang by the user's own label may have several workloads."""
    size = number(text(pods.annotations.get(GANG_SIZE_ANNOTATION))) or 0
    if not size or GANG_LABEL in pods.labels:
        return
    member = case.member(pods)
    own = member is not None and member.source not in ("PodGroup", "Workload", "Kueue", "YuniKorn")
    most = pods.replicas if case.kind == ("apps", "StatefulSet") else member.size if member is not None and own else 0
    if most and size > most:
        steps = ("metadata", "annotations", GANG_SIZE_ANNOTATION)
        yield pods.wrong(steps, _above(size, most, "the pods that the workload makes"))


def _of_groups(case: Case, pods: Pods) -> Iterator[Wrong]:
    """Find minimums of a PodGroup, or of an annotation instead of one; reported once, at the first template."""
    for row, member in case.groups[pods.template.path]:
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
    return any(member.name == name for _, member in case.groups[pods.template.path])

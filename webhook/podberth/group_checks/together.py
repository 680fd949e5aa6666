"""The least number of pods of a gang that start together: a stated minimum, else all of them.

One row for each kind whose objects are a gang, or several. Where pods come and go on their own, or are placed one by
one, nothing has to start together, and nothing is compared.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..kinds.forms import find
from ..kinds.group_rules import JOB_SCHEDULING, RUN_POLICY_MINIMUM
from ..kinds.replica_specs import REPLICA_SPECS
from ..kube.unchecked import at, count, list_at, mapping_at, number, text, text_at
from ..wellknown import GANG_SIZE_ANNOTATION
from .case import Case, Pods
from .moments import moments

BATCH_MINIMUM: Final = "kai.scheduler/batch-min-member"
"""kai-scheduler/KAI-Scheduler pkg/podgrouper/podgrouper/plugins/constants: on the object that owns the pods."""
_PARTIAL: Final = "kueue.x-k8s.io/job-min-parallelism"
_ELASTIC: Final = "kueue.x-k8s.io/elastic-job"  # kubernetes-sigs/kueue pkg/constants: the workload grows and shrinks


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The pods of one template in a gang."""

    pods: Pods
    most: int
    least: int
    """The least number of these pods, whatever the others are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Pods that start together."""

    shares: tuple[Share, ...]
    least: int
    """The least number of pods in all; 0: none have to start together."""

    def of(self, some: Sequence[Pods]) -> "Start":
        """Return the certain part of it for some templates alone."""
        wanted = {each.template.path for each in some}
        shares = tuple(each for each in self.shares if each.pods.template.path in wanted)
        others = sum(each.most for each in self.shares if each.pods.template.path not in wanted)
        return Start(shares=shares, least=max(sum(each.least for each in shares), self.least - others, 0))

    def at_least(self, stated: int) -> "Start":
        """Return it with a smaller stated minimum of the whole: then any pods may be the first."""
        if stated >= self.least:
            return self
        return Start(shares=tuple(Share(pods=each.pods, most=each.most, least=0) for each in self.shares), least=stated)


def all_of(pods: Sequence[Pods], number_of: Callable[[Pods], int] = lambda each: each.replicas) -> Start:
    """Return the start of all pods of some templates."""
    shares = tuple(Share(pods=each, most=number_of(each), least=number_of(each)) for each in pods)
    return Start(shares=shares, least=sum(each.least for each in shares))


def exactly(number_of: int, pods: Pods) -> Start:
    """Return the start of so many pods of a template."""
    return all_of([pods], lambda _: number_of)


def _none_of(pods: Sequence[Pods]) -> Start:
    return all_of(pods).at_least(0)


def starts(case: Case) -> Iterator[Start]:
    """Yield the gangs of an object, each with the roles that run at the same time."""
    if case.kind not in RULES or not _ON_DEMAND.get(case.kind, _always)(case):
        return
    for gang in case.gangs():
        for pods in moments(case, gang):
            yield start_of(case, pods)


def start_of(case: Case, some: Sequence[Pods]) -> Start:
    """Return how many pods of some templates start together; all of them for a kind without a row."""
    rule, first, pods = RULES.get(case.kind), some[0], tuple(some)
    if rule is None:
        return all_of(some)
    if first.gang.known:
        gang = [each for each in case.pods if each.gang.known and each.gang.name == first.gang.name]
        pods = next(each for each in moments(case, gang) if any(one is first for one in each))
    return _as_said(case, rule(case, pods)).of(some)


def _as_said(case: Case, start: Start) -> Start:
    """Apply minimums outside the kind's own field; for an unknown group nothing is certain."""
    if case.annotations.get(_ELASTIC) == "true":
        return start.at_least(0)
    start = start.at_least(number(text(case.annotations.get(BATCH_MINIMUM))) or start.least)
    for share in start.shares:
        said = number(text(share.pods.annotations.get(GANG_SIZE_ANNOTATION)))
        start = start.at_least(said) if said else start
        for _, member in case.own_groups[share.pods.template.path]:
            start = start.at_least(member.size)
    return start


# ---- by kind --------------------------------------------------------------------------------------------------------
_Rule = Callable[[Case, Sequence[Pods]], Start]


def _all(_case: Case, pods: Sequence[Pods]) -> Start:
    return all_of(pods)


def _job(case: Case, pods: Sequence[Pods]) -> Start:
    """A Job: native gangs have a minimum or none, and Kueue may start fewer (pkg/controller/jobs/job)."""
    job = mapping_at(case.document, *(("spec", "jobTemplate") if case.kind[1] == "CronJob" else ()))
    if at(job, "spec", *JOB_SCHEDULING, "basic") is not None:
        return _none_of(pods)
    start = all_of(pods)
    if (least := count(at(job, "spec", *JOB_SCHEDULING, "gang", "minCount"))) > 0:
        start = start.at_least(least)
    return start.at_least(number(text_at(job, "metadata", "annotations", _PARTIAL)) or start.least)


def _kubeflow(case: Case, pods: Sequence[Pods]) -> Start:
    """A Kubeflow job; elastic ones (PyTorchJob, PaddleJob; TFJob's dynamic workers) start with the available pods."""
    spec = mapping_at(case.document, "spec")
    if spec.get("elasticPolicy") is not None or spec.get("enableDynamicWorker") is True:
        return _none_of(pods)
    start = all_of(pods)
    return start.at_least(count(at(case.document, *RUN_POLICY_MINIMUM)) or start.least)


def _volcano_job(case: Case, pods: Sequence[Pods]) -> Start:
    """A Volcano Job with the defaults of volcano-sh/volcano pkg/webhooks/admission/jobs/mutate.

    A minimum below the sum of the tasks' minimums lets any pods be the first (pkg/scheduler/api/job_info.go,
    CheckTaskReady).
    """
    shares = []
    for each in pods:
        task = _item(case, each, -1)
        least = each.replicas
        parts = mapping_at(task, "partitionPolicy")
        if task.get("minAvailable") is not None:
            least = count(task.get("minAvailable"))
        elif count(parts.get("minPartitions")):
            least = count(parts.get("minPartitions")) * count(parts.get("partitionSize"), 1)
        shares.append(Share(pods=each, most=each.replicas, least=min(least, each.replicas)))
    tasks = sum(each.least for each in shares)
    stated = min(count(at(case.document, "spec", "minAvailable")) or tasks, sum(each.most for each in shares))
    return Start(shares=tuple(shares), least=max(tasks, stated)).at_least(stated)


def _ray(_case: Case, pods: Sequence[Pods]) -> Start:
    """A RayCluster without autoscaling."""
    owners = (owner for each in pods for owner in each.template.owners.values())
    if any(at(owner, "spec", "enableInTreeAutoscaling") is True for owner in owners):
        return _none_of(pods)
    return all_of(pods)


def _leader_worker_set(case: Case, pods: Sequence[Pods]) -> Start:
    """One group: its leader and its workers."""
    groups = count(at(case.document, "spec", "replicas"), 1)
    return all_of(pods, lambda each: each.replicas // groups if groups else 0)


def _clique_set(case: Case, pods: Sequence[Pods]) -> Start:
    """The base gang: the minimum of each clique, times that of its scaling group.

    Source: ai-dynamo/grove operator/internal/webhook/admission/pcs/defaulting, .../podgang/syncflow.go.
    """
    if not count(at(case.document, "spec", "replicas"), 1):
        return _none_of(pods)
    groups = list_at(case.document, "spec", "template", "podCliqueScalingGroups")
    times = {
        str(name): count(at(group, "minAvailable"), 1) for group in groups for name in list_at(group, "cliqueNames")
    }
    shares = []
    for each in pods:
        clique = _item(case, each, None)
        stated, every = at(clique, "spec", "minAvailable"), count(at(clique, "spec", "replicas"), 1)
        scales = stated is None and at(clique, "spec", "autoScalingConfig") is not None
        least = 0 if scales else min(count(stated, every), every)
        often = times.get(text_at(clique, "name"), 1)
        shares.append(Share(pods=each, most=every * often, least=least * often))
    return Start(shares=tuple(shares), least=sum(each.least for each in shares))


def _roles(_case: Case, pods: Sequence[Pods]) -> Start:
    """A RoleBasedGroup; pods of a template that roles refer to are not counted."""
    return all_of(pods, lambda each: each.replicas if "roles" in each.template.path else 0)


def _is_gang(case: Case) -> bool:
    """Return whether a RoleBasedGroup starts as a whole (sgl-project/rbg api/workloads/constants, v1alpha1)."""
    asked = case.annotations.get("rbg.workloads.x-k8s.io/group-gang-scheduling") == "true"
    return asked or bool(mapping_at(case.document, "spec", "podGroupPolicy"))


def _always(_case: Case) -> bool:
    return True


def _item(case: Case, pods: Pods, end: int | None) -> Mapping[str, Any]:
    """Return the task, worker group or clique that the template belongs to; ``end`` counts from its place."""
    return mapping_at(find(case.document, pods.template.path[len(case.base) :][:end]))


RULES: Final[Mapping[tuple[str, str], _Rule]] = {
    ("apps", "StatefulSet"): _all,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _job,
    ("batch.volcano.sh", "Job"): _volcano_job,
    ("grove.io", "PodCliqueSet"): _clique_set,
    ("jobset.x-k8s.io", "JobSet"): _all,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    **{("ray.io", kind): _ray for kind in ("RayCluster", "RayCronJob", "RayJob")},
    ("trainer.kubeflow.org", "TrainJob"): _all,
    ("workloads.x-k8s.io", "RoleBasedGroup"): _roles,
    **{("kubeflow.org", kind): _kubeflow for kind in REPLICA_SPECS},
}
"""Kinds whose objects are a gang, or several equal ones."""
_ON_DEMAND: Final[Mapping[tuple[str, str], Callable[[Case], bool]]] = {
    ("workloads.x-k8s.io", "RoleBasedGroup"): _is_gang
}
"""Kinds that are a gang only where a field requests it."""

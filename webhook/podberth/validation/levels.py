"""What a workload itself says of topology: how many of its pods come together in one domain of a level."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ..kube.patch import Path
from ..kube.selector import label_selector_matches
from ..workload.forms import find
from ..workload.subject import at, count, mapping_at, text, text_at
from .case import Case, Pods, Wrong

_KUEUE: Final = "kueue.x-k8s.io/podset"
_JOB_SET: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_LEADER_WORKER_SET: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
# Each pod of these is by itself to Kueue (pkg/controller/jobs/deployment): one pod is in one domain.
_SINGLE: Final = frozenset({"Pod", "Deployment", "ReplicaSet", "DaemonSet"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One wish. ``members`` pods of the template in one domain of ``key``; 0 where their number is not known."""

    pods: Pods
    key: str
    members: int
    steps: Path
    """Of the pod, or of the object where ``case`` is there."""
    case: Case | None = None
    domains: int = 1
    """How many domains are wanted, each for such a group alone."""

    def wrong(self, message: str) -> Wrong:
        """Return what is wrong with it, where it is said."""
        return self.case.wrong(self.steps, message) if self.case else self.pods.wrong(self.steps, message)


def exclusive_levels(case: Case) -> Iterator[Level]:
    """Yield the exclusive topology of a JobSet's Jobs (docs "Exclusive placement") or a LeaderWorkerSet's groups."""
    key = {"JobSet": _JOB_SET, "LeaderWorkerSet": _LEADER_WORKER_SET}.get(case.kind[1], "")
    if not key:
        return
    steps = ("metadata", "annotations", key)
    said = text_at(case.document, *steps)
    for pods in case.pods:
        own = text_at(pods.template.own, *steps)
        place = _of_its_job(case, pods)
        of_job = text_at(find(case.document, place), *steps) if place else ""
        if not (said or own or of_job):
            continue
        yield Level(
            pods=pods,
            key=own or of_job or said,
            members=_of_one_group(case, pods),
            steps=(*place, *steps) if of_job and not own else steps,
            case=None if own else case,
            domains=_groups(case, pods),
        )


def _of_its_job(case: Case, pods: Pods) -> Path:
    """Return where the Job template of one ReplicatedJob stands, which may say its own; empty elsewhere."""
    path = pods.template.path[len(case.base) :]
    return (*path[:3], "template") if path[:2] == ("spec", "replicatedJobs") else ()


def _of_one_group(case: Case, pods: Pods) -> int:
    """Return how many pods of a template are in one group: a Job of a JobSet, a group of a LeaderWorkerSet."""
    groups = _groups(case, pods)
    return pods.replicas // groups if groups else 0


def _groups(case: Case, pods: Pods) -> int:
    if case.kind[1] == "LeaderWorkerSet":
        return count(at(case.document, "spec", "replicas"), 1)
    path = pods.template.path[len(case.base) :]
    if path[:2] != ("spec", "replicatedJobs"):  # somebody has said where a template stands
        return 0
    return count(at(find(case.document, path[:3]), "replicas"), 1)


def kueue_levels(case: Case, *, preferred: bool = False) -> Iterator[Level]:
    """Yield what annotations of templates ask Kueue for (apis/kueue/v1beta2/topology_types.go).

    A pod set is a template's pods, of a LeaderWorkerSet those of one group.
    """
    if case.kind[1] in _SINGLE:
        return
    for pods in case.pods:
        said = mapping_at(pods.template.own, "metadata", "annotations")
        members = _of_one_group(case, pods) if case.kind[1] == "LeaderWorkerSet" else pods.replicas
        for which in ("required", "preferred") if preferred else ("required",):
            name = f"{_KUEUE}-{which}-topology"
            if key := text(said.get(name)):
                yield _annotated(pods, name, key, members)
        sliced, size = f"{_KUEUE}-slice-required-topology", text(said.get(f"{_KUEUE}-slice-size"))
        if (key := text(said.get(sliced))) and size.isdecimal() and len(size) < len(str(2**31)):
            yield _annotated(pods, sliced, key, int(size))


def _annotated(pods: Pods, name: str, key: str, members: int) -> Level:
    return Level(pods=pods, key=key, members=members, steps=("metadata", "annotations", name))


def native_levels(case: Case) -> Iterator[Level]:
    """Yield the constraints of a Job's own scheduling (KEP-5732, the gate WorkloadWithJob)."""
    if case.kind != ("batch", "Job"):
        return
    steps = ("spec", "scheduling", "schedulingConstraints", "topology")
    for pods in case.pods:
        for index, each in enumerate(_list(at(case.document, *steps))):
            if key := text_at(each, "key"):
                yield Level(pods=pods, key=key, members=pods.replicas, steps=(*steps, index, "key"), case=case)


def affinity_levels(case: Case, *, preferred: bool = False) -> Iterator[Level]:
    """Yield the pod affinity of pods to their own kind, of the final pods: what a policy requires is there, too."""
    for pods in case.pods:
        for steps, term in _terms(pods.pod, preferred=preferred):
            if _is_to_itself(term, pods, case):
                key = text(term.get("topologyKey"))
                yield Level(pods=pods, key=key, members=pods.replicas, steps=(*steps, "topologyKey"))


def _terms(pod: dict[str, Any], *, preferred: bool) -> Iterator[tuple[Path, dict[str, Any]]]:
    base = ("spec", "affinity", "podAffinity")
    for index, term in enumerate(_list(at(pod, *base, _REQUIRED))):
        yield (*base, _REQUIRED, index), term
    for index, each in enumerate(_list(at(pod, *base, _PREFERRED)) if preferred else ()):
        if isinstance(term := at(each, "podAffinityTerm"), dict):
            yield (*base, _PREFERRED, index, "podAffinityTerm"), term


def _is_to_itself(term: dict[str, Any], pods: Pods, case: Case) -> bool:
    """Tell whether a term selects all pods that have it: with label keys it is a part that nobody knows."""
    if term.get("matchLabelKeys") or term.get("mismatchLabelKeys") or term.get("namespaceSelector") is not None:
        return False
    if (named := term.get("namespaces")) and case.namespace not in named:
        return False
    labels = mapping_at(pods.pod, "metadata", "labels")
    return label_selector_matches(term.get("labelSelector"), labels)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []

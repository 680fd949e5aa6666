"""Gangs: membership in the words of whoever schedules the pod.

No group is made here: a pod that joins one which is not there yet says what it has to be, and waits for it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..errors import EvaluationError
from ..kube.patch import Draft, Path
from ..topology.pod_groups import GroupKey
from ..wellknown import COLOCATED_LABEL, GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from ..workload.systems import JOINED, NATIVE, PLAIN
from . import leaf
from .change import Change, Skipped

SCHEDULING_GROUP = ("spec", "schedulingGroup")
_LABEL = ("metadata", "labels", GANG_LABEL)
_SIZE = ("metadata", "annotations", GANG_SIZE_ANNOTATION)
_ACCELERATED = ("metadata", "annotations", GANG_ACCELERATED_ANNOTATION)
REFERENCES: Mapping[str, tuple[str, ...]] = {
    NATIVE: (*SCHEDULING_GROUP, "podGroupName"),
    "coscheduling": ("metadata", "labels", "scheduling.x-k8s.io/pod-group"),
    "koordinator": ("metadata", "labels", "pod-group.scheduling.sigs.k8s.io"),
}
"""Where a pod names its PodGroup, by the system that has it (``workload.systems``)."""
# Koordinator's own ways of naming a gang without a PodGroup (its apis/extension/coscheduling.go).
_GROUPED = (
    *REFERENCES.values(),
    ("spec", "workloadRef"),  # what schedulingGroup was in 1.35 (kubernetes/api core/v1/types.go WorkloadReference)
    ("metadata", "labels", "pod-group.scheduling.sigs.k8s.io/name"),
    ("metadata", "annotations", "gang.scheduling.koordinator.sh/name"),
)
MEMBERSHIP: Mapping[str, Path] = {
    "label": _LABEL,
    "size": _SIZE,
    "accelerated": _ACCELERATED,
    "schedulingGroup": REFERENCES[NATIVE],
    "coscheduling": REFERENCES["coscheduling"],
    "koordinator": REFERENCES["koordinator"],
}
"""The fields that a membership may write, by the record's words for them."""
_WORDS: Mapping[Path, str] = {path: word for word, path in MEMBERSHIP.items()}
REQUIRED_AFFINITY = ("spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
VISITS = (SCHEDULING_GROUP, _LABEL, _SIZE, _ACCELERATED, *_GROUPED[1:], REQUIRED_AFFINITY)
"""What a membership reads and writes, whatever a policy says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangFacts:
    """What is known of a pod's gang, and of the groups that it may join."""

    name: str = ""
    size: int = 0
    apart: int = 0
    """How many of ``size`` ask for accelerators, where it is known that not all do; else 0."""
    is_accelerated: bool = True
    """Whether the pod itself asks for some."""
    system: str = PLAIN
    """Who places the pod's group."""
    index: int = -1
    """The pod's number within its role; -1: unknown."""
    role: str = ""
    namespace: str = ""
    native: frozenset[str] = frozenset()
    """Names of the native PodGroups in the namespace."""
    groups: Collection[GroupKey] = field(default=frozenset())
    """PodGroups of all systems."""
    by_role: bool = False
    """Whether an owner says what its roles ask for, be it known or to be looked up."""
    minimum: int = 0
    """How many pods the native PodGroup that is called as the gang wants; 0: there is none, or it does not say."""
    served: frozenset[str] = frozenset()
    """API groups whose PodGroups the cluster serves."""
    staged: str = ""
    """The field by which some members are made only when others run; empty: none is known that says so."""
    sized_by_owner: str = ""
    """The gang's name where its size is an owner's to say, whom whoever makes the group looks up; else empty."""

    def group_of(self, name: str) -> str:
        """Return the system that has a PodGroup of that name in the namespace; empty: none has."""
        if name in self.native:
            return NATIVE
        own = (system for system, row in JOINED.items() if (row.pod_groups, self.namespace, name) in self.groups)
        return next(own, "")


NOTHING_KNOWN: Final = GangFacts()


def join(draft: Draft, name: object, size: object, system: object, known: GangFacts) -> Change | Skipped | None:
    """Make a pod a member of gang ``name``: of the native PodGroup of that name where it exists, else by label.

    With the label goes the gang's ``size`` as an annotation, where it is known (positive): whoever sees one member
    later need not find the owner again. With a ``system`` goes a reference to its PodGroup of the same name, made or
    to be made; a group that exists keeps its gang, whatever system is asked for by now. Of a gang whose size is its
    owner's to say a member joins without it: its siblings, of whose owner is known by then, wait for it in the group.

    Where an owner, or the pod, says how many members ask for accelerators, the group is of these: one that asks for
    none keeps the label and what is said beside it. In the group it would have to be where the others are, and those
    nodes' taints keep it off; the whole group would wait with it.

    A pod that is in a group already stays there. ``spec.schedulingGroup`` is immutable once the pod exists, so it is
    only ever written on creation (KEP-4671).

    Returns:
        The change; Skipped where a group would never be made, or might not start, and the pod would wait for ever.

    Raises:
        EvaluationError: ``name`` is no label value, ``size`` no number, or ``system`` none that can be chosen.
    """
    members, wanted = leaf.number(size, "gang.size"), _system(system)
    if known.system not in (PLAIN, NATIVE, wanted) or any(map(draft.get, _GROUPED)):
        return None
    group = leaf.label_value(leaf.text(name, "gang.name"), "gang.name")
    own = group == known.name and members == known.size
    apart = known.apart if own else 0
    # Where the size is yet to be looked up, a group that is there counts those with accelerators: it is podberth's.
    enough = known.sized_by_owner == group or known.minimum <= (apart or members)
    if own and not known.is_accelerated and (apart or known.by_role) and enough:
        return _mark(draft, group, members, apart)
    if not wanted:
        return _join_native(draft, group) if group in known.native else _mark(draft, group, members, apart)
    found = known.group_of(group)
    reason = _misfit(draft, group, members) or ("" if found else _unmakeable(wanted, group, members, known))
    reason = reason or (_drawn(draft) if (found or wanted) == NATIVE else "")
    if reason:
        return Skipped("gang", reason)
    return _refer(draft, found or wanted, _mark(draft, group, members, apart), group)


def _system(system: object) -> str:
    if system in ("", None):
        return ""
    if system not in JOINED:
        raise EvaluationError(f"gang.system: got {leaf.kind(system)}, want one of {', '.join(JOINED)}")
    return str(system)


def _join_native(draft: Draft, group: str) -> Change | Skipped:
    reason = _drawn(draft)
    if reason:
        return Skipped("gang", reason)
    draft.set(SCHEDULING_GROUP, {"podGroupName": group})
    return Change("gang", {"schedulingGroup": group}, lambda: f"joins PodGroup {group}")


def draws(term: Mapping[str, Any]) -> bool:
    """Tell whether a term of pod affinity is podberth's, to draw the pod to its gang."""
    return COLOCATED_LABEL in ((term.get("labelSelector") or {}).get("matchLabels") or {})


def _drawn(draft: Draft) -> str:
    """Say that what a topology entry has written is in a native group's way; empty: it is not.

    The scheduler places a group pod by pod and takes none back: the first one goes where the others may not fit.
    """
    drawn = any(map(draws, draft.get(REQUIRED_AFFINITY) or ()))
    return "its required pod affinity can keep a native group from starting: join before topology" if drawn else ""


def _mark(draft: Draft, group: str, members: int, apart: int) -> Change | None:
    wrote: dict[str, str] = {}
    if not draft.get(_LABEL):
        draft.set(_LABEL, group)
        wrote["label"] = group
    if members > 0 and draft.get(_SIZE) is None:
        draft.set(_SIZE, str(members))
        wrote["size"] = str(members)
    if apart and draft.get(_ACCELERATED) is None:
        draft.set(_ACCELERATED, str(apart))
        wrote["accelerated"] = str(apart)
    return Change("gang", wrote, lambda: f"member of gang {group}") if wrote else None


def _misfit(draft: Draft, group: str, members: int) -> str:
    """Say why what the pod says of its gang cannot be said of the group; empty: it can."""
    named, sized = draft.get(_LABEL), draft.get(_SIZE)
    if named and named != group:
        return f"the pod's label {GANG_LABEL} says {named}, the policy {group}"
    if sized is not None and members > 0 and sized != str(members):
        return f"the pod's annotation {GANG_SIZE_ANNOTATION} says {leaf.kind(sized)}, the policy {members}"
    return ""


def _unmakeable(system: str, group: str, members: int, known: GangFacts) -> str:
    """Say why nobody can make the PodGroup, or make it for nothing; empty: somebody can."""
    if known.staged and members != 1:
        return f"its members start in stages ({known.staged}): a group of all would wait for ever"
    if JOINED[system].pod_groups not in known.served:
        return f"no {system} group: PodGroups of {JOINED[system].pod_groups} are not known to be served"
    if members <= 0 and known.sized_by_owner != group:
        return f"no {system} group: the gang's size is unknown; say {GANG_SIZE_ANNOTATION}"
    if not leaf.is_object_name(group):
        return f"no {system} group: {group} is no object's name"
    return ""


def _refer(draft: Draft, system: str, marked: Change | None, group: str) -> Change:
    path = REFERENCES[system]
    draft.set(path, group)
    wrote = {**(marked.wrote if marked else {}), _WORDS[path]: group}
    return Change("gang", wrote, lambda: f"joins {system} PodGroup {group}")


def is_made_of_members(draft: Draft, known: GangFacts) -> bool:
    """Tell whether the pod is in a native PodGroup that is made of what its members say, be it there or not.

    One that is there may be on its way out, its owner deleted: who starts anew under the name needs the next.
    """
    group = draft.get(REFERENCES[NATIVE])
    sized = draft.get(_SIZE) is not None or known.sized_by_owner == group
    return bool(group) and draft.get(_LABEL) == group and sized

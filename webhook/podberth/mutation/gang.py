"""Gangs: membership in the words of whoever schedules the pod; for plain pods, affinity to the gang's own members.

No group is made here: a pod that joins one which is not there yet says what it has to be, and waits for it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ..errors import EvaluationError
from ..kube.patch import Draft, Path
from ..topology.pod_groups import GroupKey
from ..wellknown import (
    COLOCATED_LABEL,
    GANG_LABEL,
    GANG_LEVEL_ANNOTATION,
    GANG_LEVEL_MODE_ANNOTATION,
    GANG_SIZE_ANNOTATION,
    GANG_SLICE_LABEL,
)
from ..workload.systems import JOINED, NATIVE, PLAIN
from . import leaf
from .change import Change, Skipped

SCHEDULING_GROUP = ("spec", "schedulingGroup")
_LABEL = ("metadata", "labels", GANG_LABEL)
_SIZE = ("metadata", "annotations", GANG_SIZE_ANNOTATION)
LEVEL = ("metadata", "annotations", GANG_LEVEL_ANNOTATION)
_LEVEL_MODE = ("metadata", "annotations", GANG_LEVEL_MODE_ANNOTATION)
COLOCATED = ("metadata", "labels", COLOCATED_LABEL)
_SLICE = ("metadata", "labels", GANG_SLICE_LABEL)
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
    "schedulingGroup": REFERENCES[NATIVE],
    "coscheduling": REFERENCES["coscheduling"],
    "koordinator": REFERENCES["koordinator"],
}
"""The fields that a membership may write, by the record's words for them."""
_WORDS: Mapping[Path, str] = {path: word for word, path in MEMBERSHIP.items()}
POD_AFFINITY = ("spec", "affinity", "podAffinity")
REQUIRED = (*POD_AFFINITY, "requiredDuringSchedulingIgnoredDuringExecution")
PREFERRED = (*POD_AFFINITY, "preferredDuringSchedulingIgnoredDuringExecution")
APART = ("spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
# Their controllers' webhooks write pod affinity on a domain of their own, some after us.
EXCLUSIVE_TOPOLOGY = (
    "alpha.jobset.sigs.k8s.io/exclusive-topology",  # kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go
    "leaderworkerset.sigs.k8s.io/exclusive-topology",  # kubernetes-sigs/lws api/leaderworkerset/v1
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
)
_EXCLUSIVE = tuple(("metadata", "annotations", name) for name in EXCLUSIVE_TOPOLOGY)
VISITS = (
    SCHEDULING_GROUP,
    _LABEL,
    _SIZE,
    LEVEL,
    _LEVEL_MODE,
    COLOCATED,
    _SLICE,
    *_GROUPED[1:],
    *_EXCLUSIVE,
    ("spec", "affinity"),
)
"""What the builders read and write, whatever a policy says."""
# The largest weight there is: keeping a gang together outranks every other preference of ours.
WEIGHT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class GangFacts:
    """What is known of a pod's gang, and of the groups that it may join."""

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
        keys = {system: (row.pod_groups, self.namespace, name) for system, row in JOINED.items()}
        return next((system for system, key in keys.items() if key in self.groups), "")


NOTHING_KNOWN: Final = GangFacts()


# ---- membership -----------------------------------------------------------------------------------------------------


def join(draft: Draft, name: object, size: object, system: object, known: GangFacts) -> Change | Skipped | None:
    """Make a pod a member of gang ``name``: of the native PodGroup of that name where it exists, else by label.

    With the label goes the gang's ``size`` as an annotation, where it is known (positive): whoever sees one member
    later need not find the owner again. With a ``system`` goes a reference to its PodGroup of the same name, made or
    to be made; a group that exists keeps its gang, whatever system is asked for by now. Of a gang whose size is its
    owner's to say a member joins without it: its siblings, of whose owner is known by then, wait for it in the group.

    A pod that is in a group already stays there. ``spec.schedulingGroup`` is immutable once the pod exists, so it is
    only ever written on creation (KEP-4671).

    Returns:
        The change; Skipped where a group would never be made, and the pod would wait for it for ever.

    Raises:
        EvaluationError: ``name`` is no label value, ``size`` no number, or ``system`` none that can be chosen.
    """
    members, wanted = leaf.number(size, "gang.size"), _system(system)
    if known.system not in (PLAIN, NATIVE, wanted) or any(map(draft.get, _GROUPED)):
        return None
    group = leaf.label_value(leaf.text(name, "gang.name"), "gang.name")
    if not wanted:
        return _join_native(draft, group) if group in known.native else _mark(draft, group, members)
    found = known.group_of(group)
    reason = _misfit(draft, group, members) or ("" if found else _unmakeable(wanted, group, members, known))
    return Skipped("gang", reason) if reason else _refer(draft, found or wanted, group, members)


def _system(system: object) -> str:
    if system in ("", None):
        return ""
    if system not in JOINED:
        raise EvaluationError(f"gang.system: got {leaf.kind(system)}, want one of {', '.join(JOINED)}")
    return str(system)


def _join_native(draft: Draft, group: str) -> Change:
    draft.set(SCHEDULING_GROUP, {"podGroupName": group})
    return Change("gang", {"schedulingGroup": group}, lambda: f"joins PodGroup {group}")


def _mark(draft: Draft, group: str, members: int) -> Change | None:
    wrote: dict[str, str] = {}
    if not draft.get(_LABEL):
        draft.set(_LABEL, group)
        wrote["label"] = group
    if members > 0 and draft.get(_SIZE) is None:
        draft.set(_SIZE, str(members))
        wrote["size"] = str(members)
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


def _refer(draft: Draft, system: str, group: str, members: int) -> Change:
    marked = _mark(draft, group, members)
    path = REFERENCES[system]
    draft.set(path, group)
    wrote = {**(marked.wrote if marked else {}), _WORDS[path]: group}
    return Change("gang", wrote, lambda: f"joins {system} PodGroup {group}")


def is_made_of_members(draft: Draft, known: GangFacts) -> bool:
    """Tell whether the pod is in a native PodGroup that is made of what its members say, be it there or not.

    One that is there may be on its way out, its owner deleted: who starts anew under the name needs the next.
    """
    group = draft.get(REFERENCES[NATIVE]) if draft.get(SCHEDULING_GROUP) else None
    sized = draft.get(_SIZE) is not None or known.sized_by_owner == group
    return bool(group) and draft.get(_LABEL) == group and sized


# ---- topology -------------------------------------------------------------------------------------------------------


def colocate(
    draft: Draft, level: object, mode: Literal["required", "preferred"], every: object, known: GangFacts
) -> Change | Skipped | None:
    """Attract the members of a plain gang to one domain of ``level``, a node label key; an empty level does nothing.

    The term selects a label of its own that is written with it, so only members that are attracted attract: a launcher
    on some CPU node carries the gang's label too. The pod matches its own term, which is what lets the scheduler place
    the first member of a required term at all (kube-scheduler, InterPodAffinity: a pod that matches its own affinity
    where nobody else does, passes).

    With ``every`` n members of a role, in order of their numbers, make a slice, the last one what is left: a term of
    its own attracts these. It has the slice's label in ``matchLabelKeys``, which the API server reads from the pod on
    its creation, behind all webhooks (kubernetes pkg/registry/core/pod/strategy.go): so the spec is the same for all.

    A member of a native PodGroup that is made of its members says a required level to whoever makes it; one that is
    there already keeps what it was made of.

    Returns:
        The change; Skipped where the pod says itself what belongs together or apart, or in which slice it is.

    Raises:
        EvaluationError: ``level`` is no string, or ``every`` no number of pods.
    """
    if level in ("", None):
        return None
    key, members = leaf.text(level, "topology.level"), _number_of_members(every)
    if draft.get(SCHEDULING_GROUP):
        return _say_level(draft, key, mode, known) if members <= 1 else _no_slices(draft, known)
    system = next((system for system, path in REFERENCES.items() if draft.get(path)), "")
    reason = JOINED[system].places(slices=members > 1) if system else ""
    if not reason and (not draft.get(_LABEL) or _is_drawn(draft, slices=members > 1)):
        return None
    reason = reason or _own_placement(draft, key, mode) or _take_slice(draft, members, known)
    return Skipped("topology", reason) if reason else _attract(draft, key, mode, members)


def _attract(draft: Draft, key: str, mode: str, members: int) -> Change:
    name, slices = draft.get(_LABEL), members > 1
    draft.set(COLOCATED, name)
    term: dict[str, Any] = {"labelSelector": {"matchLabels": {COLOCATED_LABEL: name}}, "topologyKey": key}
    if slices:
        term["matchLabelKeys"] = [GANG_SLICE_LABEL]
    if mode == "required":
        draft.append(REQUIRED, term)
    else:
        draft.append(PREFERRED, {"weight": WEIGHT, "podAffinityTerm": term})
    if slices:
        wrote = {"slice": str(members), "sliceLevel": key, "sliceMode": mode}
        return Change("topology", wrote, lambda: f"every {members} of the gang {mode} in one domain of {key}")
    return Change("topology", {"level": key, "mode": mode}, lambda: f"gang {mode} in one domain of {key}")


def drawn_to(draft: Draft, *, slices: bool) -> list[str]:
    """Return the levels that pod affinity draws the pod to, with its whole gang or with its slice of it."""
    return [str(term.get("topologyKey")) for term in _terms(draft) if bool(term.get("matchLabelKeys")) == slices]


def _number_of_members(every: object) -> int:
    members = 0 if every is None else leaf.number(every, "topology.slice")
    if members < 0:
        raise EvaluationError(f"topology.slice: got {members}, want a number of pods, or 0 for the whole gang")
    return members


def _say_level(draft: Draft, key: str, mode: str, known: GangFacts) -> Change | Skipped | None:
    if not is_made_of_members(draft, known) or draft.get(LEVEL) is not None:
        return None
    if mode != "required":
        return Skipped("topology", "a native PodGroup has no preferred topology; use mode: required")
    draft.set(LEVEL, key)
    draft.set(_LEVEL_MODE, mode)
    anew = ", where its PodGroup is made anew" if draft.get(REFERENCES[NATIVE]) in known.native else ""
    return Change("topology", {"level": key, "mode": mode}, lambda: f"gang {mode} in one domain of {key}{anew}")


def _no_slices(draft: Draft, known: GangFacts) -> Skipped | None:
    if not is_made_of_members(draft, known):
        return None
    return Skipped("topology", "a native PodGroup has no field for slices")


def _terms(draft: Draft) -> list[Mapping[str, Any]]:
    preferred = [item.get("podAffinityTerm") or {} for item in draft.get(PREFERRED) or ()]
    return [*(draft.get(REQUIRED) or ()), *preferred]


def _is_ours(term: Mapping[str, Any]) -> bool:
    return COLOCATED_LABEL in ((term.get("labelSelector") or {}).get("matchLabels") or {})


def _is_drawn(draft: Draft, *, slices: bool) -> bool:
    """Tell whether the pod is drawn already: by a term of this kind, or by what only its label says."""
    if draft.get(COLOCATED) is None:
        return False
    ours = [term for term in _terms(draft) if _is_ours(term)]
    return not ours or any(bool(term.get("matchLabelKeys")) == slices for term in ours)


def _take_slice(draft: Draft, members: int, known: GangFacts) -> str:
    """Write in which slice the pod is, where it does not say so itself; return why that cannot be, or nothing."""
    if members <= 1 or draft.get(_SLICE) is not None:
        return ""
    if known.index < 0:
        return "the pod's number in its gang is unknown, and so is its slice"
    number = str(known.index // members)
    # Numbers begin anew with each role.
    slice_name = f"{known.role}-{number}" if known.role else number
    if not leaf.is_label_value(slice_name):
        return f"{slice_name} is no label value, and cannot name the pod's slice"
    draft.set(_SLICE, slice_name)
    return ""


def _own_placement(draft: Draft, key: str, mode: str) -> str:
    """Say what of the pod's own placement ours would get in the way of; empty: nothing."""
    for path in _EXCLUSIVE:
        if draft.get(path) is not None:
            return f"{path[-1]} places this pod already"
    if not all(map(_is_ours, _terms(draft))):
        return "the pod has pod affinity of its own"
    apart = {term.get("topologyKey") for term in draft.get(APART) or ()}
    if apart and (mode == "required" or key in apart):
        return "the pod has pod anti-affinity of its own"
    return ""

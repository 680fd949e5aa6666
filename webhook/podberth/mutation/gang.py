"""Gangs: membership in the words of whoever schedules the pod; for plain pods, affinity to the gang's own members."""

from collections.abc import Mapping
from typing import Literal

from ..kube.patch import Draft, Path
from ..wellknown import COLOCATED_LABEL, GANG_LABEL, GANG_SIZE_ANNOTATION
from . import leaf
from .change import Change, Skipped

SCHEDULING_GROUP = ("spec", "schedulingGroup")
_LABEL = ("metadata", "labels", GANG_LABEL)
_SIZE = ("metadata", "annotations", GANG_SIZE_ANNOTATION)
COLOCATED = ("metadata", "labels", COLOCATED_LABEL)
MEMBERSHIP: Mapping[str, Path] = {
    "label": _LABEL,
    "size": _SIZE,
    "schedulingGroup": (*SCHEDULING_GROUP, "podGroupName"),
}
"""The fields that a membership may write, by the record's words for them."""
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
VISITS = (SCHEDULING_GROUP, _LABEL, _SIZE, COLOCATED, *_EXCLUSIVE, ("spec", "affinity"))
"""What the builders read and write, whatever a policy says."""
# The largest weight there is: keeping a gang together outranks every other preference of ours.
WEIGHT = 100


def join(draft: Draft, name: object, size: object, *, pod_group_exists: bool) -> Change | None:
    """Make a plain pod a member of gang ``name``: of the native PodGroup of that name where it exists, else by label.

    With the label goes the gang's ``size`` as an annotation, where it is known (positive): whoever sees one member
    later need not find the owner again.

    A pod that is in a group already stays there. ``spec.schedulingGroup`` is immutable once the pod exists, so it is
    only ever written on creation (KEP-4671).

    Raises:
        EvaluationError: ``name`` is no label value, or ``size`` no number.
    """
    members = leaf.number(size, "gang.size")
    group = leaf.label_value(leaf.text(name, "gang.name"), "gang.name")
    if draft.get(SCHEDULING_GROUP):
        return None
    if pod_group_exists:
        draft.set(SCHEDULING_GROUP, {"podGroupName": group})
        return Change("gang", {"schedulingGroup": group}, lambda: f"joins PodGroup {group}")
    wrote: dict[str, str] = {}
    if not draft.get(_LABEL):
        draft.set(_LABEL, group)
        wrote["label"] = group
    if members > 0 and draft.get(_SIZE) is None:
        draft.set(_SIZE, str(members))
        wrote["size"] = str(members)
    return Change("gang", wrote, lambda: f"member of gang {group}") if wrote else None


def colocate(draft: Draft, level: object, mode: Literal["required", "preferred"]) -> Change | Skipped | None:
    """Attract the members of a plain gang to one domain of ``level``, a node label key; an empty level does nothing.

    The term selects a label of its own that is written with it, so only members that are attracted attract: a launcher
    on some CPU node carries the gang's label too. The pod matches its own term, which is what lets the scheduler place
    the first member of a required term at all (kube-scheduler, InterPodAffinity: a pod that matches its own affinity
    where nobody else does, passes).

    Returns:
        The change; Skipped where the pod says itself what belongs together or apart.

    Raises:
        EvaluationError: ``level`` is no string.
    """
    if level in ("", None) or draft.get(SCHEDULING_GROUP):
        return None
    key = leaf.text(level, "topology.level")
    name = draft.get(_LABEL)
    if not name or draft.get(COLOCATED) is not None:
        return None
    reason = _own_placement(draft, key, mode)
    if reason:
        return Skipped("topology", reason)
    draft.set(COLOCATED, name)
    term = {"labelSelector": {"matchLabels": {COLOCATED_LABEL: name}}, "topologyKey": key}
    if mode == "required":
        draft.append(REQUIRED, term)
    else:
        draft.append(PREFERRED, {"weight": WEIGHT, "podAffinityTerm": term})
    return Change("topology", {"level": key, "mode": mode}, lambda: f"gang {mode} in one domain of {key}")


def _own_placement(draft: Draft, key: str, mode: str) -> str:
    """Say what of the pod's own placement ours would get in the way of; empty: nothing."""
    for path in _EXCLUSIVE:
        if draft.get(path) is not None:
            return f"{path[-1]} places this pod already"
    if draft.get(REQUIRED) or draft.get(PREFERRED):
        return "the pod has pod affinity of its own"
    apart = {term.get("topologyKey") for term in draft.get(APART) or ()}
    if apart and (mode == "required" or key in apart):
        return "the pod has pod anti-affinity of its own"
    return ""

"""Gangs: membership in the words of whoever schedules the pod; for plain pods, affinity to the gang's own members."""

from typing import Any, Literal

from ..kube.patch import Draft
from ..wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
from . import leaf
from .change import Change, Skipped

SCHEDULING_GROUP = ("spec", "schedulingGroup")
_POD_AFFINITY = ("spec", "affinity", "podAffinity")
REQUIRED = (*_POD_AFFINITY, "requiredDuringSchedulingIgnoredDuringExecution")
PREFERRED = (*_POD_AFFINITY, "preferredDuringSchedulingIgnoredDuringExecution")
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
    if not (draft.get(("metadata", "labels")) or {}).get(GANG_LABEL):
        draft.set(("metadata", "labels", GANG_LABEL), group)
        wrote["label"] = group
    if members > 0 and GANG_SIZE_ANNOTATION not in (draft.get(("metadata", "annotations")) or {}):
        draft.set(("metadata", "annotations", GANG_SIZE_ANNOTATION), str(members))
        wrote["size"] = str(members)
    return Change("gang", wrote, lambda: f"member of gang {group}") if wrote else None


def colocate(draft: Draft, level: object, mode: Literal["required", "preferred"]) -> Change | Skipped | None:
    """Attract the members of a plain gang to one domain of ``level``, a node label key; an empty level does nothing.

    The term selects the gang's own label, so the pod matches its own term: that is what lets the scheduler place the
    first member of a required term at all (kube-scheduler, InterPodAffinity: a pod that matches its own affinity in
    an otherwise unmatched cluster passes).

    Returns:
        The change; Skipped where the pod has pod affinity of its own, which says already what belongs together.

    Raises:
        EvaluationError: ``level`` is no string.
    """
    if level in ("", None) or draft.get(SCHEDULING_GROUP):
        return None
    key = leaf.text(level, "topology.level")
    name = (draft.get(("metadata", "labels")) or {}).get(GANG_LABEL)
    if not name:
        return None
    term = {"labelSelector": {"matchLabels": {GANG_LABEL: name}}, "topologyKey": key}
    required, preferred = draft.get(REQUIRED) or [], draft.get(PREFERRED) or []
    if any(_same_gang(item, name) for item in [*required, *(item.get("podAffinityTerm") or {} for item in preferred)]):
        return None
    if required or preferred:
        return Skipped("topology", "the pod has pod affinity of its own")
    if mode == "required":
        draft.append(REQUIRED, term)
    else:
        draft.append(PREFERRED, {"weight": WEIGHT, "podAffinityTerm": term})
    return Change("topology", {"level": key, "mode": mode}, lambda: f"gang {name} {mode} in one domain of {key}")


def _same_gang(term: dict[str, Any], name: str) -> bool:
    labels = (term.get("labelSelector") or {}).get("matchLabels") or {}
    return bool(labels.get(GANG_LABEL) == name)

"""The mutation ``topology``: adds pod affinity that attracts the members of a plain gang to one domain of a level.

If podberth creates a native PodGroup for the gang, the group gets the level instead. The mutation ``gang`` writes the
membership in the gang and its group.
"""

from collections.abc import Mapping
from typing import Any

from ...errors import EvaluationError
from ...kube.object_names import is_label_value
from ...kube.patch import Draft
from ...kube.paths import pointer
from ...kube.selector import LabelRequirements
from ...wellknown import (
    COLOCATED_LABEL,
    GANG_LABEL,
    GANG_LEVEL_ANNOTATION,
    GANG_LEVEL_MODE_ANNOTATION,
    GANG_SLICE_LABEL,
)
from ...workload.systems import AFFINITY_KEYS, JOINED, NATIVE, SYSTEMS
from .. import leaf, membership
from ..change import Change, Proposal, Skipped
from ..concern import Concern, Present, Surroundings, is_string_map
from ..conflict import Conflict, ConflictCase, Resolution
from ..earlier import EarlierChanges
from ..membership import GangFacts

_LEVEL = ("metadata", "annotations", GANG_LEVEL_ANNOTATION)
_LEVEL_MODE = ("metadata", "annotations", GANG_LEVEL_MODE_ANNOTATION)
_COLOCATED = ("metadata", "labels", COLOCATED_LABEL)
_SLICE = ("metadata", "labels", GANG_SLICE_LABEL)
_POD_AFFINITY = ("spec", "affinity", "podAffinity")
_REQUIRED = membership.REQUIRED_AFFINITY
_PREFERRED = (*_POD_AFFINITY, "preferredDuringSchedulingIgnoredDuringExecution")
_APART = ("spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_SPREAD = ("spec", "topologySpreadConstraints")
_EXCLUSIVE = tuple(("metadata", "annotations", name) for name in AFFINITY_KEYS)
# admission.gate reads these fields of a pod that a group system places.
_ASKED = tuple(path for row in SYSTEMS for path in row.asked_at)
_PLACED = (*_EXCLUSIVE, ("spec", "affinity"), _SPREAD)
_VISITS = (*membership.VISITS, _LEVEL, _LEVEL_MODE, _COLOCATED, _SLICE, *_PLACED, *_ASKED)
# The largest weight: to keep a gang together outranks every other preference of podberth.
_WEIGHT = 100


def _build(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    """Attract the members of a plain gang to one domain of ``level``, a node label key; an empty level does nothing.

    The affinity term selects a label that this mutation writes, not the gang's label: a launcher on a CPU node also has
    the gang's label and must not attract other members. The pod matches its own term. So the scheduler can place the
    first member although the term is required (kube-scheduler, InterPodAffinity: a pod passes if it matches its own
    affinity and no other pod does).

    With a ``slice`` of n, every n members of a role, in the order of their indexes, form a slice; the last slice has
    the remaining members. A further term attracts the members of a slice to each other. The term names the slice's
    label in ``matchLabelKeys``, whose value the API server reads from the created pod, after all webhooks (kubernetes
    pkg/registry/core/pod/strategy.go). So the specs of all members are equal.

    If podberth creates the native PodGroup from its members, a required level becomes annotations, which ``podberth
    controller`` reads when it creates the group. An existing group keeps its level.

    Returns:
        The change, or Skipped with the reason. A pod with affinity of its own is skipped if the level is required; if
        the level is only preferred, the result is None.

    Raises:
        EvaluationError: ``level`` is not a string, or ``slice`` is not a number of pods.
    """
    level, mode, known = proposal.leaves["level"], proposal.leaves["mode"], surroundings.gang()
    if level in ("", None):
        return None
    key, members = leaf.text(level, "topology.level"), _number_of_members(proposal.leaves.get("slice"))
    if draft.get(membership.SCHEDULING_GROUP):
        return _say_level(draft, key, mode, members, known)
    system = next((system for system, path in membership.REFERENCES.items() if draft.get(path)), "")
    reason = JOINED[system].places() if system else ""
    if not reason and (not draft.get(membership.LABEL) or _is_drawn(draft, slices=members > 1)):
        return None
    own = "" if reason else _own_placement(draft, key, mode)
    if own and mode != "required":
        return None
    reason = reason or own or _take_slice(draft, members, known)
    return Skipped(reason) if reason else _attract(draft, key, mode, members)


def _lacks(draft: Draft) -> str:
    if draft.get(membership.LABEL) or any(map(draft.get, membership.REFERENCES.values())):
        return ""
    return f"the pod has no label {GANG_LABEL} yet, which a gang entry writes, here or in an earlier policy"


def _attract(draft: Draft, key: str, mode: str, members: int) -> Change:
    name, slices = draft.get(membership.LABEL), members > 1
    draft.set(_COLOCATED, name)
    term: dict[str, Any] = {"labelSelector": {"matchLabels": {COLOCATED_LABEL: name}}, "topologyKey": key}
    if slices:
        term["matchLabelKeys"] = [GANG_SLICE_LABEL]
    if mode == "required":
        draft.append(_REQUIRED, term)
    else:
        draft.append(_PREFERRED, {"weight": _WEIGHT, "podAffinityTerm": term})
    if slices:
        wrote = {"slice": str(members), "sliceLevel": key, "sliceMode": mode}
        return Change("topology", wrote, lambda: f"every {members} of the gang {mode} in one domain of {key}")
    return Change("topology", {"level": key, "mode": mode}, lambda: f"gang {mode} in one domain of {key}")


def _number_of_members(every: object) -> int:
    members = 0 if every is None else leaf.number(every, "topology.slice")
    if members < 0:
        raise EvaluationError(f"topology.slice: got {members}, want a number of pods, or 0 for the whole gang")
    return members


def _say_level(draft: Draft, key: str, mode: str, members: int, known: GangFacts) -> Change | Skipped | None:
    if not membership.is_made_of_members(draft, known):
        return None
    if members > 1:
        return Skipped("a native PodGroup has no field for slices")
    if draft.get(_LEVEL) is not None:
        return None
    if mode != "required":
        return Skipped("a native PodGroup has no preferred topology; use mode: required")
    draft.set(_LEVEL, key)
    draft.set(_LEVEL_MODE, mode)
    again = ", where its PodGroup is made again" if draft.get(membership.REFERENCES[NATIVE]) in known.native else ""
    return Change("topology", {"level": key, "mode": mode}, lambda: f"gang {mode} in one domain of {key}{again}")


def _terms(draft: Draft) -> list[Mapping[str, Any]]:
    preferred = [item.get("podAffinityTerm") or {} for item in draft.get(_PREFERRED) or ()]
    return [*(draft.get(_REQUIRED) or ()), *preferred]


def _is_drawn(draft: Draft, *, slices: bool) -> bool:
    """Return whether podberth already attracts the pod to members of its gang or, with ``slices``, of its slice.

    A pod with the label of this mutation, but without affinity terms of podberth, counts as attracted, too.
    """
    if draft.get(_COLOCATED) is None:
        return False
    ours = [term for term in _terms(draft) if membership.draws(term)]
    return not ours or any(bool(term.get("matchLabelKeys")) == slices for term in ours)


def _take_slice(draft: Draft, members: int, known: GangFacts) -> str:
    """Write the label with the name of the pod's slice, unless the pod has that label.

    ``members`` is the number of members of a slice; with fewer than 2, nothing is written. Return why the label cannot
    be written; empty if it can.
    """
    if members <= 1 or draft.get(_SLICE) is not None:
        return ""
    if known.gang.index < 0:
        return "the pod's number in its gang is unknown, and so is its slice"
    number = str(known.gang.index // members)
    # Indexes begin at 0 in each role, so the role is part of the slice's name.
    slice_name = f"{known.gang.role}-{number}" if known.gang.role else number
    if not is_label_value(slice_name):
        return f"{slice_name} is no label value, and cannot name the pod's slice"
    draft.set(_SLICE, slice_name)
    return ""


def _own_placement(draft: Draft, key: str, mode: str) -> str:
    """Return why the pod's own placement conflicts with the affinity term to add; empty if there is no conflict.

    The pod may have affinity, topology spread constraints, or an annotation that places it. ``key`` is the term's
    topology key, and ``mode`` is "required" or "preferred".
    """
    for path in _EXCLUSIVE:
        if draft.get(path) is not None:
            return f"{path[-1]} places this pod already"
    if not all(map(membership.draws, _terms(draft))):
        return "the pod has pod affinity of its own"
    apart = {term.get("topologyKey") for term in draft.get(_APART) or ()}
    if apart and (mode == "required" or key in apart):
        return "the pod has pod anti-affinity of its own"
    spread = _spread_over(draft)
    if spread and (mode == "required" or key in spread):
        return "the pod has topology spread constraints of its own"
    return ""


def _spread_over(draft: Draft) -> set[Any]:
    """Return the topology keys over which the scheduler has to spread the pods that are like this pod.

    A domain outside the gang's counts as well, with no pod: if all members have to be in one domain, the other members
    never fit (kube-scheduler, PodTopologySpread: of the terms of affinity, only node affinity decides which domains
    count). A constraint whose selector does not select the pod itself does not count the pod.
    """
    hard = [each for each in draft.get(_SPREAD) or () if each.get("whenUnsatisfiable") != "ScheduleAnyway"]
    labels = (hard and draft.get(("metadata", "labels"))) or {}
    return {each.get("topologyKey") for each in hard if LabelRequirements(each.get("labelSelector")).match(labels)}


def _holds(there: Present, wrote: dict[str, Any]) -> bool:
    if not {"level", "sliceLevel"}.intersection(wrote):
        return False
    said = [*_levels(there.draft, slices=False), there.draft.get(_LEVEL)]
    whole = "level" not in wrote or wrote["level"] in said
    return whole and ("sliceLevel" not in wrote or wrote["sliceLevel"] in _levels(there.draft, slices=True))


def _levels(draft: Draft, *, slices: bool) -> list[str]:
    """Return the topology keys of the pod's affinity terms for the whole gang or, with ``slices``, for the slice."""
    return [str(term.get("topologyKey")) for term in _terms(draft) if bool(term.get("matchLabelKeys")) == slices]


def _conflicts(case: ConflictCase) -> Resolution:
    """Return (the conflicts with earlier policies, the proposal; None if the proposal must not be applied).

    A policy conflicts if it wrote another level, or the same level with another ``mode`` ("required" or "preferred"). A
    preferred level that an earlier policy requires is no conflict. Levels of slices are compared only with levels of
    slices. A policy also conflicts if it wrote the pod's affinity by ``jsonPatch`` or ``applyConfiguration``.
    """
    level, mode, every = (case.proposal.leaves.get(each) for each in ("level", "mode", "slice"))
    slices = isinstance(every, int) and every > 1
    wanted = {"sliceLevel": level, "slice": str(every)} if slices else {"level": level}
    member, drawn = case.draft.get(membership.LABEL), case.draft.get(_COLOCATED)
    if level in ("", None) or not member:
        return [], case.proposal
    for name, concerns in case.others.record.items():
        wrote = concerns.get("topology")
        if wrote is not None and not wanted.keys() <= wrote.keys():
            continue
        if wrote is not None:
            held = wrote.get("sliceMode" if slices else "mode") in (mode, "required")
            said = held and wanted.items() <= wrote.items()
            return ([], case.proposal) if said else ([Conflict(pointer(_POD_AFFINITY), name)], None)
        affinity_there = case.draft.get(_REQUIRED) or case.draft.get(_PREFERRED)
        if affinity_there and not drawn and case.others.operations(name, _POD_AFFINITY):
            return [Conflict(pointer(_POD_AFFINITY), name)], None
    return case.fields({_COLOCATED: member}), case.proposal


def _joins(earlier: EarlierChanges, policy: str) -> bool:
    """Return whether ``policy`` made the pod a member of a gang.

    A policy does so by the mutation ``gang``, or by writing the label ``podberth.io/gang``.
    """
    wrote = earlier.record[policy]
    named = "gang" in wrote or GANG_LABEL in wrote.get("labels", ())
    return named or bool(earlier.operations(policy, membership.LABEL))


CONCERN = Concern(
    name="topology",
    build=_build,
    visits=lambda _: _VISITS,
    reads=lambda leaves: (("gang", "index"), ("gang", "role")) if "slice" in leaves else (),
    is_valid=is_string_map,
    holds=_holds,
    wrote_at=lambda _wrote, path, _value: path == _COLOCATED,
    conflicts=_conflicts,
    decides="placement",
    awaits=_joins,
    lacks=_lacks,
    in_group=membership.is_made_of_members,
    forecast=True,
)

"""The mutation ``gang``: writes the pod's membership in a gang into the fields that the group system reads.

This module creates no PodGroup. A pod may join a PodGroup that does not exist yet: the pod waits for the group, which
``podberth controller`` creates from the labels and annotations of the group's pods.
"""

from collections.abc import Mapping
from typing import Any

from ...errors import EvaluationError
from ...kube.object_names import is_subdomain
from ...kube.patch import Draft
from ...kube.paths import Path, pointer
from ...wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
from ...workload.systems import JOINED, NATIVE, PLAIN
from .. import leaf, membership
from ..change import Change, Proposal, Skipped
from ..concern import Concern, Present, Surroundings, is_string_map
from ..conflict import Conflict, ConflictCase, Resolution
from ..membership import MEMBERSHIP, GangFacts

_NAME = ("gang", "name")
_WORDS: Mapping[Path, str] = {path: word for word, path in MEMBERSHIP.items()}


def _build(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    """Make a pod a member of the gang ``name``.

    If a native PodGroup called ``name`` exists, the pod joins the PodGroup, whatever system the policy names. Otherwise
    the pod gets the label ``podberth.io/gang`` and, with a ``system``, a reference to that system's PodGroup called
    ``name``, which need not exist yet. A known ``size`` is written into an annotation, because the size can then be
    read from any member, without the owner. If the size is not known yet, the pod still joins, without the annotation:
    the other members of the gang would wait for ever for a pod outside the gang.

    If only some members are known to ask for accelerators, only these members join the group. Members without
    accelerators get just the label and the annotations. In the group, they would need the nodes of the other members,
    whose taints they do not tolerate, and the whole group would never start.

    A pod that is already in a group stays in that group. ``spec.schedulingGroup`` is immutable once the pod exists, so
    the field is written on creation only (KEP-4671).

    Returns:
        The change. None if the pod is in a group already, or belongs to another group system than ``system``. Skipped
        if the pod would wait for ever, because the group would never be made or might never start.

    Raises:
        EvaluationError: ``name`` is not a label value, ``size`` is not a number, or ``system`` is not a system that a
            policy can choose.
    """
    leaves, known = proposal.leaves, surroundings.gang()
    members, wanted = leaf.number(leaves.get("size", 0), "gang.size"), _system(leaves.get("system"))
    alone, own_systems = known.gang.alone, (PLAIN, NATIVE, wanted)
    if (known.gang.system not in own_systems and not alone) or any(map(draft.get, membership.GROUPED)):
        return None
    group = leaf.label_value(leaf.text(leaves["name"], "gang.name"), "gang.name")
    own = group == known.gang.name and members == known.gang.size
    apart = (known.gang.apart or 0) if own else 0
    # If the controller looks up the size, it made an existing group itself, of the members with accelerators alone.
    enough = known.sized_by_owner == group or known.minimum <= (apart or members)
    if own and not known.is_accelerated and (apart or known.gang.by_role) and enough:
        return _mark(draft, group, members, apart)
    if alone:
        # The pod's scheduler knows no group of another system.
        return None if wanted else _mark(draft, group, members, apart)
    if not wanted:
        return _join_native(draft, group) if group in known.native else _mark(draft, group, members, apart)
    found = known.group_of(group)
    reason = _misfit(draft, group, members) or ("" if found else _unmakeable(wanted, group, members, known))
    reason = reason or (_drawn(draft) if (found or wanted) == NATIVE else "")
    if reason:
        return Skipped(reason)
    system, marked = found or wanted, _mark(draft, group, members, apart)
    path = membership.REFERENCES[system]
    draft.set(path, group)
    wrote = {**(marked.wrote if marked else {}), _WORDS[path]: group}
    return Change("gang", wrote, lambda: f"joins {system} PodGroup {group}")


def _system(system: object) -> str:
    if system in ("", None):
        return ""
    if system not in JOINED:
        raise EvaluationError(f"gang.system: got {leaf.kind(system)}, want one of {', '.join(JOINED)}")
    return str(system)


def _join_native(draft: Draft, group: str) -> Change | Skipped:
    reason = _drawn(draft)
    if reason:
        return Skipped(reason)
    draft.set(membership.SCHEDULING_GROUP, {"podGroupName": group})
    return Change("gang", {"schedulingGroup": group}, lambda: f"joins PodGroup {group}")


def _drawn(draft: Draft) -> str:
    """Return a message if podberth gave the pod required pod affinity, which can block a native group; else empty.

    The scheduler places a group pod by pod and does not move a placed pod. So the first pod may be placed in a domain
    in which the group's other pods do not fit.
    """
    drawn = any(map(membership.draws, draft.get(membership.REQUIRED_AFFINITY) or ()))
    return "its required pod affinity can keep a native group from starting: join before topology" if drawn else ""


def _mark(draft: Draft, group: str, members: int, apart: int) -> Change | None:
    wrote: dict[str, str] = {}
    if not draft.get(membership.LABEL):
        draft.set(membership.LABEL, group)
        wrote["label"] = group
    if members > 0 and draft.get(membership.SIZE) is None:
        draft.set(membership.SIZE, str(members))
        wrote["size"] = str(members)
    if apart and draft.get(membership.ACCELERATED) is None:
        draft.set(membership.ACCELERATED, str(apart))
        wrote["accelerated"] = str(apart)
    return Change("gang", wrote, lambda: f"member of gang {group}") if wrote else None


def _misfit(draft: Draft, group: str, members: int) -> str:
    """Return a message if the pod already states another gang name or gang size than the policy; else an empty text."""
    named, sized = draft.get(membership.LABEL), draft.get(membership.SIZE)
    if named and named != group:
        return f"the pod's label {GANG_LABEL} says {named}, the policy {group}"
    if sized is not None and members > 0 and sized != str(members):
        return f"the pod's annotation {GANG_SIZE_ANNOTATION} says {leaf.kind(sized)}, the policy {members}"
    return ""


def _unmakeable(system: str, group: str, members: int, known: GangFacts) -> str:
    """Return the reason why the gang's PodGroup cannot be created, or would never start.

    Empty if there is no reason.
    """
    if known.gang.staged and members != 1:
        return f"its members start in stages ({known.gang.staged}): a group of all would wait for ever"
    if JOINED[system].pod_groups not in known.served:
        return f"no {system} group: PodGroups of {JOINED[system].pod_groups} are not known to be served"
    if members <= 0 and known.sized_by_owner != group:
        return f"no {system} group: the gang's size is unknown; say {GANG_SIZE_ANNOTATION}"
    if not is_subdomain(group):
        return f"no {system} group: {group} is no object's name"
    return ""


def _holds(there: Present, wrote: dict[str, Any]) -> bool:
    return all(part in MEMBERSHIP and there.draft.get(MEMBERSHIP[part]) == wrote[part] for part in wrote)


def _conflicts(case: ConflictCase) -> Resolution:
    """Return (conflicts with earlier policies over the gang's system, name and size; the proposal to write).

    If the system or the name conflicts, the proposal is None: the policy writes nothing. If only the size conflicts,
    the proposal is unchanged.
    """
    name, size, system = (case.proposal.leaves.get(each) for each in ("name", "size", "system"))
    joined = {path: case.draft.get(path) for each, path in membership.REFERENCES.items() if system and each != system}
    others = ((path, case.others.writer(path, found)) for path, found in joined.items() if found)
    first = next(((path, other) for path, other in others if other is not None), None)
    if first is not None:
        return [Conflict(pointer(first[0]), first[1])], None
    grouped = case.draft.get(membership.SCHEDULING_GROUP)
    named = case.fields({MEMBERSHIP["schedulingGroup" if grouped else "label"]: name})
    if named:
        return named, None
    # An existing group has a size of its own. A group that podberth makes gets the size that its members state.
    said = not grouped or any("size" in wrote for _, wrote in case.others.by("gang"))
    sized = said and isinstance(size, int) and size > 0
    return case.fields({MEMBERSHIP["size"]: str(size)} if sized else {}), case.proposal


CONCERN = Concern(
    name="gang",
    build=_build,
    # A group need not have the gang's name, so the pod may join any group of the namespace.
    visits=lambda leaves: None if "system" in leaves and leaves["name"] != _NAME else membership.VISITS,
    reads=lambda _: (_NAME, ("gang", "size"), ("gang", "accelerated"), ("gpu", "kind")),
    is_valid=is_string_map,
    holds=_holds,
    wrote_at=lambda wrote, path, value: path in _WORDS and wrote.get(_WORDS[path]) == value,
    conflicts=_conflicts,
    decides="grouping",
    # A group system may schedule a pod that is in no group yet: its label names a native PodGroup, or it has the
    # system's scheduler. Or the system starts the pod by itself.
    in_group=lambda _, facts: facts.gang.system in JOINED or facts.gang.alone,
)

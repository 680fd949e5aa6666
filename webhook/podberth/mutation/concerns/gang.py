"""Gangs: membership in the fields that the pod's group system reads.

No group is made here. A pod that joins a group which does not exist yet has the fields from which it is made, and waits
for it.
"""

from collections.abc import Mapping
from typing import Any

from ...errors import EvaluationError
from ...kube.names import is_subdomain
from ...kube.patch import Draft, Path
from ...kube.paths import pointer
from ...wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
from ...workload.systems import JOINED, NATIVE, PLAIN
from .. import leaf, membership
from ..change import Change, Proposal, Skipped
from ..concern import Concern, Present, Surroundings, is_string_map
from ..conflict import Answer, Case, Conflict
from ..membership import MEMBERSHIP, GangFacts

_NAME = ("gang", "name")
_WORDS: Mapping[Path, str] = {path: word for word, path in MEMBERSHIP.items()}


def _build(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    """Make a pod a member of gang ``name``: of the native PodGroup of that name if it exists, else by label.

    With the label goes the gang's ``size`` as an annotation, if it is known (positive), so that nobody who sees one
    member later has to find the owner again. With a ``system`` goes a reference to its PodGroup of the same name, made
    or to be made; a group that exists keeps its gang, whatever system the policy names by now. If the owner says the
    size, and is not known yet, a member joins without it: its siblings wait for it in the group.

    If an owner, or the pod, says how many members ask for accelerators, the group is of these: a member that asks for
    none keeps the label and the annotations. In the group it would have to be where the others are, and those nodes'
    taints repel it; the whole group would wait with it.

    A pod that is in a group already stays there. ``spec.schedulingGroup`` is immutable once the pod exists, so it is
    only ever written on creation (KEP-4671).

    Returns:
        The change; Skipped if a group would never be made, or might not start, and the pod would wait for ever.

    Raises:
        EvaluationError: ``name`` is no label value, ``size`` no number, or ``system`` none that can be chosen.
    """
    leaves, known = proposal.leaves, surroundings.gang()
    members, wanted = leaf.number(leaves.get("size", 0), "gang.size"), _system(leaves.get("system"))
    if known.system not in (PLAIN, NATIVE, wanted) or any(map(draft.get, membership.GROUPED)):
        return None
    group = leaf.label_value(leaf.text(leaves["name"], "gang.name"), "gang.name")
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
    draft.set(membership.SCHEDULING_GROUP, {"podGroupName": group})
    return Change("gang", {"schedulingGroup": group}, lambda: f"joins PodGroup {group}")


def _drawn(draft: Draft) -> str:
    """Return a reason if the pod affinity of a topology entry can keep a native group from starting; else empty.

    The scheduler places a group pod by pod and takes none back: the first one goes where the others may not fit.
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
    """Return the reason if the pod's own name or size of the gang is not the group's; else empty."""
    named, sized = draft.get(membership.LABEL), draft.get(membership.SIZE)
    if named and named != group:
        return f"the pod's label {GANG_LABEL} says {named}, the policy {group}"
    if sized is not None and members > 0 and sized != str(members):
        return f"the pod's annotation {GANG_SIZE_ANNOTATION} says {leaf.kind(sized)}, the policy {members}"
    return ""


def _unmakeable(system: str, group: str, members: int, known: GangFacts) -> str:
    """Return the reason if nobody can make the PodGroup, or if it would wait for ever; else empty."""
    if known.staged and members != 1:
        return f"its members start in stages ({known.staged}): a group of all would wait for ever"
    if JOINED[system].pod_groups not in known.served:
        return f"no {system} group: PodGroups of {JOINED[system].pod_groups} are not known to be served"
    if members <= 0 and known.sized_by_owner != group:
        return f"no {system} group: the gang's size is unknown; say {GANG_SIZE_ANNOTATION}"
    if not is_subdomain(group):
        return f"no {system} group: {group} is no object's name"
    return ""


def _refer(draft: Draft, system: str, marked: Change | None, group: str) -> Change:
    path = membership.REFERENCES[system]
    draft.set(path, group)
    wrote = {**(marked.wrote if marked else {}), _WORDS[path]: group}
    return Change("gang", wrote, lambda: f"joins {system} PodGroup {group}")


def _holds(there: Present, wrote: dict[str, Any]) -> bool:
    return all(part in MEMBERSHIP and there.draft.get(MEMBERSHIP[part]) == wrote[part] for part in wrote)


def _conflicts(case: Case) -> Answer:
    """Compare system, name and size. If the pod does not join the gang, its size is not written either."""
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
    # A group that is there has a size of its own. One that podberth makes has the size that its members say.
    said = not grouped or any("size" in wrote for _, wrote in case.others.by("gang"))
    sized = said and isinstance(size, int) and size > 0
    return case.fields({MEMBERSHIP["size"]: str(size)} if sized else {}), case.proposal


CONCERN = Concern(
    name="gang",
    build=_build,
    # Any group may have another name than the gang's.
    visits=lambda leaves: None if "system" in leaves and leaves["name"] != _NAME else membership.VISITS,
    reads=lambda _: (_NAME, ("gang", "size"), ("gang", "accelerated"), ("gpu", "kind")),
    is_claim=is_string_map,
    holds=_holds,
    wrote_at=lambda wrote, path, value: path in _WORDS and wrote.get(_WORDS[path]) == value,
    conflicts=_conflicts,
    decides="grouping",
    # A pod whose label names a native PodGroup is in its hands already, and still has to join it; one that asks for a
    # system's scheduler may still be of no group of it.
    in_group=lambda _, facts: facts.system in JOINED,
)

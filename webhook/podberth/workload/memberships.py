"""The ways of belonging to a gang, in the order in which they are asked, and what a kind's notes say beyond its own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..kinds.dossier import KindNote
from ..kinds.dossiers import DOSSIERS
from ..kinds.members import Member, Membership, Subject
from .stages import OF_ROLES, stages_of

OPERATORS: Final[tuple[Membership, ...]] = tuple(each for row in DOSSIERS for each in row.memberships)
"""Those of operators' pods."""
GROUPS: Final[tuple[Membership, ...]] = tuple(each for row in DOSSIERS for each in row.groups)
"""Groups that stand on the pod by name: made by hand, or by an operator for the scheduler that places them."""
LAST: Final[tuple[Membership, ...]] = tuple(each for row in DOSSIERS for each in row.last_memberships)
"""Those that a named group comes before: an Indexed Job, whose pods may have been put into a larger group by hand, and
a StatefulSet that only says how large it is."""
MEMBERSHIPS: Final[tuple[Membership, ...]] = (*OPERATORS, *GROUPS, *LAST)
"""The operator's own word comes first: it tells one object from another of the same name, and its size."""
_NOTES: Final[tuple[KindNote, ...]] = tuple(each for row in DOSSIERS for each in row.notes)
NOTES: Final[Mapping[str, tuple[KindNote, ...]]] = {
    key: tuple(each for each in _NOTES if each.key == key) for key in dict.fromkeys(each.key for each in _NOTES)
}
"""Notes on kinds, by the key that their pods have; those under the empty key are of pods that are each by itself."""


def notes_of(membership: Membership) -> tuple[KindNote, ...]:
    """Return the notes on the kinds whose pods have the membership's key; none where pods of any kind may have it."""
    key = membership.label or membership.annotation
    return NOTES[key] if key in NOTES and key else ()


def member_of(pod: Subject) -> Member | None:
    """Return the pod's place by the first membership that knows it, or None."""
    for row in MEMBERSHIPS:
        if row.concerns(pod):
            found = row.member(pod)
            if found is not None:
                return _with_owners(found, row, pod)
    return None


def _with_owners(member: Member, row: Membership, pod: Subject) -> Member:
    """Return a member with what its owners alone say, or would say."""
    staged = member.staged or stages_of(member.owner) or next(filter(None, map(stages_of, pod.lineage())), "")
    owners = (owner for owner in pod.lineage() if owner.get("kind") not in OF_ROLES) if staged else ()
    within = next(filter(None, map(stages_of, owners)), "")
    awaits = bool(row.sized_by) and not member.size and not any(map(pod.owner, row.sized_by))
    if not (staged or awaits):
        return member
    return replace(member, staged=staged, staged_within=within, awaits_owner=awaits, alike=row.alike)

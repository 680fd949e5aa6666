"""The memberships of all dossiers, in the order in which they are asked, and the notes on kinds of pods."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..kinds.dossier import KindNote
from ..kinds.dossiers import DOSSIERS
from ..kinds.members import Member, Membership, Subject
from .stages import OF_ROLES, stages_of

OPERATORS: Final[tuple[Membership, ...]] = tuple(each for row in DOSSIERS for each in row.memberships)
"""The memberships of operators' pods."""
GROUPS: Final[tuple[Membership, ...]] = tuple(each for row in DOSSIERS for each in row.groups)
"""The memberships of groups that a pod names. A user or an operator made the group."""
LAST: Final[tuple[Membership, ...]] = tuple(each for row in DOSSIERS for each in row.last_memberships)
"""The memberships that are asked after named groups: an Indexed Job, whose pods may be in a larger group that a user
made, and a StatefulSet, which only has a size."""
MEMBERSHIPS: Final[tuple[Membership, ...]] = (*OPERATORS, *GROUPS, *LAST)
"""All memberships. Operators come first: they state the size, and distinguish two objects of one name."""
_NOTES: Final[tuple[KindNote, ...]] = tuple(each for row in DOSSIERS for each in row.notes)
NOTES: Final[Mapping[str, tuple[KindNote, ...]]] = {
    key: tuple(each for each in _NOTES if each.key == key) for key in dict.fromkeys(each.key for each in _NOTES)
}
"""The notes on kinds by the key that their pods have. Under the empty key: kinds whose pods are in no gang."""


def notes_of(membership: Membership) -> tuple[KindNote, ...]:
    """Return the notes on the kinds whose pods have the membership's key; none if pods of any kind may have it."""
    key = membership.label or membership.annotation
    return NOTES[key] if key in NOTES and key else ()


def member_of(pod: Subject) -> Member | None:
    """Return the pod's place by the first membership that knows it, or None."""
    found = _first(pod)
    return None if found is None else _with_owners(*found, pod)


def own_member_of(pod: Subject) -> Member | None:
    """Return the pod's place if its operator states it; None if a group does: it may have pods of others, too."""
    found = _first(pod)
    return None if found is None or found[1] in GROUPS else _with_owners(*found, pod)


def _first(pod: Subject) -> tuple[Member, Membership] | None:
    for row in MEMBERSHIPS:
        if row.concerns(pod):
            found = row.member(pod)
            if found is not None:
                return found, row
    return None


def _with_owners(member: Member, row: Membership, pod: Subject) -> Member:
    """Return a member with the facts that only its owners have. An unknown owner is noted."""
    staged = member.staged or stages_of(member.owner) or next(filter(None, map(stages_of, pod.lineage())), "")
    owners = (owner for owner in pod.lineage() if owner.get("kind") not in OF_ROLES) if staged else ()
    within = next(filter(None, map(stages_of, owners)), "")
    awaits = bool(row.sized_by) and not member.size and not any(map(pod.owner, row.sized_by))
    if not (staged or awaits or row.alike):
        return member
    return replace(member, staged=staged, staged_within=within, awaits_owner=awaits, alike=row.alike)

"""The rules (memberships) of all dossiers by which pods name their gang, in order of precedence, with documentation.

A membership is a rule that reads a pod's gang from its labels, annotations and fields.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..kinds.dossier import KindNote
from ..kinds.dossiers import DOSSIERS
from ..kinds.members import Member, Membership, Subject
from .stages import OF_ROLES, stages_of

OPERATORS: Final[tuple[Membership, ...]] = tuple(each for row in DOSSIERS for each in row.memberships)
"""The membership rules for pods that operators make."""
GROUPS: Final[tuple[Membership, ...]] = tuple(each for row in DOSSIERS for each in row.groups)
"""The membership rules for pods that name a group, whether a user or an operator has made the group."""
LAST: Final[tuple[Membership, ...]] = tuple(each for row in DOSSIERS for each in row.last_memberships)
"""The membership rules that have a lower precedence than named groups.

An Indexed Job may be part of a larger group that the user has made, and a StatefulSet states only a size.
"""
MEMBERSHIPS: Final[tuple[Membership, ...]] = (*OPERATORS, *GROUPS, *LAST)
"""All membership rules. The rules of operators come first: they state the size, and distinguish two objects of one
name.
"""
_NOTES: Final[tuple[KindNote, ...]] = tuple(each for row in DOSSIERS for each in row.notes)
NOTES: Final[Mapping[str, tuple[KindNote, ...]]] = {
    key: tuple(each for each in _NOTES if each.key == key) for key in dict.fromkeys(each.key for each in _NOTES)
}
"""The notes on kinds, by the label or annotation of the kind's pods; under "", kinds whose pods are in no gang."""


def notes_of(membership: Membership) -> tuple[KindNote, ...]:
    """Return the documentation about the pods that have the label or annotation which the rule ``membership`` reads.

    Empty if pods of any workload may have the label or annotation.
    """
    key = membership.label or membership.annotation
    return NOTES[key] if key in NOTES and key else ()


def member_of(pod: Subject) -> Member | None:
    """Return the pod's membership in a gang by the first rule that applies; None if the pod is in no gang."""
    found = _first(pod)
    return None if found is None else _with_owners(*found, pod)


def own_member_of(pod: Subject) -> Member | None:
    """Return the pod's membership as the workload's controller states it, by the first rule that applies.

    None if the pod is in no gang, or if the first rule that applies reads a PodGroup.
    """
    found = _first(pod)
    return None if found is None or found[1] in GROUPS else _with_owners(*found, pod)


def _ranks(of: str) -> Mapping[str, tuple[int, ...]]:
    """Return a mapping from a key to the indexes in MEMBERSHIPS of the rules that read the key.

    ``of`` says what the keys are: "label", "annotation" or "field".
    """
    keys = [getattr(row, of) for row in MEMBERSHIPS]
    return {key: tuple(at for at, each in enumerate(keys) if each == key) for key in keys if key}


# Most pods have the key of at most one membership. Trying all memberships would take longer than the rest of gang_of.
_BY_LABEL, _BY_ANNOTATION, _BY_FIELD = map(_ranks, ("label", "annotation", "field"))


def _first(pod: Subject) -> tuple[Member, Membership] | None:
    ranks = {rank for key in _BY_LABEL.keys() & pod.labels.keys() for rank in _BY_LABEL[key]}
    ranks.update(rank for key in _BY_ANNOTATION.keys() & pod.annotations.keys() for rank in _BY_ANNOTATION[key])
    ranks.update(rank for key in _BY_FIELD.keys() & pod.spec.keys() for rank in _BY_FIELD[key])
    for rank in sorted(ranks):
        row = MEMBERSHIPS[rank]
        if row.concerns(pod):
            found = row.member(pod)
            if found is not None:
                return found, row
    return None


def _with_owners(member: Member, row: Membership, pod: Subject) -> Member:
    """Return a pod's membership with the facts that only the pod's owner states.

    ``row`` is the rule that returned ``member``. If the rule's owner, which states the gang's size, is unknown, the
    membership's field ``awaits_owner`` is True.
    """
    staged = member.staged or stages_of(member.owner) or next(filter(None, map(stages_of, pod.lineage())), "")
    owners = (owner for owner in pod.lineage() if owner.get("kind") not in OF_ROLES) if staged else ()
    within = next(filter(None, map(stages_of, owners)), "")
    awaits = bool(row.sized_by) and not member.size and not any(map(pod.owner, row.sized_by))
    if not (staged or awaits or row.alike):
        return member
    return replace(member, staged=staged, staged_within=within, awaits_owner=awaits, alike=row.alike)

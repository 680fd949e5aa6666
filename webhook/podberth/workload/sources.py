"""The order in which the ways of belonging to a gang are asked."""

from dataclasses import replace
from typing import Final

from ..kinds.members import Member, Row, Subject
from .groups import GROUP_ROWS
from .operators import DECLARED_SET, INDEXED_JOB, OPERATOR_ROWS
from .stages import BETWEEN_ROLES, stages_of

# The operator's own word comes first: it tells one object from another of the same name, and its size. An Indexed Job
# comes late, for its pods may have been put into a larger group by hand, and last what only says how large it is.
ROWS: Final[tuple[Row, ...]] = (*OPERATOR_ROWS, *GROUP_ROWS, INDEXED_JOB, DECLARED_SET)


def member_of(pod: Subject) -> Member | None:
    """Return the pod's place by the first row that knows it, or None."""
    for row in ROWS:
        if row.concerns(pod):
            found = row.member(pod)
            if found is not None:
                return _with_owners(found, row, pod)
    return None


def _with_owners(member: Member, row: Row, pod: Subject) -> Member:
    """Return a member with what its owners alone say, or would say."""
    staged = member.staged or next(filter(None, map(stages_of, pod.lineage())), "")
    owners = (owner for owner in pod.lineage() if owner.get("kind") not in BETWEEN_ROLES) if staged else ()
    within = next(filter(None, map(stages_of, owners)), "")
    awaits = bool(row.sized_by) and not member.size and not any(map(pod.owner, row.sized_by))
    if not (staged or awaits):
        return member
    return replace(member, staged=staged, staged_within=within, awaits_owner=awaits, alike=row.alike)

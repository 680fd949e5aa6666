"""The order in which the ways of belonging to a gang are asked."""

from dataclasses import replace
from typing import Final

from .groups import GROUP_ROWS
from .operators import DECLARED_SET, INDEXED_JOB, OPERATOR_ROWS
from .stages import stages_of
from .subject import Member, Row, Subject

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
    awaits = bool(row.sized_by) and not member.size and not any(map(pod.owner, row.sized_by))
    return replace(member, staged=staged, awaits_owner=awaits) if staged or awaits else member

"""Two policies that write one field with different values: found where the later one comes, and the earlier one stays.

What earlier policies wrote is what the record says. What a later policy may still write of its proposal is handed on;
what it may not is left out, and the user is warned. That a policy read what an earlier one wrote is no conflict, nor is
what adds to a list or weighs a choice. Each mutation's module says what else can be written only one way; what can
write anything is judged by what it undoes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..kube.patch import Draft
from . import record
from .change import Change, Proposal, Record
from .conflict import Case, Conflict
from .narrowing import Nodes
from .pipeline import CONCERNS, written


@dataclass(frozen=True, slots=True)
class Standing:
    """What the policies before leave of a proposal."""

    conflicts: tuple[Conflict, ...]
    proposal: Proposal | None
    """What may be built all the same; None: nothing."""


def stand(draft: Draft, proposal: Proposal, policy: str, known: Record, nodes: Nodes) -> Standing:
    """Hold a proposal against what other policies wrote with another value.

    Raises:
        EvaluationError: a leaf's value is not what its builder needs. Not every such value is noticed here.
    """
    others = _by_others(known, policy)
    conflicts_of = CONCERNS[proposal.concern].conflicts
    if not others or conflicts_of is None:
        return Standing((), proposal)
    conflicts, remains = conflicts_of(Case(draft, proposal, written(others), nodes))
    return Standing(tuple(conflicts), remains)


def undone(before: Draft, after: Draft, change: Change, policy: str, known: Record) -> Conflict | None:
    """Return what of an earlier policy's a change that can write anything would undo."""
    claimed = record.held(before, _by_others(known, policy))
    kept = record.held(after, claimed)
    for name, concerns in claimed.items():
        for concern in concerns:
            if concern not in kept.get(name, {}):
                return Conflict(_place(change.wrote, concern), name)
    return None


def revived(before: Draft, after: Draft, _: Change, policy: str, known: Record) -> Conflict | None:
    """Return what an earlier policy took away, by an operation that says so, and any other change puts there again."""
    for name, each in written(_by_others(known, policy)).removals():
        claim: Record = {name: {"jsonPatch": [each]}}
        if record.held(before, claim) and not record.held(after, claim):
            return Conflict(each["path"], name)
    return None


def _by_others(known: Record, policy: str) -> Record:
    """Return the record of all policies but one."""
    return {name: concerns for name, concerns in known.items() if name != policy}


def _place(operations: Iterable[Mapping[str, Any]], concern: str) -> str:
    """Return where a change meets a concern: the written paths whose last steps say so, else all of them."""
    paths = [each["path"] for each in operations]
    return ", ".join([path for path in paths if f"/{concern}" in path] or paths)

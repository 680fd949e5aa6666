"""Finds conflicts between policies that write different values to one field; the earlier value is kept.

The record has the values that earlier policies wrote. If a later policy wants to write another value, this value is
left out, and the user gets a warning. A policy that reads the earlier value, adds to a list or only states a preference
does not conflict. The module of each mutation has the function that finds conflicts of the mutation. A mutation that
can write any field conflicts with the policies whose changes it undoes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ..kube.patch import Draft
from . import record
from .change import Change, Proposal, Record
from .conflict import Conflict, ConflictCase, NodeChoice, Resolution
from .pipeline import CONCERNS, earlier


def stand(draft: Draft, proposal: Proposal, policy: str, known: Record, nodes: NodeChoice) -> Resolution:
    """Return the conflicts of a proposal with changes of earlier policies, and the part without conflicts.

    Args:
        draft: the pod, with the writes so far.
        proposal: the values that the policy wants to write.
        policy: the name of the policy; a policy never conflicts with its own changes in the record.
        known: the record so far.
        nodes: the facts about nodes that the search for conflicting node affinity needs.

    Raises:
        EvaluationError: a value of the proposal is invalid. Some invalid values are only found later, when the proposal
            is applied.
    """
    others = _by_others(known, policy)
    conflicts_of = CONCERNS[proposal.concern].conflicts
    if not others or conflicts_of is None:
        return [], proposal
    return conflicts_of(ConflictCase(draft, proposal, earlier(others), nodes))


def undone(before: Draft, after: Draft, change: Change, policy: str, known: Record) -> Conflict | None:
    """Return a conflict if ``change`` undoes a change of an earlier policy; else None.

    If several changes are undone, the conflict is about the first. ``before`` and ``after`` are the pod without and
    with ``change``, a change by ``policy``; ``known`` is the record.
    """
    earlier_held = record.held(before, _by_others(known, policy))
    kept = record.held(after, earlier_held)
    for name, concerns in earlier_held.items():
        for concern in concerns:
            if concern not in kept.get(name, {}):
                return Conflict(_place(change.wrote, concern), name)
    return None


def revived(before: Draft, after: Draft, _: Change, policy: str, known: Record) -> Conflict | None:
    """Return a conflict if ``policy`` restores a field that an earlier policy removed; else None.

    ``before`` and ``after`` are the pod without and with the change of ``policy``; ``known`` is the record.
    """
    for name, each in earlier(_by_others(known, policy)).removals():
        removal: Record = {name: {"jsonPatch": [each]}}
        if record.held(before, removal) and not record.held(after, removal):
            return Conflict(each["path"], name)
    return None


def _by_others(known: Record, policy: str) -> Record:
    """Return the record without the changes of ``policy``."""
    return {name: concerns for name, concerns in known.items() if name != policy}


def _place(operations: Iterable[Mapping[str, Any]], concern: str) -> str:
    """Return the paths that the operations wrote, joined for a message.

    Only paths that contain ``/<concern>`` are returned, if there are any.
    """
    paths = [each["path"] for each in operations]
    return ", ".join([path for path in paths if f"/{concern}" in path] or paths)

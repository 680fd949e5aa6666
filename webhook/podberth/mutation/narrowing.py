"""Finds the earlier policy whose node affinity, combined with a later policy's node affinity, excludes every node.

Contradictions are found by comparing the terms. Terms that no known node satisfies together are found by counting
nodes. If the user's own terms alone exclude every node, no policy is the cause.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ..kube.patch import Draft
from ..kube.paths import Path, pointer
from . import affinity
from .change import Change, Record
from .conflict import Conflict, ConflictCase
from .earlier import EarlierChanges
from .terms import expressions


def rival(case: ConflictCase, leaves: Mapping[str, Any], field: Path) -> Conflict | None:
    """Return the conflict with the earlier policy whose node affinity, combined with the later's, excludes every node.

    None if some node is left. The terms of the earlier policies are added to the user's, one policy after the other.
    The result is the first policy with which no node is left. If no recorded terms explain why no node is left, the
    result is the last policy whose JSON Patch operations wrote node affinity, or else the last policy with terms. If
    the later policy's terms are preferred, nodes are not counted: only a contradiction between the preferred and the
    required terms is a conflict.

    Args:
        case: the proposal of the later policy, with the pod and the changes of the earlier policies.
        leaves: the later policy's terms, under the key "required" or "preferred".
        field: the path of the pod's field that the later policy writes.

    Raises:
        EvaluationError: the later policy's terms are not a list of terms.
    """
    draft, others, nodes = case.draft, case.others, case.nodes
    before = _requirements(others)
    side = "required" if "required" in leaves else "preferred"
    ours = leaves[side]
    if not before or not ours:
        return None

    def emptied(pod: Draft) -> bool:
        if affinity.opposed(pod, ours, f"nodeAffinity.{side}") is not None:
            return True
        trial = pod.fork()
        restricts = side == "required" and isinstance(affinity.require(trial, ours), Change)
        return restricts and nodes.left(trial) == 0 and nodes.left(pod) != 0

    if not emptied(draft):
        return None
    base = _without(draft, before, others.record, _requirements(replace(others, record=nodes.before)))
    if emptied(base):
        return None
    for name, theirs in before.items():
        if theirs:
            affinity.require(base, theirs)
            if emptied(base):
                return Conflict(pointer(field), name, _why(theirs, ours))
    # Policies without terms in the record: their operations wrote node affinity, joined with all other terms.
    unsaid = [name for name, theirs in before.items() if not theirs]
    if unsaid or affinity.opposed(draft, ours) is None:
        return Conflict(pointer(field), (unsaid or list(before))[-1], "no known node meets both")
    return None


def _requirements(others: EarlierChanges) -> dict[str, list[dict[str, Any]]]:
    """Return a mapping from each policy, in the record's order, to the node affinity terms that the policy required.

    A policy that wrote terms by JSON Patch has an empty list. Labels that a policy wrote into the nodeSelector are
    added to each term of the policy.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for name, concerns in others.record.items():
        labels = affinity.as_terms(concerns.get("nodeSelector", {}))
        theirs = concerns.get("nodeAffinity", {}).get("required", []) or labels
        if labels and theirs is not labels:
            theirs = [{**each, "matchExpressions": expressions(labels[0]) + expressions(each)} for each in theirs]
        if theirs or any(others.operations(name, path) for path in affinity.RESTRICTING):
            found[name] = theirs
    return found


def _without(draft: Draft, rivals: Collection[str], wrote: Record, came_with: Collection[str]) -> Draft:
    """Return the pod with only the user's own nodeSelector and required node affinity.

    If the pod arrived with required terms of one of ``rivals``, the user's own terms are unknown, and the returned pod
    has no required node affinity.

    Args:
        draft: the pod, with the writes of policies.
        rivals: the policies that wrote a nodeSelector or node affinity.
        wrote: the record, which has the node labels that each of ``rivals`` wrote.
        came_with: the policies that wrote such terms before a reinvocation in the same request.
    """
    own = Draft(draft.original).get(affinity.REQUIRED)
    base = draft.fork()
    if own and not any(name in rivals for name in came_with):
        base.set(affinity.REQUIRED, own)
    else:
        base.remove(affinity.REQUIRED[:-1])
    for name in rivals:
        for key in wrote[name].get("nodeSelector", {}):
            base.remove((*affinity.SELECTOR, key))
    return base


def _why(theirs: list[dict[str, Any]], ours: Any) -> str:
    alone = Draft({})
    affinity.require(alone, theirs)
    opposition = affinity.opposed(alone, ours)
    return "no known node meets both" if opposition is None else f"it wants {opposition.mine}, not {opposition.theirs}"

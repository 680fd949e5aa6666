"""The mutation ``nodeAffinity``: adds terms that the pod's node must match, or that the pod prefers."""

from collections.abc import Sequence
from typing import Any

from ...errors import EvaluationError
from ...kube.patch import Draft
from ...kube.unchecked import key_of
from .. import affinity, narrowing
from ..change import Change, Proposal, Skipped, joined
from ..concern import Concern, Present, Surroundings, is_list_of_maps
from ..conflict import ConflictCase, Resolution
from ..restoring import unordered


def _build(draft: Draft, proposal: Proposal, around: Surroundings) -> Change | Skipped | None:
    if "required" in proposal.leaves:
        return _require(draft, proposal.leaves["required"], around)
    return affinity.prefer(draft, proposal.leaves["preferred"], proposal.leaves["weight"])


def _require(draft: Draft, ours: Any, around: Surroundings) -> Change | Skipped | None:
    """Add ``ours``, a policy's node affinity terms, to the pod's required terms; None if the pod has them already.

    If ``ours`` contradict one of the pod's own terms, only nodes of the pod's other terms remain possible. If no known
    node is left then, nothing is added, and the result is Skipped.
    """
    opposition = affinity.partly_opposed(draft, ours)
    if opposition is not None:
        trial = draft.fork()
        found = affinity.require(trial, ours)
        if isinstance(found, Change) and not around.nodes_left(trial) and around.nodes_left(draft):
            return Skipped(f"{opposition}; no known node meets the rest")
    return affinity.require(draft, ours)


def _is_valid(wrote: Any) -> bool:
    if not isinstance(wrote, dict):
        return False
    sides = [wrote[side] for side in ("required", "preferred") if side in wrote]
    return bool(sides) and all(map(is_list_of_maps, sides)) and isinstance(wrote.get("weight", 1), int)


def _preferred(draft: Draft) -> frozenset[bytes]:
    return frozenset(map(key_of, draft.get(affinity.PREFERRED) or ()))


def _holds(there: Present, wrote: dict[str, Any]) -> bool:
    if not all(key_of(item) in there.read(_preferred) for item in wrote.get("preferred", ())):
        return False
    if "required" not in wrote:
        return True
    try:
        return affinity.require(there.draft.fork(), wrote["required"], there.read(affinity.known)) is None
    except EvaluationError:
        return False


def _join(before: dict[str, Any], wrote: dict[str, Any]) -> dict[str, Any]:
    """Return the record of two changes; a node has to match a required term of each, and terms in a list are ORed."""
    both: dict[str, Any] = joined(before, wrote)
    if "required" in before and "required" in wrote:
        both["required"] = affinity.both(before["required"], wrote["required"])
    return both


def _conflicts(case: ConflictCase) -> Resolution:
    rival = narrowing.rival(case, case.proposal.leaves, affinity.NODE_AFFINITY)
    return ([], case.proposal) if rival is None else ([rival], None)


def _restore(draft: Draft, before: Draft, changes: Sequence[dict[str, Any]]) -> bool:
    old, now = before.get(affinity.NODE_AFFINITY), draft.get(affinity.NODE_AFFINITY)
    if now == old:
        return False
    wanted = unordered(old)
    if unordered(now) == wanted:
        return False
    # The written terms depend on the nodeSelector at that time, and a policy may have written it before or after them.
    for selector in (draft.get(affinity.SELECTOR), Draft(draft.original).get(affinity.SELECTOR)):
        trial = draft.fork()
        trial.set(affinity.SELECTOR, selector)
        try:
            for wrote in changes:
                _write_once_more(trial, wrote)
        except EvaluationError:
            return False
        if unordered(trial.get(affinity.NODE_AFFINITY)) == wanted:
            draft.set(affinity.NODE_AFFINITY, old)
            return True
    return False


def _write_once_more(trial: Draft, wrote: dict[str, Any]) -> None:
    if "required" in wrote:
        affinity.require(trial, wrote["required"])
    present = set(map(key_of, trial.get(affinity.PREFERRED) or ()))
    for item in wrote.get("preferred", ()):
        if key_of(item) not in present:
            trial.append(affinity.PREFERRED, item)


CONCERN = Concern(
    name="nodeAffinity",
    build=_build,
    visits=lambda _: affinity.VISITS,
    is_valid=_is_valid,
    holds=_holds,
    join=_join,
    conflicts=_conflicts,
    restore=_restore,
    decides="placement",
    forecast=True,
)

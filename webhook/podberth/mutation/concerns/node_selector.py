"""The mutation ``nodeSelector``: requires node labels by key, if the user has not chosen a value of the label."""

from collections.abc import Mapping, Sequence

from ...kube.patch import Draft
from .. import affinity, leaf, narrowing
from ..change import Change, Proposal, Skipped
from ..concern import Concern, Present, Surroundings, is_string_map
from ..conflict import ConflictCase, Resolution

_PATH = affinity.SELECTOR


def _build(draft: Draft, proposal: Proposal, around: Surroundings) -> Change | Skipped | None:
    """Write a policy's node labels into the pod's nodeSelector, and return the change; None if none is missing.

    A label is left out if its value is null, if the nodeSelector has its key, or if the pod's own terms require it
    already. The result is Skipped if the labels contradict all of the pod's own terms, or contradict some of these
    terms and no known node would remain.

    Raises:
        EvaluationError: a value is not a label value.
    """
    for key, value in proposal.leaves.items():
        if value is not None:
            leaf.label_value(value, f"nodeSelector[{key}]")
    present = draft.get(_PATH) or {}
    users = affinity.known(draft)
    wrote: dict[str, str] = {
        key: value
        for key, value in sorted(proposal.leaves.items())
        if value is not None and key not in present and not affinity.is_given(users, affinity.as_terms({key: value}))
    }
    if not wrote:
        return None
    ours = affinity.as_terms(wrote)
    if opposition := affinity.opposed(draft, ours, "nodeSelector"):
        return Skipped(str(opposition))
    trial = draft.fork()
    _write(trial, wrote)
    partly = affinity.partly_opposed(draft, ours)
    if partly is not None and not around.nodes_left(trial) and around.nodes_left(draft):
        return Skipped(f"{partly}; no known node meets the rest")
    _write(draft, wrote)
    return Change("nodeSelector", wrote, lambda: "requires node label " + leaf.pairs(wrote))


def _write(draft: Draft, values: Mapping[str, str]) -> None:
    for key, value in values.items():
        draft.set((*_PATH, key), value)


def _holds(there: Present, wrote: dict[str, str]) -> bool:
    return wrote.items() <= (there.draft.get(_PATH) or {}).items()


def _conflicts(case: ConflictCase) -> Resolution:
    values = case.proposal.leaves
    found = case.fields({(*_PATH, key): value for key, value in values.items()})
    present = case.draft.get(_PATH) or {}
    ours = {key: value for key, value in values.items() if isinstance(value, str) and key not in present}
    rival = narrowing.rival(case, {"required": affinity.as_terms(ours)}, _PATH)
    return (found, case.proposal) if rival is None else ([*found, rival], None)


def _restore(draft: Draft, before: Draft, changes: Sequence[dict[str, str]]) -> bool:
    old, new = before.get(_PATH) or {}, draft.get(_PATH) or {}
    missing = {key: old[key] for wrote in changes for key in wrote if key not in new}
    _write(draft, missing)
    return bool(missing)


CONCERN = Concern(
    name="nodeSelector",
    build=_build,
    visits=lambda _: affinity.VISITS,
    is_valid=is_string_map,
    holds=_holds,
    wrote_at=lambda wrote, path, value: path[:-1] == _PATH and wrote.get(str(path[-1])) == value,
    conflicts=_conflicts,
    restore=_restore,
    decides="placement",
)

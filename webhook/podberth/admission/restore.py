"""An update that merely fails to repeat what podberth wrote gets it back; nothing else of an update is touched.

``kubectl apply`` of the manifest that made a pod sends the pod without our additions: ``tolerations`` and
``nodeSelectorTerms`` are atomic lists, and a rewritten resource key comes back. The apiserver would refuse each of
these changes. Whatever the record says, only tolerations, node affinity and resources are ever restored, and only to
what the old pod really holds. An update that changes these fields in any other way is left for the apiserver to
judge.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..kube.shape import RESOURCED_LISTS
from ..mutation import affinity, claims, record, resources, tolerations


def restore(draft: Draft, old: dict[str, Any], known: record.Record) -> list[tuple[str, str]]:
    """Give the draft of the new pod back what policies wrote on ``old``, as far as it is ``known``.

    Returns:
        Policy name and a phrase, for each concern restored.
    """
    before = Draft(old)
    held = record.held(before, known)
    restored: list[tuple[str, str]] = []
    for concern, give_back in _RESTORERS.items():
        wrote = {policy: concerns[concern] for policy, concerns in held.items() if concern in concerns}
        if wrote and give_back(draft, before, list(wrote.values())):
            restored += [(policy, f"{concern} restored") for policy in wrote]
    return restored


def _tolerations(draft: Draft, before: Draft, records: Sequence[list[dict[str, Any]]]) -> bool:
    old, new = before.get(tolerations.PATH) or [], draft.get(tolerations.PATH) or []
    present = set(map(record.key_of, new))
    missing = {key for wrote in records for item in wrote if (key := record.key_of(item)) not in present}
    if not missing:
        return False
    # In the old order, so that a request which lacks nothing else ends up changing no toleration at all.
    wanted, before_it = present | missing, set(map(record.key_of, old))
    kept = [item for item in old if record.key_of(item) in wanted]
    draft.set(tolerations.PATH, kept + [item for item in new if record.key_of(item) not in before_it])
    return True


def _node_affinity(draft: Draft, before: Draft, records: Sequence[dict[str, Any]]) -> bool:
    old = before.get(affinity.NODE_AFFINITY)
    wanted = _canonical(old)
    if _canonical(draft.get(affinity.NODE_AFFINITY)) == wanted:
        return False
    trial = draft.fork()
    try:
        for wrote in records:
            _write_once_more(trial, wrote)
    except EvaluationError:
        return False
    if _canonical(trial.get(affinity.NODE_AFFINITY)) != wanted:
        return False
    draft.set(affinity.NODE_AFFINITY, old)
    return True


def _write_once_more(trial: Draft, wrote: dict[str, Any]) -> None:
    if "required" in wrote:
        affinity.require(trial, wrote["required"])
    present = set(map(record.key_of, trial.get(affinity.PREFERRED) or ()))
    for item in wrote.get("preferred", ()):
        if record.key_of(item) not in present:
            trial.append(affinity.PREFERRED, item)


def _resources(draft: Draft, before: Draft, records: Sequence[list[dict[str, Any]]]) -> bool:
    return _of_containers(draft, before, records, resources.rewrite)


def _claims(draft: Draft, before: Draft, records: Sequence[list[dict[str, Any]]]) -> bool:
    """Take a resource away again that a claim stands for."""
    return _of_containers(draft, before, records, claims.add)


def _of_containers(
    draft: Draft,
    before: Draft,
    records: Sequence[list[dict[str, Any]]],
    write: Callable[[Draft, list[dict[str, Any]]], object],
) -> bool:
    trial = draft.fork()
    try:
        for wrote in records:
            write(trial, wrote)
    except EvaluationError:
        return False
    restored = False
    for kind in RESOURCED_LISTS:
        lists = (source.get(("spec", kind)) or [] for source in (before, draft, trial))
        for index, (was, now, would) in enumerate(zip(*lists, strict=False)):
            asked = was.get("resources")
            # The API server drops an empty map of limits, which a builder leaves.
            if now.get("resources") != asked and _canonical(would.get("resources")) == _canonical(asked):
                draft.set(("spec", kind, index, "resources"), asked)
                restored = True
    return restored


def _canonical(value: Any) -> str:
    """Return a text that is equal for values that differ in the order of lists: affinity terms are ORed or summed."""
    if isinstance(value, dict):
        items = (f"{key!r}:{_canonical(item)}" for key, item in value.items() if item not in (None, {}, []))
        return f"{{{','.join(sorted(items))}}}"
    if isinstance(value, list):
        return f"[{','.join(sorted(map(_canonical, value)))}]"
    return repr(value)


_RESTORERS: Mapping[str, Callable[[Draft, Draft, Sequence[Any]], bool]] = {
    "tolerations": _tolerations,
    "nodeAffinity": _node_affinity,
    "resources": _resources,
    "resourceClaims": _claims,
}

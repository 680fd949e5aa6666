"""The record: an annotation on the pod that says which policy wrote what.

``{"<policy>": {"<concern>": <Change.wrote>}}`` as compact JSON, policies in the order in which they wrote. A record can
come in with a pod (a reinvocation, a copied pod, a forger): it is believed only as far as the pod really holds what it
says.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import orjson

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..wellknown import APPLIED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from . import affinity, gang, resources, tolerations
from .change import Change

Record: TypeAlias = dict[str, dict[str, Any]]
PATH = ("metadata", "annotations", APPLIED_ANNOTATION)

# A record of the shipped policies is some hundred bytes. A larger one is not ours, and reading it costs a pod's time.
_LONGEST_RECORD = 16 * 1024
_NAMES = ("container", "from", "to")


def read(pod: Mapping[str, Any]) -> Record:
    """Return the well-formed claims of the pod's record; {} where it has none, or more than podberth would write."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    text = annotations.get(APPLIED_ANNOTATION)
    if not text or len(text) > _LONGEST_RECORD:
        return {}
    try:
        decoded = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(decoded, dict):
        return {}
    claims = {
        policy: {concern: wrote for concern, wrote in concerns.items() if _is_claim(concern, wrote)}
        for policy, concerns in decoded.items()
        if isinstance(concerns, dict)
    }
    return {policy: concerns for policy, concerns in claims.items() if concerns}


def held(draft: Draft, record: Record) -> Record:
    """Return the part of ``record`` that the pod of ``draft`` holds."""
    kept = {
        policy: {concern: wrote for concern, wrote in concerns.items() if _holds(draft, concern, wrote)}
        for policy, concerns in record.items()
    }
    return {policy: concerns for policy, concerns in kept.items() if concerns}


def add(record: Record, policy: str, changes: Iterable[Change]) -> Record:
    """Return ``record`` with a policy's changes; what the policy wrote of one concern in several steps is joined."""
    concerns = dict(record.get(policy, {}))
    for change in changes:
        concerns[change.concern] = _joined(concerns.get(change.concern), change.wrote)
    return {**record, policy: concerns} if concerns else record


def write(draft: Draft, record: Record) -> None:
    """Put ``record`` on the pod; an empty one takes a false record away and writes nothing else."""
    if record == read(draft.document):
        return
    if record:
        draft.set(PATH, orjson.dumps(record).decode())
    else:
        draft.remove(PATH)


def _joined(before: Any, wrote: Any) -> Any:
    if isinstance(before, list) and isinstance(wrote, list):
        return [*before, *(item for item in wrote if item not in before)]
    if isinstance(before, dict) and isinstance(wrote, dict):
        keys = [*before, *(key for key in wrote if key not in before)]
        return {key: _joined(before.get(key), wrote[key]) if key in wrote else before[key] for key in keys}
    return wrote


def _is_claim(concern: str, wrote: Any) -> bool:
    """Say whether a claim has the form that the concern's builder writes; anybody can write the annotation."""
    match concern:
        case "tolerations":
            return _is_list_of_maps(wrote)
        case "resources":
            return _is_list_of_maps(wrote) and all(
                isinstance(item.get("quantity"), int) and all(isinstance(item.get(key), str) for key in _NAMES)
                for item in wrote
            )
        case "nodeAffinity":
            sides = (
                [wrote[side] for side in ("required", "preferred") if side in wrote] if isinstance(wrote, dict) else []
            )
            return bool(sides) and all(map(_is_list_of_maps, sides)) and isinstance(wrote.get("weight", 1), int)
        case "labels" | "annotations" | "gang" | "topology":
            return isinstance(wrote, dict) and bool(wrote) and all(isinstance(value, str) for value in wrote.values())
        case _:
            return False


def _is_list_of_maps(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _holds(draft: Draft, concern: str, wrote: Any) -> bool:
    """Say whether the pod holds all that a claim says."""
    match concern:
        case "tolerations":
            return within(wrote, draft.get(tolerations.PATH) or ())
        case "resources":
            return all(_holds_resource(draft, item) for item in wrote)
        case "nodeAffinity":
            return _holds_affinity(draft, wrote)
        case "gang":
            return _holds_membership(draft, wrote)
        case "topology":
            return _holds_colocation(draft, wrote)
        case _:
            present = draft.get(("metadata", concern)) or {}
            return all(present.get(key) == value for key, value in wrote.items())


def within(claimed: Iterable[dict[str, Any]], present: Iterable[dict[str, Any]]) -> bool:
    """Say whether every item of one list is in the other, in time that grows with their sum."""
    there = set(map(key_of, present))
    return all(key_of(item) in there for item in claimed)


def key_of(item: Any) -> bytes:
    """Return what is equal for equal JSON, for sets and keys; what no API server sends is equal to nothing."""
    try:
        return orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # nested more deeply than orjson writes, or a number beyond 64 bits
        return str(id(item)).encode()


def _holds_affinity(draft: Draft, wrote: dict[str, Any]) -> bool:
    if not within(wrote.get("preferred", []), draft.get(affinity.PREFERRED) or ()):
        return False
    try:
        return "required" not in wrote or affinity.require(draft.fork(), wrote["required"]) is None
    except EvaluationError:
        return False


def _holds_resource(draft: Draft, item: dict[str, Any]) -> bool:
    path = resources.container_path(draft, item["container"])
    return path is not None and item["to"] in (draft.get((*path, "resources", "limits")) or {})


def _holds_membership(draft: Draft, wrote: dict[str, Any]) -> bool:
    present = {
        "label": draft.get(("metadata", "labels", GANG_LABEL)),
        "size": draft.get(("metadata", "annotations", GANG_SIZE_ANNOTATION)),
        "schedulingGroup": draft.get((*gang.SCHEDULING_GROUP, "podGroupName")),
    }
    return all(present.get(key) == value for key, value in wrote.items())


def _holds_colocation(draft: Draft, wrote: dict[str, Any]) -> bool:
    preferred = [item.get("podAffinityTerm") or {} for item in draft.get(gang.PREFERRED) or ()]
    return any(
        term.get("topologyKey") == wrote.get("level") for term in [*(draft.get(gang.REQUIRED) or ()), *preferred]
    )

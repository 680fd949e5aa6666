"""The record: an annotation on the pod that says which policy wrote what.

``{"<policy>": {"<concern>": <Change.wrote>}}`` as compact JSON with sorted keys, so that equal members of a gang
carry equal records. A record can come in with a pod (a reinvocation, a copied pod, a forger): it is believed only as
far as the pod really holds what it says.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import orjson

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..wellknown import APPLIED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from . import affinity, gang, tolerations
from .change import Change

Record: TypeAlias = dict[str, dict[str, Any]]
PATH = ("metadata", "annotations", APPLIED_ANNOTATION)


def read(pod: Mapping[str, Any]) -> Record:
    """Return the pod's record; {} where it has none or one that is no record."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    text = annotations.get(APPLIED_ANNOTATION)
    if not text:
        return {}
    try:
        decoded = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(decoded, dict):
        return {}
    return {policy: wrote for policy, wrote in decoded.items() if isinstance(wrote, dict)}


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
        draft.set(PATH, orjson.dumps(record, option=orjson.OPT_SORT_KEYS).decode())
    else:
        draft.remove(PATH)


def _joined(before: Any, wrote: Any) -> Any:
    if isinstance(before, list) and isinstance(wrote, list):
        return [*before, *(item for item in wrote if item not in before)]
    if isinstance(before, dict) and isinstance(wrote, dict):
        keys = [*before, *(key for key in wrote if key not in before)]
        return {key: _joined(before.get(key), wrote[key]) if key in wrote else before[key] for key in keys}
    return wrote


def _holds(draft: Draft, concern: str, wrote: Any) -> bool:
    """Say whether the pod holds all that a record claims of one concern; a claim of no known form is not held."""
    if concern == "tolerations":
        return _within(wrote, draft.get(tolerations.PATH))
    if concern == "resources":
        return isinstance(wrote, list) and bool(wrote) and all(_holds_resource(draft, item) for item in wrote)
    if not isinstance(wrote, dict) or not wrote:
        return False
    if concern in ("labels", "annotations"):
        present = draft.get(("metadata", concern)) or {}
        return all(present.get(key) == value for key, value in wrote.items())
    if concern == "nodeAffinity":
        return _holds_affinity(draft, wrote)
    return concern in _GANG_CLAIMS and _GANG_CLAIMS[concern](draft, wrote)


def _within(claimed: Any, present: Any) -> bool:
    return isinstance(claimed, list) and all(item in (present or ()) for item in claimed)


def _holds_affinity(draft: Draft, wrote: dict[str, Any]) -> bool:
    preferences = [item.get("preference") for item in draft.get(affinity.PREFERRED) or ()]
    if not _within(wrote.get("preferred", []), preferences):
        return False
    try:
        return "required" not in wrote or affinity.require(draft.fork(), wrote["required"]) is None
    except EvaluationError:
        return False


def _holds_resource(draft: Draft, item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    for kind in ("containers", "initContainers"):
        for container in draft.get(("spec", kind)) or ():
            if container.get("name") == item.get("container"):
                return item.get("to") in ((container.get("resources") or {}).get("limits") or {})
    return False


def _holds_membership(draft: Draft, wrote: dict[str, Any]) -> bool:
    present = {
        "label": (draft.get(("metadata", "labels")) or {}).get(GANG_LABEL),
        "size": (draft.get(("metadata", "annotations")) or {}).get(GANG_SIZE_ANNOTATION),
        "schedulingGroup": (draft.get(gang.SCHEDULING_GROUP) or {}).get("podGroupName"),
    }
    return all(value is not None and present.get(key) == value for key, value in wrote.items())


def _holds_colocation(draft: Draft, wrote: dict[str, Any]) -> bool:
    terms = [
        *(draft.get(gang.REQUIRED) or ()),
        *((i.get("podAffinityTerm") or {}) for i in draft.get(gang.PREFERRED) or ()),
    ]
    return any(term.get("topologyKey") == wrote.get("level") for term in terms)


_GANG_CLAIMS = {"gang": _holds_membership, "topology": _holds_colocation}

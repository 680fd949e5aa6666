"""The record: an annotation on the pod that says which policy wrote what.

``{"<policy>": {"<concern>": <Change.wrote>}, "=": "<seal>"}`` as compact JSON, policies in the order in which they
wrote, the seal last (``seal``). Anybody can write an annotation. So ``find`` is the one way to read a record: without a
seal of podberth's for this pod it is as if there were none. What it says counts as far as the pod holds it (``held``).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import orjson

from ..errors import EvaluationError
from ..kube.budget import RECORD, RECORD_CLAIMS
from ..kube.json_patch import steps_of
from ..kube.patch import Draft, Path
from ..kube.quantity import parse_quantity
from ..wellknown import APPLIED_ANNOTATION
from . import affinity, claims, colocation, environment, gang, names, resources, terms, tolerations
from .change import Change
from .containers import SIDES
from .seal import SEAL_LENGTH, Sealer, bearer_of

Record: TypeAlias = dict[str, dict[str, Any]]
PATH = ("metadata", "annotations", APPLIED_ANNOTATION)

_NAMES = ("container", "from", "to")
# No policy is called "=": its name is a DNS subdomain, as every object's.
_BEFORE_SEAL = ',"=":"'
_BEHIND_SEAL = '"}'
_TAIL_LENGTH = len(_BEFORE_SEAL) + SEAL_LENGTH + len(_BEHIND_SEAL)


@dataclass(frozen=True, slots=True)
class Found:
    """What a pod says that podberth wrote on it."""

    there: bool = False
    """Whether it has the annotation at all."""
    sent: bool | None = False
    """Whether whoever sent the pod sent the annotation, and not podberth in the same request; None: nobody can tell."""
    text: str = ""
    """The claims as podberth sealed them for this pod; empty where it did not."""
    claims: Record = field(default_factory=dict, compare=False)
    """The same, decoded."""

    @property
    def standing(self) -> Record:
        """The claims that podberth wrote in the request that creates the pod: a sealed record may be used again.

        https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#reinvocation-policy
        """
        return self.claims if self.sent is False else {}


_NONE = Found()
# Another webhook has taken it away again, or the sender's word of ``managedFields`` is of another time.
_TAKEN = Found(sent=True)
# https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
_FIELDS = ("fieldsV1", "f:metadata", "f:annotations", f"f:{APPLIED_ANNOTATION}")


def find(pod: Mapping[str, Any], namespace: str, sealer: Sealer) -> Found:
    """Return what the record on a pod of that namespace says, if podberth sealed it for this pod."""
    annotation = ((pod.get("metadata") or {}).get("annotations") or {}).get(APPLIED_ANNOTATION)
    sent = False if sealer.offline else _is_sent(pod)
    if annotation is None:
        return _TAKEN if sent else _NONE
    text, seal = _unsealed(annotation)
    if not text or not sealer.believes(seal, bearer_of(pod, namespace), text):
        return Found(there=True, sent=sent)
    return Found(there=True, sent=sent, text=text, claims=_decoded(text))


def _is_sent(pod: Mapping[str, Any]) -> bool | None:
    """Tell whether whoever sent a new pod sent the record, too.

    Before the API server asks any webhook it notes in ``managedFields`` which fields the request has, whatever the
    request says of them itself, and it takes note of nothing that webhooks add (apiserver
    pkg/endpoints/handlers/create.go: UpdateNoErrors comes before Admit). Where it could not, nobody can tell.
    """
    entries = (pod.get("metadata") or {}).get("managedFields")
    if not isinstance(entries, list) or not entries:
        return None
    said = [_names_the_record(entry) for entry in entries]
    return True if True in said else None if None in said else False


def _names_the_record(entry: Any) -> bool | None:
    """Tell whether one of ``managedFields`` names the record; None of what is no such entry."""
    fields = entry.get(_FIELDS[0]) if isinstance(entry, dict) else None
    for step in _FIELDS[1:]:
        if not isinstance(fields, dict):
            return None
        if step not in fields:
            return False
        fields = fields[step]
    return True


def _disown(draft: Draft) -> None:
    """Take the record out of what ``managedFields`` says that anybody has sent."""
    for index, entry in enumerate((draft.document.get("metadata") or {}).get("managedFields") or ()):
        if isinstance(entry, dict):
            draft.remove(("metadata", "managedFields", index, *_FIELDS))


def _unsealed(annotation: str) -> tuple[str, str]:
    """Return the text and the seal of a record; both empty where it has none, or more than podberth would write."""
    start = len(annotation) - _TAIL_LENGTH
    if start < 1 or len(annotation) > RECORD.most:
        return "", ""
    seal = annotation[start + len(_BEFORE_SEAL) : -len(_BEHIND_SEAL)]
    text = annotation[:start] + "}"
    return (text, seal) if sealed(text, seal) == annotation else ("", "")


def sealed(text: str, seal: str) -> str:
    """Return the annotation of a record's text and its seal; the text is a JSON object that is not empty."""
    return f"{text[:-1]}{_BEFORE_SEAL}{seal}{_BEHIND_SEAL}"


def _decoded(text: str) -> Record:
    """Return the claims of a record that was sealed; a later version may have written what this one does not know."""
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
    found = {policy: concerns for policy, concerns in claims.items() if concerns}
    return found if _size(found) <= RECORD_CLAIMS.most else {}


def _size(record: Record) -> int:
    """Return how many claims a record makes: those of each list, one for any other concern."""
    lists = (
        part
        for concerns in record.values()
        for wrote in concerns.values()
        for part in (wrote.values() if isinstance(wrote, dict) else (wrote,))
    )
    return sum(len(part) if isinstance(part, list) else 1 for part in lists)


def held(draft: Draft, record: Record) -> Record:
    """Return the part of ``record`` that the pod of ``draft`` holds."""
    there = _There(draft)
    kept = {
        policy: {concern: wrote for concern, wrote in concerns.items() if _FORMS[concern][1](there, wrote)}
        for policy, concerns in record.items()
    }
    return {policy: concerns for policy, concerns in kept.items() if concerns}


def add(record: Record, policy: str, changes: Iterable[Change]) -> Record:
    """Return ``record`` with a policy's changes; what the policy wrote of one concern in several steps is joined."""
    concerns = dict(record.get(policy, {}))
    for change in changes:
        concerns[change.concern] = _joined(concerns.get(change.concern), change.wrote)
    return {**record, policy: concerns} if concerns else record


def joined(first: Record, second: Record) -> Record:
    """Return the claims of both, as if the second had been added to the first."""
    both: Record = _joined(first, second)
    return both


def write(draft: Draft, record: Record, found: Found, seal: Callable[[str], str]) -> str:
    """Put ``record`` on the pod in the place of what was ``found`` there; an empty one takes a false record away.

    One that is too large to be read again is not written. What was sent is the sender's no more: the next pass of the
    same request finds podberth's.

    Returns:
        The text that was sealed; empty where nothing was.
    """
    if not record and not found.there:
        return ""
    if found.sent:
        _disown(draft)
    if record and record == found.claims:
        return ""
    text = orjson.dumps(record).decode() if record else ""
    if not text or len(text) + _TAIL_LENGTH > RECORD.most or _size(record) > RECORD_CLAIMS.most:
        draft.remove(PATH)
        return ""
    draft.set(PATH, sealed(text, seal(text)))
    return text


def _joined(before: Any, wrote: Any) -> Any:
    if isinstance(before, list) and isinstance(wrote, list):
        return [*before, *(item for item in wrote if item not in before)]
    if isinstance(before, dict) and isinstance(wrote, dict):
        keys = [*before, *(key for key in wrote if key not in before)]
        return {key: _joined(before.get(key), wrote[key]) if key in wrote else before[key] for key in keys}
    return wrote


def _is_claim(concern: str, wrote: Any) -> bool:
    """Say whether a claim has the form that the concern's builder writes."""
    form = _FORMS.get(concern)
    return form is not None and form[0](wrote)


def _is_rewrite(wrote: Any) -> bool:
    return _is_list_of_maps(wrote) and all(
        isinstance(item.get("quantity"), int) and all(isinstance(item.get(key), str) for key in _NAMES)
        for item in wrote
    )


def _is_affinity(wrote: Any) -> bool:
    if not isinstance(wrote, dict):
        return False
    sides = [wrote[side] for side in ("required", "preferred") if side in wrote]
    return bool(sides) and all(map(_is_list_of_maps, sides)) and isinstance(wrote.get("weight", 1), int)


def _is_env(wrote: Any) -> bool:
    return isinstance(wrote, dict) and bool(wrote) and all(map(_is_string_map, wrote.values()))


def _is_name(wrote: Any) -> bool:
    return isinstance(wrote, str) and bool(wrote)


def _are_claims(wrote: Any) -> bool:
    return _is_list_of_maps(wrote) and all(map(_is_resource_claim, wrote))


def _are_operations(wrote: Any) -> bool:
    return _is_list_of_maps(wrote) and all(
        item.get("op") in ("add", "replace", "remove") and str(item.get("path")).startswith("/") for item in wrote
    )


def _is_string_map(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(item, str) for item in value.values())


def _is_resource_claim(item: dict[str, Any]) -> bool:
    lists = [item.get(key, []) for key in ("containers", "requests")]
    texts = [item.get("name"), item.get("template"), item.get("instead", "")]
    return all(isinstance(each, str) for each in texts) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists
    )


def _is_list_of_maps(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


class _There:
    """A pod against which many claims are held: what is long in it is looked through once.

    A record may make 100 claims (``kube.budget``), and each list of the pod has its own bound.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self._items: dict[int, tuple[list[Any], frozenset[bytes]]] = {}

    def has(self, items: list[Any], item: Any) -> bool:
        """Say whether a list of the pod has an item; the list is read once, however often it is asked."""
        found = self._items.get(id(items))
        if found is None:
            found = self._items[id(items)] = (items, frozenset(map(key_of, items)))
        return key_of(item) in found[1]

    @cached_property
    def containers(self) -> dict[str, Path]:
        return resources.container_paths(self.draft)

    @cached_property
    def tolerations(self) -> frozenset[bytes]:
        return frozenset(map(key_of, self.draft.get(tolerations.PATH) or ()))

    @cached_property
    def preferred(self) -> frozenset[bytes]:
        return frozenset(map(key_of, self.draft.get(affinity.PREFERRED) or ()))

    @cached_property
    def required(self) -> list[terms.Known]:
        return affinity.known(self.draft)

    @cached_property
    def env(self) -> dict[str, dict[str, Any]]:
        return environment.present(self.draft)

    @cached_property
    def templates(self) -> dict[str, str]:
        return claims.templates(self.draft)


def _holds_in(field: str) -> "_Holds":
    def holds(there: _There, wrote: dict[str, str]) -> bool:
        present = there.draft.get(("metadata", field)) or {}
        return all(present.get(key) == value for key, value in wrote.items())

    return holds


def _holds_name(field: names.Field) -> "_Holds":
    return lambda there, wrote: bool(there.draft.get(names.FIELDS[field]) == wrote)


def _holds_env(there: _There, wrote: dict[str, dict[str, str]]) -> bool:
    return environment.holds(there.env, wrote)


def _holds_claim(there: _There, item: dict[str, Any]) -> bool:
    return claims.holds(there.draft, there.templates, item)


def key_of(item: Any) -> bytes:
    """Return what is equal for equal JSON, for sets and keys; what no API server sends is equal to nothing."""
    try:
        return orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # nested more deeply than orjson writes, or a number beyond 64 bits
        return str(id(item)).encode()


def _holds_affinity(there: _There, wrote: dict[str, Any]) -> bool:
    if not all(key_of(item) in there.preferred for item in wrote.get("preferred", ())):
        return False
    try:
        return "required" not in wrote or affinity.is_required(there.draft, wrote["required"], there.required)
    except EvaluationError:
        return False


def _holds_tolerations(there: _There, wrote: list[dict[str, Any]]) -> bool:
    return all(key_of(item) in there.tolerations for item in wrote)


def _holds_resource(there: _There, item: dict[str, Any]) -> bool:
    path = there.containers.get(item["container"])
    if path is None:
        return False
    asked = [(there.draft.get((*path, "resources", side)) or {}).get(item["to"]) for side in SIDES]
    # As ``workload.gpus`` reads it: where there is no limit, the request counts.
    amount = next((each for each in asked if each is not None), None)
    try:
        return amount is not None and bool(parse_quantity(amount) == item["quantity"])
    except ValueError:
        return False


def _holds_membership(there: _There, wrote: dict[str, Any]) -> bool:
    return all(part in gang.MEMBERSHIP and there.draft.get(gang.MEMBERSHIP[part]) == wrote[part] for part in wrote)


def _holds_colocation(there: _There, wrote: dict[str, Any]) -> bool:
    if not {"level", "sliceLevel"}.intersection(wrote):
        return False
    said = [*colocation.drawn_to(there.draft, slices=False), there.draft.get(colocation.LEVEL)]
    whole = "level" not in wrote or wrote["level"] in said
    return whole and ("sliceLevel" not in wrote or wrote["sliceLevel"] in colocation.drawn_to(there.draft, slices=True))


def _holds_operation(there: _There, operation: dict[str, Any]) -> bool:
    """Say whether the pod is as an operation left it; one whose value was too long to be kept is believed."""
    *above, last = steps_of(operation["path"])
    container: Any = there.draft.get(())  # not past the draft, which keeps account of what a decision is made from
    for step in above:
        container = _below(container, step)
    if last == "-":
        return isinstance(container, list) and ("value" not in operation or there.has(container, operation["value"]))
    found = _below(container, last)
    gone = operation["op"] == "remove"
    return (found is None) == gone and bool(operation.get("value", found) == found)


def _below(container: Any, step: str) -> Any:
    if isinstance(container, list) and step.isdecimal() and int(step) < len(container):
        return container[int(step)]
    return container.get(step) if isinstance(container, dict) else None


def _each(holds: "_Holds") -> "_Holds":
    return lambda there, wrote: all(holds(there, item) for item in wrote)


_Holds: TypeAlias = Callable[[_There, Any], bool]
_FORMS: Mapping[str, tuple[Callable[[Any], bool], _Holds]] = {
    "tolerations": (_is_list_of_maps, _holds_tolerations),
    "resources": (_is_rewrite, _each(_holds_resource)),
    "nodeAffinity": (_is_affinity, _holds_affinity),
    "gang": (_is_string_map, _holds_membership),
    "topology": (_is_string_map, _holds_colocation),
    "labels": (_is_string_map, _holds_in("labels")),
    "annotations": (_is_string_map, _holds_in("annotations")),
    "env": (_is_env, _holds_env),
    **{field: (_is_name, _holds_name(field)) for field in names.FIELDS},
    "resourceClaims": (_are_claims, _each(_holds_claim)),
    "applyConfiguration": (_are_operations, _each(_holds_operation)),
    "jsonPatch": (_are_operations, _each(_holds_operation)),
}
"""Of each concern: whether a claim has the form that the builder writes, and whether a pod holds what it says."""

"""Reads and writes the record: an annotation on the pod that lists which policy wrote which values.

The annotation's value is ``{"<policy>": {"<concern>": <Change.wrote>}, "=": "<seal>"}`` as compact JSON, policies in
the order in which they wrote, the seal last (``seal``). Any user can write an annotation, so only ``find`` reads
records, and ``find`` ignores a record without podberth's seal for the pod. A recorded change is used only if the pod
still has the written values (``held``).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ..kube.patch import Draft
from ..kube.pod_limits import RECORD, RECORD_CHANGES
from ..wellknown import APPLIED_ANNOTATION
from .change import Change, Record
from .concern import Present
from .pipeline import CONCERNS
from .seal import SEAL_LENGTH, Sealer, bearer_of

PATH = ("metadata", "annotations", APPLIED_ANNOTATION)

# "=" cannot be the name of a policy: names of objects are DNS subdomains.
_BEFORE_SEAL = ',"=":"'
_BEHIND_SEAL = '"}'
_TAIL_LENGTH = len(_BEFORE_SEAL) + SEAL_LENGTH + len(_BEHIND_SEAL)


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """The result of reading a pod's record annotation."""

    there: bool = False
    """Whether the pod has the record annotation."""
    sent: bool | None = False
    """Whether a client sent the annotation, with the pod or in a later update; False if podberth wrote it, None if
    unknown."""
    text: str = ""
    """The record as the text that podberth sealed, without the seal; empty if podberth has not sealed the text for this
    pod.
    """
    record: Record = field(default_factory=dict, compare=False)
    """The decoded ``text``: the values that each policy wrote, by policy and mutation."""

    @property
    def standing(self) -> Record:
        """The record, if podberth wrote the record earlier in the request (before a reinvocation); else empty.

        A record that the client sent may be a copy from another pod: a seal is valid for all pods of a namespace with
        equal generateName.

        https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#reinvocation-policy
        """
        return self.record if self.sent is False else {}

    @property
    def lasting(self) -> Record:
        """The record of an existing pod; empty if a client wrote the annotation after the pod's creation.

        In an update the API server notes in ``metadata.managedFields`` the annotations that the request changes, and
        the annotations that a server-side apply states. So ``managedFields`` name a record that a client copied from a
        sibling (a pod with the same generateName), and do not name a record that podberth wrote.
        """
        return {} if self.sent else self.record


# https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
_FIELDS = ("fieldsV1", "f:metadata", "f:annotations", f"f:{APPLIED_ANNOTATION}")


def find(pod: Mapping[str, Any], namespace: str, sealer: Sealer) -> FoundRecord:
    """Return the pod's record. The record is empty unless podberth sealed it for this pod."""
    annotation = ((pod.get("metadata") or {}).get("annotations") or {}).get(APPLIED_ANNOTATION)
    sent = False if sealer.offline else _is_sent(pod)
    if annotation is None:
        # ``managedFields`` may name a record that the pod lacks: another webhook removed it, or the client's fields are
        # old.
        return FoundRecord(sent=bool(sent))
    text, seal = _unsealed(annotation)
    if not text or not sealer.believes(seal, bearer_of(pod, namespace), text):
        return FoundRecord(there=True, sent=sent)
    return FoundRecord(there=True, sent=sent, text=text, record=_decoded(text))


def claimed(pod: Mapping[str, Any]) -> Record:
    """Return the content of the pod's record annotation, sealed or not, for display only: no decision may use it."""
    annotation = ((pod.get("metadata") or {}).get("annotations") or {}).get(APPLIED_ANNOTATION)
    return _decoded(annotation) if isinstance(annotation, str) and len(annotation) <= RECORD.most else {}


def _is_sent(pod: Mapping[str, Any]) -> bool | None:
    """Return whether a client, and not podberth, sent the record; None if the field ``managedFields`` does not show it.

    The API server notes the fields of the request in ``metadata.managedFields`` before it calls webhooks, whatever
    ``managedFields`` the request itself has. The API server does not note the fields that webhooks add (apiserver
    pkg/endpoints/handlers/create.go: UpdateNoErrors comes before Admit).
    """
    entries = (pod.get("metadata") or {}).get("managedFields")
    if not isinstance(entries, list) or not entries:
        return None
    said = [_names_the_record(entry) for entry in entries]
    return True if True in said else None if None in said else False


def _names_the_record(entry: Any) -> bool | None:
    """Return whether an item of ``managedFields`` includes the record's annotation; None if the item is invalid."""
    fields = entry.get(_FIELDS[0]) if isinstance(entry, dict) else None
    for step in _FIELDS[1:]:
        if not isinstance(fields, dict):
            return None
        if step not in fields:
            return False
        fields = fields[step]
    return True


def _disown(draft: Draft) -> None:
    """Remove the record's annotation from ``managedFields``: the record then no longer counts as sent by a client."""
    for index, entry in enumerate((draft.document.get("metadata") or {}).get("managedFields") or ()):
        if isinstance(entry, dict):
            draft.remove(("metadata", "managedFields", index, *_FIELDS))


def _unsealed(annotation: str) -> tuple[str, str]:
    """Return (text, seal) of a record; both are empty if the record is too long or has no seal."""
    start = len(annotation) - _TAIL_LENGTH
    if start < 1 or len(annotation) > RECORD.most:
        return "", ""
    seal = annotation[start + len(_BEFORE_SEAL) : -len(_BEHIND_SEAL)]
    text = annotation[:start] + "}"
    return (text, seal) if sealed(text, seal) == annotation else ("", "")


def sealed(text: str, seal: str) -> str:
    """Return the value of the record annotation: the JSON object ``text`` with the seal ``seal`` as its last field.

    ``text`` is the record as a JSON object, which must not be empty.
    """
    return f"{text[:-1]}{_BEFORE_SEAL}{seal}{_BEHIND_SEAL}"


def _decoded(text: str) -> Record:
    """Return the record in a sealed text, without changes that this version of podberth does not know.

    Empty if the text is not a JSON object, or has more changes than podberth reads.
    """
    try:
        decoded = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(decoded, dict):
        return {}
    found = _only(decoded, lambda concern, wrote: concern in CONCERNS and CONCERNS[concern].is_valid(wrote))
    return found if _size(found) <= RECORD_CHANGES.most else {}


def _size(record: Record) -> int:
    """Return the number of recorded changes. Each item of a list counts as a change."""
    lists = (
        part
        for concerns in record.values()
        for wrote in concerns.values()
        for part in (wrote.values() if isinstance(wrote, dict) else (wrote,))
    )
    return sum(len(part) if isinstance(part, list) else 1 for part in lists)


def held(draft: Draft, record: Record) -> Record:
    """Return the changes in ``record`` whose values the pod of ``draft`` still has."""
    there = Present(draft)
    return _only(record, lambda concern, wrote: CONCERNS[concern].holds(there, wrote))


def _only(record: Mapping[str, Any], keep: Callable[[str, Any], bool]) -> Record:
    """Return the changes of a record for which ``keep(mutation, wrote)`` is true.

    A policy without such changes is left out.
    """
    kept = {
        policy: {concern: wrote for concern, wrote in concerns.items() if keep(concern, wrote)}
        for policy, concerns in record.items()
        if isinstance(concerns, dict)
    }
    return {policy: concerns for policy, concerns in kept.items() if concerns}


def add(record: Record, policy: str, changes: Iterable[Change]) -> Record:
    """Return ``record`` with the changes of a policy added; several changes by one mutation are combined."""
    for change in changes:
        record = merged(record, {policy: {change.concern: change.wrote}})
    return record


def merged(record: Record, later: Record) -> Record:
    """Return the changes of both records; two changes of one policy by one mutation are combined (``Concern.join``)."""
    found = dict(record)
    for policy, concerns in later.items():
        before = found.get(policy, {})
        both = {each: CONCERNS[each].join(before[each], concerns[each]) for each in concerns if each in before}
        found[policy] = {**before, **concerns, **both}
    return found


def write(draft: Draft, record: Record, found: FoundRecord, seal: Callable[[str], str]) -> str:
    """Write ``record`` on the pod and return its text, without the seal; an empty record removes the annotation.

    A record that is too large to be read again is not written, and the annotation is removed. If the client sent the
    old record, the annotation is removed from the pod's ``managedFields``. A reinvocation in this request then trusts
    podberth's record.

    Args:
        draft: the pod.
        record: the record to write.
        found: the record that the pod had.
        seal: returns the seal of a text for this pod.

    Returns:
        The text that was sealed; empty if no record was written, for instance because the pod has an equal record.
    """
    if not record and not found.there:
        return ""
    if found.sent:
        _disown(draft)
    if record and record == found.record:
        return ""
    text = orjson.dumps(record).decode() if record else ""
    if not text or len(text) + _TAIL_LENGTH > RECORD.most or _size(record) > RECORD_CHANGES.most:
        draft.remove(PATH)
        return ""
    draft.set(PATH, sealed(text, seal(text)))
    return text

"""The envelope of an AdmissionReview (admission.k8s.io/v1), checked as far as podberth relies on it.

The object stays a plain dict.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ReviewError

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_BAD_REQUEST = 400
# CEL has object and oldObject as names of their own, and no uid: apiserver pkg/admission/plugin/cel/compile.go.
_OUTSIDE_ENVELOPE = frozenset({"uid", "object", "oldObject"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """``request`` of an AdmissionReview, decoded.

    ``object`` and ``old_object`` are decoded JSON or None. ``envelope`` is the request as received without these two
    and the uid: CEL's ``request``.
    ``name`` is empty on creation by generateName.
    """

    uid: str
    group: str
    version: str
    kind: str
    resource: str
    sub_resource: str
    name: str
    namespace: str
    operation: str
    object: dict[str, Any] | None
    old_object: dict[str, Any] | None
    dry_run: bool
    envelope: Mapping[str, Any]
    size_bytes: int | None = None
    """Length of the review as it came, which no object in it exceeds; None where it did not come as text."""


def decode_review(document: object, size_bytes: int | None = None) -> AdmissionRequest:
    """Return the request of an AdmissionReview v1 of that length.

    Raises:
        ReviewError: it is none; the message names the field, what it holds and what it should.
    """
    review = _object(document, "body")
    if review.get("apiVersion") != API_VERSION or review.get("kind") != KIND:
        got = f"{review.get('apiVersion')!r} {review.get('kind')!r}"[:80]
        raise ReviewError(_BAD_REQUEST, f"apiVersion and kind: got {got}, want {API_VERSION} {KIND}")
    raw = _object(review.get("request"), "request")
    uid = _text(raw, "uid")
    if not uid:
        raise ReviewError(_BAD_REQUEST, "request.uid: got an empty string, want the review's uid")
    operation = _text(raw, "operation")
    if operation not in _OPERATIONS:
        raise ReviewError(
            _BAD_REQUEST, f"request.operation: got {operation[:40]!r}, want one of {', '.join(_OPERATIONS)}"
        )
    resource = _object(raw.get("resource"), "request.resource")
    return AdmissionRequest(
        uid=uid,
        group=_text(resource, "group"),
        version=_text(resource, "version"),
        kind=_text(_object(raw.get("kind") or {}, "request.kind"), "kind"),
        resource=_text(resource, "resource"),
        sub_resource=_text(raw, "subResource"),
        name=_text(raw, "name"),
        namespace=_text(raw, "namespace"),
        operation=operation,
        object=_optional_object(raw, "object"),
        old_object=_optional_object(raw, "oldObject"),
        dry_run=raw.get("dryRun") is True,
        envelope={key: value for key, value in raw.items() if key not in _OUTSIDE_ENVELOPE},
        size_bytes=size_bytes,
    )


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReviewError(_BAD_REQUEST, f"{where}: got {type(value).__name__}, want an object")
    return value


def _optional_object(raw: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    value = raw.get(key)
    return None if value is None else _object(value, f"request.{key}")


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    if value is not None and not isinstance(value, str):
        raise ReviewError(_BAD_REQUEST, f"request: {key}: got {type(value).__name__}, want a string")
    return value or ""

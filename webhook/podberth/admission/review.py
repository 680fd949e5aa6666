"""Decodes and checks the envelope of an AdmissionReview (admission.k8s.io/v1).

The reviewed object stays a plain dict; ``checked`` checks its shape.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ReviewError
from ..kube.object_names import MAX_LABEL, is_label
from ..kube.review_limits import excess_of_envelope, outline
from ..kube.shape import envelope_problems, shown, type_name

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_BAD_REQUEST = 400
# CEL has object and oldObject as separate variables, and no uid: apiserver pkg/admission/plugin/cel/compile.go.
_OUTSIDE_ENVELOPE = frozenset({"uid", "object", "oldObject"})
# Names, groups and resources are DNS-1123 subdomains or shorter (DNS1123SubdomainMaxLength), a uid is a UUID of 36
# characters. The answer, the log and traces repeat them.
_LONGEST_TEXT = 253
# The sub-resources whose reviews hold a Pod: kubernetes pkg/registry/core/pod/storage. The others have kinds of their
# own (Binding, Eviction, PodExecOptions), which podberth does not read.
_PODS = frozenset({"", "ephemeralcontainers"})
_POD_KIND = ("", "v1", "Pod")
_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """The field ``request`` of an AdmissionReview, decoded.

    ``object`` and ``old_object`` are decoded JSON or None. ``envelope`` has the other fields of the request, without
    the uid; CEL expressions see ``envelope`` as the variable ``request``. ``name`` is empty on creation by
    generateName. On creation, ``name`` may hold any characters: the API server calls mutating webhooks before checking
    the name, and refuses a wrong name afterwards. Code that makes a path or an Event from ``name`` has to check
    ``name``.
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
    """The length of the review's JSON text in bytes; no object in the review can be larger.

    None if the review was not text.
    """
    excess: str = ""
    """The message about a size bound that the review's text or envelope exceeds (``kube.review_limits``); else empty.

    If the message is not empty, ``envelope`` has none of the lists of the request. In a review that ``checked`` has
    returned, the message may also be about a size bound of the pod or the old pod.
    """
    unparsed: bool = False
    """Whether the review's text has too many values to be parsed completely; then the objects are empty and the labels
    of the objects are unknown."""


def decode_review(document: object, size_bytes: int | None = None, *, unparsed: str = "") -> AdmissionRequest:
    """Return the request of an AdmissionReview v1; ``size_bytes`` is the length of the review's JSON text.

    ``unparsed`` is the message about the bound above which the objects were not parsed; empty if the objects were
    parsed.

    Raises:
        ReviewError: the document is not an AdmissionReview; the message names the field, its value and the expected
            value.
    """
    review = _object(document, "body")
    if review.get("apiVersion") != API_VERSION or review.get("kind") != KIND:
        got = f"{shown(review.get('apiVersion'))} {shown(review.get('kind'))}"[:80]
        raise ReviewError(_BAD_REQUEST, f"apiVersion and kind: got {got}, want {API_VERSION} {KIND}")
    raw = _object(review.get("request"), "request")
    if excess := unparsed or excess_of_envelope(raw, size_bytes):
        raw = outline(raw)
    if problems := envelope_problems(raw):
        raise ReviewError(_BAD_REQUEST, "; ".join(f"request.{each}" for each in problems[:_MOST_PROBLEMS]))
    resource = _object(raw.get("resource"), "request.resource")
    kind = raw.get("kind") or {}
    request = AdmissionRequest(
        uid=_text(raw, "uid"),
        group=_text(resource, "group", "resource."),
        version=_text(resource, "version", "resource."),
        kind=_text(kind, "kind", "kind."),
        resource=_text(resource, "resource", "resource."),
        sub_resource=_text(raw, "subResource"),
        name=_text(raw, "name"),
        namespace=_text(raw, "namespace"),
        operation=_text(raw, "operation"),
        object=raw.get("object"),
        old_object=raw.get("oldObject"),
        dry_run=raw.get("dryRun") is True,
        envelope={key: value for key, value in raw.items() if key not in _OUTSIDE_ENVELOPE},
        size_bytes=size_bytes,
        excess=excess,
        unparsed=bool(unparsed),
    )
    _check_values(request)
    _check_kinds(request, (_text(kind, "group", "kind."), _text(kind, "version", "kind."), request.kind))
    return request


def _check_values(request: AdmissionRequest) -> None:
    if not request.uid:
        raise ReviewError(_BAD_REQUEST, "request.uid: got an empty string, want the review's uid")
    if request.operation not in _OPERATIONS:
        got = f"{request.operation[:40]!r}"
        raise ReviewError(_BAD_REQUEST, f"request.operation: got {got}, want one of {', '.join(_OPERATIONS)}")
    if request.namespace and not is_label(request.namespace):
        want = f"a DNS-1123 label of at most {MAX_LABEL} characters"
        raise ReviewError(_BAD_REQUEST, f"request.namespace: got {request.namespace[:80]!r}, want {want}")
    if request.operation == "CREATE" and request.old_object is not None:
        # Policies would see it, but nothing checks its content. The API server sends null.
        raise ReviewError(_BAD_REQUEST, "request.oldObject: got an object, want null on CREATE")


def _check_kinds(request: AdmissionRequest, kind: tuple[str, str, str]) -> None:
    """Check that the resource and the kind in the request, and the kinds of the objects, belong together.

    ``kind`` is the kind in the request, as (group, version, kind). The API server converts the objects to this kind
    (apiserver pkg/admission/plugin/webhook/request/admissionreview.go).

    Raises:
        ReviewError: the kinds differ.
    """
    pods = (request.group, request.version, request.resource) == ("", "v1", "pods") and request.sub_resource in _PODS
    if pods and kind != _POD_KIND:
        raise ReviewError(_BAD_REQUEST, f"request.kind: got {_shown(kind)}, want v1 Pod, as request.resource is pods")
    group, version, name = kind
    api_version = f"{group}/{version}" if group else version
    for where, document in (("object", request.object), ("oldObject", request.old_object)):
        if document is None:
            continue
        if document.get("kind", name) != name:
            _mismatch(f"{where}.kind", document["kind"], name)
        if document.get("apiVersion", api_version) != api_version:
            _mismatch(f"{where}.apiVersion", document["apiVersion"], api_version)


def _mismatch(where: str, got: object, want: str) -> None:
    raise ReviewError(_BAD_REQUEST, f"request.{where}: got {shown(got)}, want {want[:80]!r}, as in request.kind")


def _shown(kind: tuple[str, str, str]) -> str:
    group, version, name = kind
    return f"{group}/{version} {name}".strip("/ ")[:80] or "nothing"


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReviewError(_BAD_REQUEST, f"{where}: got {type_name(value)}, want an object")
    return value


def _text(holder: Mapping[str, Any], key: str, inside: str = "") -> str:
    """Return the string field ``key`` of an object in the review; empty if the field is absent or null.

    ``inside`` is the path of the object for messages, such as "resource."; empty for the request itself.

    Raises:
        ReviewError: the string is too long.
    """
    value: str = holder.get(key) or ""
    if len(value) > _LONGEST_TEXT:
        got = f"{len(value):,} characters"
        raise ReviewError(_BAD_REQUEST, f"request.{inside}{key}: got {got}, want {_LONGEST_TEXT} at most")
    return value

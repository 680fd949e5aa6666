"""Builds the AdmissionReview responses that podberth sends.

The rules of the API server are in kubernetes pkg/admission/plugin/webhook/request/admissionreview.go. A response has
both patch and patchType, or neither. A denial with a code below 400 gets the code 400. Warnings become HTTP Warning
headers.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ..errors import ReviewError
from ..kube.patch import Patch
from .review import API_VERSION, KIND

# metav1.StatusReason -> HTTP status, for the reasons that VAP allows (admissionregistration/v1 Validation.reason)
CODES: Mapping[str, int] = {"Invalid": 422, "Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}


def allowed(uid: str, warnings: Sequence[str] = (), audit: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the AdmissionReview response that admits the object unchanged.

    ``uid`` is the request's uid; ``audit`` has the audit annotations by key.
    """
    return _review(uid, {"allowed": True}, warnings, audit)


def patched(
    uid: str, patch: Patch, warnings: Sequence[str] = (), audit: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the AdmissionReview response that admits the object with ``patch``; no patch field if ``patch`` is empty.

    ``audit`` has the audit annotations by key.

    Raises:
        ReviewError: the patch is nested too deeply for JSON text.
    """
    if not patch:
        return allowed(uid, warnings, audit)
    try:
        encoded = base64.b64encode(orjson.dumps(patch)).decode("ascii")
    except TypeError as error:  # orjson reads more deeply nested JSON than it writes; no API server sends such a Pod
        raise ReviewError(400, f"request.object: cannot be patched: {error}") from error
    return _review(uid, {"allowed": True, "patchType": "JSONPatch", "patch": encoded}, warnings, audit)


def denied(
    uid: str,
    message: str,
    *,
    reason: str = "Invalid",
    warnings: Sequence[str] = (),
    audit: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the AdmissionReview response that denies the object, with the message for the user.

    ``uid`` is the request's uid; ``audit`` has the audit annotations by key. ``reason`` is a key of CODES, the mapping
    from status reasons to HTTP status codes.
    """
    status = {"status": "Failure", "message": message, "reason": reason, "code": CODES[reason]}
    return _review(uid, {"allowed": False, "status": status}, warnings, audit)


def _review(uid: str, body: dict[str, Any], warnings: Sequence[str], audit: Mapping[str, str] | None) -> dict[str, Any]:
    response = {"uid": uid, **body}
    if warnings:
        response["warnings"] = list(warnings)
    if audit:
        response["auditAnnotations"] = dict(audit)
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}

"""The review that the API server would send for a pod's creation, for those who ask before any pod exists."""

from collections.abc import Mapping
from typing import Any

from ..errors import ReviewError
from .review import API_VERSION, KIND, AdmissionRequest, decode_review

AUTHOR = "author"
"""Who creates the pod unless somebody is named: the author of a manifest, with no groups."""
DEFAULT_NAMESPACE = "default"

_NOBODY = "00000000-0000-0000-0000-000000000000"


def request_of(given: Mapping[str, Any]) -> AdmissionRequest:
    """Return the creation of ``given["object"]``; other fields of an AdmissionReview's ``request`` replace its own.

    The namespace is the object's, ``default`` where it names none.

    Raises:
        ReviewError: this makes no review.
    """
    pod = given.get("object") or given.get("oldObject")
    metadata = (pod.get("metadata") if isinstance(pod, dict) else None) or {}
    if not isinstance(metadata, dict):
        raise ReviewError(400, f"metadata: got {metadata!r}, want an object")
    request = {
        "uid": _NOBODY,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "name": metadata.get("name") or "",
        "namespace": metadata.get("namespace") or DEFAULT_NAMESPACE,
        "userInfo": {"username": AUTHOR},
        "dryRun": False,
        **given,
    }
    return decode_review({"apiVersion": API_VERSION, "kind": KIND, "request": request})

"""Makes the AdmissionReview request of a pod's creation, for decisions about pods that nobody has created yet."""

from collections.abc import Mapping
from typing import Any

from ..errors import ReviewError
from ..kube.shape import shown
from .review import API_VERSION, KIND, AdmissionRequest, decode_review

AUTHOR = "author"
"""The user name in a request for which ``request_of`` is given no user: the author of a manifest, who is in no
groups."""
DEFAULT_NAMESPACE = "default"


def _options(operation: str) -> dict[str, str]:
    return {"apiVersion": "meta.k8s.io/v1", "kind": f"{operation.title()}Options"}


_KIND = {"group": "", "version": "v1", "kind": "Pod"}
_RESOURCE = {"group": "", "version": "v1", "resource": "pods"}
OF_A_CREATION: Mapping[str, Any] = {
    "kind": _KIND,
    "resource": _RESOURCE,
    "requestKind": _KIND,
    "requestResource": _RESOURCE,
    "operation": "CREATE",
    "options": _options("CREATE"),
}
"""The fields of an AdmissionReview's request that are the same for every creation of a pod."""

_NOBODY = "00000000-0000-0000-0000-000000000000"


def request_of(given: Mapping[str, Any]) -> AdmissionRequest:
    """Return the request that the API server would send if the pod ``given["object"]`` were created.

    ``given`` may have further fields of an AdmissionRequest, such as ``operation`` and ``oldObject``: these fields
    replace the fields of a creation, so the request may be an update. If ``given`` has no namespace, the namespace is
    the object's, or else ``default``.

    Raises:
        ReviewError: the given fields do not make a valid review.
    """
    pod = given.get("object") or given.get("oldObject")
    metadata = (pod.get("metadata") if isinstance(pod, dict) else None) or {}
    if not isinstance(metadata, dict):
        raise ReviewError(400, f"metadata: got {shown(metadata)}, want an object")
    request = {
        "uid": _NOBODY,
        **OF_A_CREATION,
        "options": _options(str(given.get("operation") or "CREATE")),
        "name": metadata.get("name") or "",
        "namespace": metadata.get("namespace") or DEFAULT_NAMESPACE,
        "userInfo": {"username": AUTHOR},
        "dryRun": False,
        **given,
    }
    return decode_review({"apiVersion": API_VERSION, "kind": KIND, "request": request})

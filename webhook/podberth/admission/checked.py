"""The pod of a review once it may be looked at: within its bounds (``kube.budget``), and of a Pod's shape.

The bounds come first, for whatever walks a pod takes time in proportion to it, the shape check included.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ReviewError
from ..kube.budget import ANNOTATION_ENTRIES, MAX_BYTES, beyond, excess
from ..kube.shape import shape_problems
from ..wellknown import APPLIED_ANNOTATION
from .review import AdmissionRequest

_MOST_TOLD = 5
# What policies write is some kilobytes; only a pod that is nearly as large as it may be is measured once more.
_ROOM_FOR_POLICIES = 65_536


@dataclass(frozen=True, slots=True)
class Checked:
    """A review that everything behind can rely on."""

    request: AdmissionRequest
    """The review; of one beyond its bounds the objects have nothing but their labels, which say whether a policy is
    about them."""
    pod: dict[str, Any]
    """Its object."""
    excess: str = ""
    """What of the two objects is beyond its bound; empty: nothing."""


def checked(request: AdmissionRequest) -> Checked:
    """Return the review with its pod, and the pod before an update.

    Raises:
        ReviewError: one of them is no Pod; names the first places that are wrong.
    """
    if request.object is not None and (found := excess_of(request)):
        old = request.old_object
        outlined = replace(request, object=_outline(request.object), old_object=old and _outline(old))
        return Checked(outlined, outlined.object or {}, found)
    pod = checked_pod(request)
    if request.old_object is not None and (wrong := shape_problems(request.old_object)):
        raise ReviewError(400, "; ".join(f"request.oldObject: {problem}" for problem in wrong[:_MOST_TOLD]))
    return Checked(request, pod)


def excess_of(request: AdmissionRequest) -> str:
    """Say what of the review's two objects is beyond its bound; empty if nothing."""
    found = excess(request.object, request.size_bytes)
    if found or request.old_object is None:
        return found
    old = excess(request.old_object, request.size_bytes)
    return f"oldObject: {old}" if old else ""


def outgrown(pod: Mapping[str, Any], request: AdmissionRequest) -> str:
    """Say what of a pod policies have made too long; empty: nothing. The record, which comes last, counts.

    A pod that they make too large would be an error of every policy in its next review.
    """
    near = request.size_bytes is not None and request.size_bytes > MAX_BYTES - _ROOM_FOR_POLICIES
    found = excess(pod, None if near else 0)
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    recorded = len(annotations) + (APPLIED_ANNOTATION not in annotations)
    return found or beyond(ANNOTATION_ENTRIES, recorded)


def checked_pod(request: AdmissionRequest) -> dict[str, Any]:
    """Return the review's pod, of whatever size, of a shape that everything behind relies on.

    Raises:
        ReviewError: it is none; names the first places that are wrong.
    """
    problems = ["request.object: got null, want a Pod"] if request.object is None else shape_problems(request.object)
    if problems or request.object is None:
        raise ReviewError(400, "; ".join(problems[:_MOST_TOLD]))
    return request.object


def _outline(pod: dict[str, Any]) -> dict[str, Any]:
    metadata = pod.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return {"metadata": {"labels": labels if isinstance(labels, dict) else {}}, "spec": {}}

"""The check of a review's pod before anything else reads it: its size (``kube.budget``), then its shape.

The size comes first, because every walk over a pod, the shape check included, takes time in proportion to the size.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ReviewError
from ..kube.budget import ANNOTATION_ENTRIES, MAX_BYTES, beyond, excess
from ..kube.shape import shape_problems
from ..wellknown import APPLIED_ANNOTATION
from .review import AdmissionRequest

_MOST_SHOWN = 5
# Policies write some kilobytes; so only a pod that is this close to the limit is measured again.
_ROOM_FOR_POLICIES = 65_536


@dataclass(frozen=True, slots=True)
class CheckedReview:
    """A review with a checked pod: later stages rely on its size and shape."""

    request: AdmissionRequest
    """The review. If it is beyond its bounds, its objects have their labels alone, which matching needs."""
    pod: dict[str, Any]
    """The request's object."""
    excess: str = ""
    """The bound that one of the two objects exceeds, as a message; empty if none does."""


def checked(request: AdmissionRequest) -> CheckedReview:
    """Return the review after a check of its object and old object; objects beyond their bounds are outlined.

    Raises:
        ReviewError: one of the objects is no Pod; the message names the first wrong places.
    """
    if request.object is not None and (found := excess_of(request)):
        old = request.old_object
        outlined = replace(request, object=_outline(request.object), old_object=old and _outline(old))
        return CheckedReview(outlined, outlined.object or {}, found)
    pod = checked_pod(request)
    if request.old_object is not None and (wrong := shape_problems(request.old_object)):
        raise ReviewError(400, "; ".join(f"request.oldObject: {problem}" for problem in wrong[:_MOST_SHOWN]))
    return CheckedReview(request, pod)


def excess_of(request: AdmissionRequest) -> str:
    """Return the message about the bound that one of the review's two objects exceeds; empty if none does."""
    found = excess(request.object, request.size_bytes)
    if found or request.old_object is None:
        return found
    old = excess(request.old_object, request.size_bytes)
    return f"oldObject: {old}" if old else ""


def outgrown(pod: Mapping[str, Any], request: AdmissionRequest) -> str:
    """Return the bound that a pod exceeds after the writes of policies, as a message; empty if it exceeds none.

    The record, which is written last, counts. With a pod beyond a bound, every policy would fail at the next review.
    """
    near = request.size_bytes is not None and request.size_bytes > MAX_BYTES - _ROOM_FOR_POLICIES
    found = excess(pod, None if near else 0)
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    recorded = len(annotations) + (APPLIED_ANNOTATION not in annotations)
    return found or beyond(ANNOTATION_ENTRIES, recorded)


def checked_pod(request: AdmissionRequest) -> dict[str, Any]:
    """Return the review's pod after a check of its shape, whatever its size.

    Raises:
        ReviewError: the object is no Pod; the message names the first wrong places.
    """
    problems = ["request.object: got null, want a Pod"] if request.object is None else shape_problems(request.object)
    if problems or request.object is None:
        raise ReviewError(400, "; ".join(problems[:_MOST_SHOWN]))
    return request.object


def _outline(pod: dict[str, Any]) -> dict[str, Any]:
    metadata = pod.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return {"metadata": {"labels": labels if isinstance(labels, dict) else {}}, "spec": {}}

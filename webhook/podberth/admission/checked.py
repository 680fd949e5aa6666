"""Checks the pod of a review: first its size (``kube.pod_limits``), then its shape.

The size is checked first, because every walk over a pod, the shape check included, takes time in proportion to the size
of the pod.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ..errors import ReviewError
from ..kinds.dossiers import DOSSIERS
from ..kube.pod_limits import ANNOTATION_ENTRIES, MAX_BYTES, beyond, excess
from ..kube.shape import shape_problems
from ..kube.unchecked import at, text
from ..wellknown import APPLIED_ANNOTATION
from .review import AdmissionRequest

PARSED: Final = tuple(each for row in DOSSIERS for each in row.parsed)
"""The limits of the annotations whose texts podberth parses, from the dossiers of foreign controllers (``kinds``)."""
_MOST_SHOWN = 5
# Policies write some kilobytes; so only a pod that is this close to the limit is measured again.
_ROOM_FOR_POLICIES = 65_536


def checked(request: AdmissionRequest) -> AdmissionRequest:
    """Check the size and the shape of a review's object and old object, and return the checked review.

    If an object or the review itself is too large, the result has the message about the size in ``excess``, and only
    the labels of the object and the old object, which matching needs. Otherwise, the result is ``request`` itself.

    Raises:
        ReviewError: one of the objects is not a Pod; the message names the first fields that are wrong.
    """
    if request.object is not None and (found := request.excess or excess_of(request)):
        old = request.old_object
        return replace(request, object=_outline(request.object), old_object=old and _outline(old), excess=found)
    checked_pod(request)
    if request.old_object is not None and (wrong := shape_problems(request.old_object)):
        raise ReviewError(400, "; ".join(f"request.oldObject: {problem}" for problem in wrong[:_MOST_SHOWN]))
    return request


def excess_of(request: AdmissionRequest) -> str:
    """Return the message about a size bound that the review's object or old object exceeds; else empty."""
    found = _excess(request.object, request.size_bytes)
    if found or request.old_object is None:
        return found
    old = _excess(request.old_object, request.size_bytes)
    return f"oldObject: {old}" if old else ""


def _excess(pod: object, at_most_bytes: int | None) -> str:
    """Return the message about a size bound that a pod exceeds; empty if the pod exceeds none.

    ``at_most_bytes`` is the size of the pod's JSON, or a larger number. If None, the function measures the pod.
    """
    found = excess(pod, at_most_bytes)
    annotations = at(pod, "metadata", "annotations")
    if found or not isinstance(annotations, dict):
        return found
    long = (each for each in PARSED if at_most_bytes is None or at_most_bytes > each.most)
    return next(filter(None, (beyond(each, len(text(annotations.get(each.path[-1])))) for each in long)), "")


def excess_after_writes(pod: Mapping[str, Any], request: AdmissionRequest) -> str:
    """Return the message about a size bound that a pod exceeds after the policies' writes; empty if it is small enough.

    ``request`` has the size of the review's text: the bytes of the changed pod are counted only if that size is near
    the bound for a pod. The record annotation, which podberth writes last, counts as one more annotation.
    """
    near = request.size_bytes is not None and request.size_bytes > MAX_BYTES - _ROOM_FOR_POLICIES
    found = _excess(pod, None if near else 0)
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    recorded = len(annotations) + (APPLIED_ANNOTATION not in annotations)
    return found or beyond(ANNOTATION_ENTRIES, recorded)


def checked_pod(request: AdmissionRequest) -> dict[str, Any]:
    """Return the review's pod after a check of the pod's shape; the pod's size is not checked.

    Raises:
        ReviewError: the object is not a Pod; the message names the first fields that are wrong.
    """
    problems = ["request.object: got null, want a Pod"] if request.object is None else shape_problems(request.object)
    if problems or request.object is None:
        raise ReviewError(400, "; ".join(problems[:_MOST_SHOWN]))
    return request.object


def _outline(pod: dict[str, Any]) -> dict[str, Any]:
    metadata = pod.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return {"metadata": {"labels": labels if isinstance(labels, dict) else {}}, "spec": {}}

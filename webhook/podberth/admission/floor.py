"""Undoes the writes of the floor on a new pod, so that podberth decides as if the floor were not installed.

The floor (manifests/components/floor) is a set of native policies, which the API server evaluates before it calls
podberth. They write on a pod what the pod needs if podberth does not answer, and mark the pod with the label
``podberth.io/floor``. The annotation of the same name says what they wrote: words, each of them the taint of a
toleration (``KEY:EFFECT`` or ``KEY=VALUE:EFFECT``), or ``gang`` for the label ``podberth.io/gang``.

Anybody can write the label and the annotation. A pod whose author does so is decided on without the tolerations and the
gang that the annotation names, which the author could have left out as well.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ..kube.patch import Draft, apply
from ..kube.pod_limits import LARGEST
from ..kube.unchecked import at, list_at, mapping_at, text_at
from ..wellknown import FLOOR_KEY, GANG_LABEL
from . import answering
from .outcome import Outcome
from .review import AdmissionRequest

_GANG: Final = "gang"
_MOST_CHARACTERS: Final = 16_384
"""The maximum length of the floor's annotation, which has a word for each taint that nodes with accelerators have."""
_MOST_TOLERATIONS: Final = LARGEST["spec", "tolerations"]


def without_floor(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the pod without the writes of the floor's native policies; ``pod`` itself if they wrote nothing.

    The pod may have any shape. A pod with more tolerations, or a longer annotation of the floor, than podberth reads is
    returned unchanged: the time does not depend on the pod's size.
    """
    metadata = at(pod, "metadata")
    marked = [field for field in ("labels", "annotations") if FLOOR_KEY in mapping_at(metadata, field)]
    if not marked:
        return pod
    tolerations, text = list_at(pod, "spec", "tolerations"), text_at(metadata, "annotations", FLOOR_KEY)
    if len(tolerations) > _MOST_TOLERATIONS or len(text) > _MOST_CHARACTERS:
        return pod
    words = frozenset(text.split())
    for field in marked:
        metadata = _with(metadata, field, _without_key(metadata[field], FLOOR_KEY))
    if _GANG in words:
        labels = mapping_at(metadata, "labels")
        metadata = _with(metadata, "labels", _without_key(labels, GANG_LABEL)) if labels else metadata
    bare = {**pod, "metadata": metadata}
    kept = [each for each in tolerations if _word(each) not in words]
    return bare if len(kept) == len(tolerations) else {**bare, "spec": _with(pod["spec"], "tolerations", kept)}


def before_floor(request: AdmissionRequest) -> AdmissionRequest:
    """Return the review with the pod without the writes of the floor's native policies.

    The result is ``request`` itself if they wrote nothing on the pod.
    """
    bare = request.object and without_floor(request.object)
    return request if bare is request.object else replace(request, object=bare)


def after_floor(request: AdmissionRequest, bare: AdmissionRequest, outcome: Outcome) -> Outcome:
    """Return the outcome with a patch for the pod of ``request``, on which the floor's native policies have written.

    ``bare`` is ``before_floor(request)``, and ``outcome`` is the outcome for ``bare``. Both patches lead to the same
    pod. A value that the floor has already written is not in the new patch, and the floor's other writes are removed.
    """
    if request is bare or outcome.verdict == "denied" or request.object is None or bare.object is None:
        return outcome
    draft = Draft(request.object)
    draft.become(apply(bare.object, outcome.patch))
    return answering.of_patch(request, outcome.decisions, draft.patch(), outcome.warnings)


def _with(holder: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Return a copy of ``holder`` with the value at ``key``; without the key if the value is empty."""
    return {**holder, key: value} if value else _without_key(holder, key)


def _without_key(holder: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in holder.items() if name != key}


def _word(toleration: object) -> str:
    """Return a toleration's taint as in the floor's annotation: ``KEY:EFFECT`` or ``KEY=VALUE:EFFECT``.

    The result is empty if the toleration has another form than those that the floor's native policies write.
    """
    key, value, effect = (text_at(toleration, field) for field in ("key", "value", "effect"))
    if toleration == {"key": key, "operator": "Exists", "effect": effect}:
        return f"{key}:{effect}"
    if toleration == {"key": key, "operator": "Equal", "value": value, "effect": effect}:
        return f"{key}={value}:{effect}"
    return ""

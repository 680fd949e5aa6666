"""Reduces a pod to the labels and annotations from which its gang is read.

The controller keeps only these labels and annotations, because it keeps thousands of pods. The gang of the reduced pod
lacks only facts that are read from the pod's spec: the scheduler, and the number of nodes of a KServe model.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kube.pod import annotations, controller, labels, metadata
from ..wellknown import GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from .memberships import LAST, OPERATORS

GANG_KEYS: Final = frozenset(
    {
        GANG_ACCELERATED_ANNOTATION,
        GANG_LABEL,
        GANG_SIZE_ANNOTATION,
        *(key for row in (*OPERATORS, *LAST) for key in (row.label, row.annotation, row.role) if key),
        *(key for row in DOSSIERS for key in row.pod_keys),
    }
)

LONGEST: Final = 253
"""The longest value that is kept: the maximum of a name (apimachinery DNS1123SubdomainMaxLength).

An annotation may have 256 KiB, and a label value in a review any length.
"""


def with_gang_keys(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a Pod with only the fields that decide the Pod's gang.

    The fields are the name, the controller reference, and the labels, annotations and fields that name a gang. A value
    that is longer than a name of Kubernetes can be (LONGEST) is left out, and counts as unknown.
    """
    owner = controller(pod)
    kept: dict[str, Any] = {
        "name": metadata(pod).get("name"),
        "labels": _kept(labels(pod)),
        "annotations": _kept(annotations(pod)),
    }
    if owner is not None:
        named = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
        kept["ownerReferences"] = [{**named, "controller": True}]
    return {"metadata": kept}


def _kept(said: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in said.items() if key in GANG_KEYS and len(value) <= LONGEST}

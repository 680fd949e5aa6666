"""The labels and annotations of a pod that say its gang, for whoever keeps thousands of pods.

``gangs.gang_of`` says the same of a pod with these alone, but for what stands in a pod's spec: that says who schedules
it, or how many nodes a KServe model is on.
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
"""Of a value that is kept: names, which may be as long (apimachinery DNS1123SubdomainMaxLength), and numbers.

An annotation may be of 256 KiB, and a label value in a review of any length.
"""


def with_gang_keys(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Pod of these labels and annotations, its name and its controller alone.

    An annotation that is longer than any name is left out, and so what it says is unknown.
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

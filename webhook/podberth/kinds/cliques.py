"""PodCliques: what Grove writes on pods, of a PodCliqueSet by itself and of one that Dynamo makes."""

from typing import Any

from ..kube.unchecked import count
from .places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Scene
from .stamping import add_labels, own


def _gang_name(scene: Scene) -> str:
    """Return the first gang of a PodCliqueSet; which of several a pod is in stands for none."""
    alone = scene.document.get("kind") != "PodCliqueSet" or count(scene.spec.get("replicas"), 1) == 1
    return f"{scene.name}-{0 if alone else PLACEHOLDER_HASH}"


def stamp_clique(pod: dict[str, Any], scene: Scene, clique: str) -> None:
    """Write what Grove's operator writes (ai-dynamo/grove operator/api/common/labels.go and namegen.go)."""
    add_labels(
        pod,
        {
            "app.kubernetes.io/managed-by": "grove-operator",
            "app.kubernetes.io/part-of": scene.name,
            "grove.io/podclique": f"{scene.name}-0-{clique}",
            "grove.io/podgang": _gang_name(scene),
            "grove.io/podcliqueset-replica-index": "0",
            "grove.io/podclique-pod-index": "0",
        },
    )
    own(pod, "grove.io/v1alpha1", "PodClique", f"{scene.name}-0-{clique}", PLACEHOLDER_UID)

"""Adds the labels and owners that Grove writes on the pods of PodCliques, in a user's or Dynamo's PodCliqueSet."""

from typing import Any

from ..kube.unchecked import count
from .places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Scene
from .stamping import add_labels, own


def stamp_clique(pod: dict[str, Any], scene: Scene, clique: str) -> None:
    """Add to a pod the fields that Grove's operator writes on the first pod of the PodClique named ``clique``.

    Source: ai-dynamo/grove operator/api/common/labels.go and namegen.go.
    """
    # If the set has several gangs, a placeholder stands for the gang's number.
    alone = scene.document.get("kind") != "PodCliqueSet" or count(scene.spec.get("replicas"), 1) == 1
    add_labels(
        pod,
        {
            "app.kubernetes.io/managed-by": "grove-operator",
            "app.kubernetes.io/part-of": scene.name,
            "grove.io/podclique": f"{scene.name}-0-{clique}",
            "grove.io/podgang": f"{scene.name}-{0 if alone else PLACEHOLDER_HASH}",
            "grove.io/podcliqueset-replica-index": "0",
            "grove.io/podclique-pod-index": "0",
        },
    )
    own(pod, "grove.io/v1alpha1", "PodClique", f"{scene.name}-0-{clique}", PLACEHOLDER_UID)

"""The parts of every operator's stamp. A stamp writes on a Pod that is its own, whose shape has been checked."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..kube.shape import RESOURCED_LISTS
from .places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Scene


def add_labels(pod: dict[str, Any], labels: Mapping[str, str]) -> None:
    """Write labels over those of the template."""
    metadata = pod["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}


def add_annotations(pod: dict[str, Any], annotations: Mapping[str, str]) -> None:
    """Write annotations over those of the template."""
    metadata = pod["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}


def own(pod: dict[str, Any], api_version: str, kind: str, name: str, uid: str) -> None:
    """Write the owner and the name to come (GetPodFromTemplate, kubernetes pkg/controller/controller_utils.go)."""
    pod["metadata"]["generateName"] = f"{name}-"
    pod["metadata"]["ownerReferences"] = [
        {
            "apiVersion": api_version,
            "kind": kind,
            "name": name,
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def owned_by_workload(pod: dict[str, Any], scene: Scene) -> None:
    """Write the workload itself as the owner, as an operator does that makes its pods without help."""
    version, kind = scene.document.get("apiVersion"), scene.document.get("kind")
    own(pod, str(version), str(kind), scene.name, scene.uid)


def own_by_deployment(pod: dict[str, Any], name: str) -> None:
    """Write what the Deployment and ReplicaSet controllers write (kubernetes pkg/controller/deployment/sync.go)."""
    own(pod, "apps/v1", "ReplicaSet", f"{name}-{PLACEHOLDER_HASH}", PLACEHOLDER_UID)
    add_labels(pod, {"pod-template-hash": PLACEHOLDER_HASH})


def set_name(pod: dict[str, Any], name: str) -> None:
    """Write a name, which takes the place of one to be generated."""
    pod["metadata"].pop("generateName", None)
    pod["metadata"]["name"] = name


def containers(pod: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pod's containers and init containers."""
    for field in RESOURCED_LISTS:
        yield from pod["spec"].get(field) or ()


def add_env(container: dict[str, Any], entry: Mapping[str, Any]) -> None:
    """Add a variable to a container that does not name it."""
    env = list(container.get("env") or ())
    if all(each.get("name") != entry["name"] for each in env):
        container["env"] = [*env, dict(entry)]

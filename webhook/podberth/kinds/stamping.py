"""Writes the fields of operators on a predicted pod: labels, owners, names, environment variables, mounts.

Each function changes a copy of a Pod whose shape has been checked.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..kube.shape import RESOURCED_LISTS
from ..kube.unchecked import mapping_at
from .places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Scene

# kubernetes/api apps/v1 types.go DefaultDeploymentUniqueLabelKey
POD_TEMPLATE_HASH: Final = "pod-template-hash"
"""The label with the hash that ends the name of a Deployment's ReplicaSet."""


def add_labels(pod: dict[str, Any], labels: Mapping[str, str]) -> None:
    """Write labels on a pod. A label of the template with an equal key is replaced."""
    metadata = pod["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}


def add_annotations(pod: dict[str, Any], annotations: Mapping[str, str]) -> None:
    """Write annotations on a pod. An annotation of the template with an equal key is replaced."""
    metadata = pod["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}


def own(pod: dict[str, Any], api_version: str, kind: str, name: str, uid: str) -> None:
    """Add to a pod the owner reference to an object, and the generateName that follows from the object's name.

    Source: GetPodFromTemplate, kubernetes/kubernetes pkg/controller/controller_utils.go.
    """
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
    """Add to a pod the owner reference to the workload, for operators that make pods without a Job or StatefulSet."""
    version, kind = scene.document.get("apiVersion"), scene.document.get("kind")
    own(pod, str(version), str(kind), scene.name, scene.uid)


def own_by_replica_set(pod: dict[str, Any], name: str, label: str) -> None:
    """Add to a pod the fields that come from a ReplicaSet made by the object ``name``, which labels pods with a hash.

    The ReplicaSet has the object's name and the hash as its name.
    """
    own(pod, "apps/v1", "ReplicaSet", f"{name}-{PLACEHOLDER_HASH}", PLACEHOLDER_UID)
    add_labels(pod, {label: PLACEHOLDER_HASH})


def own_by_deployment(pod: dict[str, Any], name: str) -> None:
    """Add to a pod the fields that the Deployment and ReplicaSet controllers write.

    Source: kubernetes/kubernetes pkg/controller/deployment/sync.go.
    """
    own_by_replica_set(pod, name, POD_TEMPLATE_HASH)


def owned_by_deployment(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that the controllers of a Deployment with the workload's name write."""
    own_by_deployment(pod, scene.name)


def set_name(pod: dict[str, Any], name: str) -> None:
    """Set the name of a pod, and remove the pod's generateName."""
    pod["metadata"].pop("generateName", None)
    pod["metadata"]["name"] = name


def containers(pod: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pod's containers and init containers."""
    for field in RESOURCED_LISTS:
        yield from pod["spec"].get(field) or ()


def add_env(container: dict[str, Any], entry: Mapping[str, Any]) -> None:
    """Add an environment variable to a container, unless the container has a variable with that name."""
    env = list(container.get("env") or ())
    if all(each.get("name") != entry["name"] for each in env):
        container["env"] = [*env, dict(entry)]


def with_amounts(resources: Mapping[str, Any], amounts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a container's ``resources`` with the limits and requests in ``amounts``, which replace equal resources."""
    return {**resources, **{side: {**mapping_at(resources, side), **more} for side, more in amounts.items()}}


def mount_shared_memory(
    pod: dict[str, Any], container: dict[str, Any], name: str, size: object = None, *, replace: bool = False
) -> None:
    """Mount a memory volume at /dev/shm in a container that mounts no volume at /dev/shm.

    The volume has no size limit if ``size`` is None.

    ``name`` is the volume's name. With ``replace``, the volume also replaces the user's own mount at /dev/shm and the
    user's volume called ``name``.
    """
    mounts = list(container.get("volumeMounts") or ())
    volumes = list(pod["spec"].get("volumes") or ())
    if replace:
        mounts = [each for each in mounts if not _is_shared_memory(each) and each.get("name") != name]
        volumes = [each for each in volumes if each.get("name") != name]
    elif any(_is_shared_memory(each) for each in mounts):
        return
    container["volumeMounts"] = [*mounts, {"name": name, "mountPath": _SHARED_MEMORY}]
    if all(each.get("name") != name for each in volumes):
        memory = {"medium": "Memory"} if size is None else {"medium": "Memory", "sizeLimit": str(size)}
        volumes.append({"name": name, "emptyDir": memory})
    pod["spec"]["volumes"] = volumes


def _is_shared_memory(mount: Mapping[str, Any]) -> bool:
    path = mount.get("mountPath")
    return isinstance(path, str) and path.rstrip("/") == _SHARED_MEMORY


_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a path in the pod

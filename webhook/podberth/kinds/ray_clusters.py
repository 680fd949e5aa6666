"""The paths of a RayCluster's pod templates, in a RayCluster and in objects from which KubeRay makes RayClusters.

The module also writes the fields that KubeRay adds to pods.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..kube.paths import ELEMENT
from ..kube.unchecked import LARGEST_SIZE, at, count, mapping_at, text
from .jobs import stamp_job
from .places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Found, Scene, TemplatePlace, WorkloadKind
from .roles import predicted, read_once
from .stamping import add_labels, mount_shared_memory, own

CLUSTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "RayClusterFleet": ("template", "spec"),
    "RayClusterReplicaSet": ("template", "spec"),
    "RayCronJob": ("jobTemplate", "rayClusterSpec"),
    "RayJob": ("rayClusterSpec",),
    "RayService": ("rayClusterConfig",),
}
"""The path from the spec of each kind that makes RayClusters to the spec of the RayCluster."""


def _cluster_path(scene: Scene) -> tuple[str, ...]:
    return CLUSTERS.get(str(scene.document.get("kind")), ())


def _cluster(scene: Scene) -> Found:
    """Return the RayCluster from which gangs are read: the document itself, or the RayCluster inside the document."""
    below = _cluster_path(scene)
    return read_once(scene.document, _cluster_of, _cluster_name(scene), *below) if below else scene.document


def _cluster_of(document: Found, name: str, *below: str) -> Found:
    metadata = {"name": name, "labels": at(document, "metadata", "labels")}
    return predicted("ray.io/v1", "RayCluster", metadata, mapping_at(document, "spec", *below))


def _cluster_name(scene: Scene) -> str:
    return f"{scene.name}-{PLACEHOLDER_HASH}" if _cluster_path(scene) else scene.name


def _stamp_ray(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that KubeRay's BuildPod writes.

    Source: ray-project/kuberay ray-operator/controllers/ray/common/pod.go.
    """
    head = scene.path[-2] == "headGroupSpec"
    group = "headgroup" if head else text(scene.item.get("groupName"))
    name = _cluster_name(scene)
    node_type = "head" if head else "worker"
    add_labels(
        pod,
        {
            "app.kubernetes.io/created-by": "kuberay-operator",
            "app.kubernetes.io/name": "kuberay",
            "ray.io/cluster": name,
            "ray.io/group": group,
            "ray.io/identifier": f"{name}-{node_type}",
            "ray.io/is-ray-node": "yes",
            "ray.io/node-type": node_type,
        },
    )
    own(pod, "ray.io/v1", "RayCluster", name, PLACEHOLDER_UID if _cluster_path(scene) else scene.uid)
    said = mapping_at(scene.document, *(str(step) for step in scene.path[:-1])) if head else scene.item
    _mount_object_store(pod, mapping_at(said, "rayStartParams"))


def _mount_object_store(pod: dict[str, Any], start: Found) -> None:
    """Mount a memory volume at /dev/shm for Ray's object store, unless the start parameters place the store elsewhere.

    Source: ray-project/kuberay ray-operator/controllers/ray/common/pod.go BuildPod, addEmptyDir, makeEmptyDirVolume,
    findMemoryReqOrLimit: the volume is as large as the first container's memory.
    """
    containers = pod["spec"]["containers"]
    if not containers or "plasma-directory" in start:
        return
    asked = containers[0].get("resources")
    memory = at(asked, "requests", "memory") or at(asked, "limits", "memory")
    mount_shared_memory(pod, containers[0], "shared-mem", memory)


def _workers(scene: Scene) -> int:
    if mapping_at(_cluster(scene), "spec").get("enableInTreeAutoscaling") is True:
        return 0
    return ray_workers(scene.item)


def _stamp_submitter(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that KubeRay and the Job controller write on the pod that submits a RayJob.

    Source: ray-operator/controllers/ray/rayjob_controller.go.
    """
    stamp_job(pod, scene.name, PLACEHOLDER_UID, {})


def ray_kind(kind: str, submitter: tuple[str, ...] = ()) -> WorkloadKind:
    """Return the facts about the kind RayCluster, or about a kind from whose objects KubeRay makes RayClusters.

    The facts are the paths of the kind's pod templates. ``submitter`` is the path of the template of the pod that
    submits a RayJob; empty if the kind has no such template.
    """
    path = ("spec", *CLUSTERS.get(kind, ()))
    places = [
        TemplatePlace(
            path=(*path, "headGroupSpec", "template"), stamp=_stamp_ray, role="head", owner=_cluster, optional=True
        ),
        TemplatePlace(
            path=(*path, "workerGroupSpecs", ELEMENT, "template"), stamp=_stamp_ray, replicas=_workers, owner=_cluster
        ),
    ]
    if submitter:
        places.append(TemplatePlace(path=submitter, stamp=_stamp_submitter, role="submitter", optional=True))
    return WorkloadKind(
        api_versions=frozenset({"ray.io/v1", "ray.io/v1alpha1"}),
        kind=kind,
        source="ray-project/kuberay ray-operator/apis/ray/v1",
        places=tuple(places),
    )


def ray_workers(group: object) -> int:
    """Return the number of pods of a worker group: ``replicas``, within minimum and maximum, times ``numOfHosts``.

    The result is 0 if the group is suspended. Source: ray-project/kuberay ray-operator/controllers/ray/utils/util.go
    GetWorkerGroupDesiredReplicas.
    """
    if at(group, "suspend") is True:
        return 0
    least, most = count(at(group, "minReplicas")), count(at(group, "maxReplicas"), LARGEST_SIZE)
    said = count(at(group, "replicas"))
    return (least if said < least else min(said, most)) * count(at(group, "numOfHosts"), 1)

"""NIM: the operator of NVIDIA's inference microservices."""

from dataclasses import replace
from typing import Any, Final

from ...kube.unchecked import at, count, mapping_at, unread
from ..dossier import Dossier
from ..forms import COMPONENT
from ..leader_workers import stamp_group
from ..places import Found, Place, Scene, WorkloadKind
from ..roles import Predicted
from ..stamping import add_labels, mount_shared_memory, own_by_deployment
from ..words import words

_NIM: Final = replace(
    COMPONENT,
    fields=words("affinity nodeSelector priorityClassName runtimeClassName schedulerName tolerations"),
    front=((),),
    front_fields={name: name for name in ("args", "command", "env", "resources")},
    front_always=True,
)
"""A NIMServiceSpec: fields of one container among those of the pod; its ``image`` is an object."""


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write the stamp of the standalone platform (NVIDIA/k8s-nim-operator api/apps/v1alpha1/nimservice_types.go)."""
    add_labels(pod, {"app": scene.name, "app.kubernetes.io/name": scene.name})
    main, image = pod["spec"]["containers"][0], mapping_at(scene.spec, "image")
    main["name"] = f"{scene.name}-ctr"
    main["image"] = f"{image.get('repository')}:{image.get('tag')}"
    # NVIDIA/k8s-nim-operator f63f74d7 nimservice_types.go GetVolumes, GetVolumeMounts
    mount_shared_memory(pod, main, "dshm", mapping_at(scene.spec, "storage").get("sharedMemorySizeLimit"), replace=True)
    own_by_deployment(pod, scene.name)


def _nodes(spec: Found) -> int:
    """Return the pods of a replica: the pipeline's stages (nimservice_types.go GetLWSSize, GetDeploymentKind)."""
    return max(count(at(spec, "multiNode", "parallelism", "pipeline"), 1), 1)


def _stamp_pod(pod: dict[str, Any], scene: Scene) -> None:
    """Write the pod of a Deployment, or of a group of several nodes a worker's; its leader asks for the same.

    Source: internal/controller/platform/standalone/nimservice.go, manifests/lws.yaml.
    """
    _stamp(pod, scene)
    nodes = _nodes(scene.spec)
    if nodes > 1:
        pod["metadata"]["labels"].pop("pod-template-hash")
        stamp_group(pod, f"{scene.name}-lws", nodes, leader=False)
        pod["spec"]["containers"][0]["resources"] = _resources(scene.spec)


def _resources(spec: Found) -> Found:
    """Return the resources of a node; one that names no GPUs gets its part of the tensors (addGPUResources)."""
    said = mapping_at(spec, "resources")
    named = any(_GPU in mapping_at(said, side) for side in ("limits", "requests")) or spec.get("draResources")
    gpus = count(at(spec, "multiNode", "parallelism", "tensor"), 1)
    asked = {} if named or not gpus else {_GPU: gpus}
    return {**said, **({side: {**mapping_at(said, side), **asked} for side in ("limits", "requests")} if asked else {})}


def _group(scene: Scene) -> Found:
    """Predict the LeaderWorkerSet of a service over several nodes; a service on one node has none."""
    nodes = _nodes(scene.spec)
    if nodes == 1:
        return scene.document
    main = {"name": "main", "resources": _resources(scene.spec)}
    # What its claims are for stands elsewhere.
    template = {} if scene.spec.get("draResources") else {"spec": {"containers": [main]}}
    return Predicted(
        {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": mapping_at(scene.document, "metadata"),
            "spec": {"leaderWorkerTemplate": {"size": nodes, "workerTemplate": template}},
        }
    )


def _replicas(scene: Scene) -> int:
    """Return the pods of all replicas; of a pipeline that is no number, only the operator knows."""
    pipeline = at(scene.spec, "multiNode", "parallelism", "pipeline")
    return 0 if unread(pipeline) else count(scene.spec.get("replicas"), 1) * _nodes(scene.spec)


_GPU: Final = "nvidia.com/gpu"


DOSSIER: Final = Dossier(
    name="NIMService",
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"apps.nvidia.com/v1alpha1"}),
            kind="NIMService",
            source="NVIDIA/k8s-nim-operator api/apps/v1alpha1/nimservice_types.go",
            places=(
                Place(
                    path=("spec",),
                    form=_NIM,
                    stamp=_stamp_pod,
                    replicas=_replicas,
                    owner=_group,
                    lacks=frozenset({"schedulingGroup"}),
                ),
            ),
        ),
    ),
    podless_kinds=frozenset({"apps.nvidia.com/v1alpha1/NIMCache"}),
)

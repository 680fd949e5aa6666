"""Facts about NIM: the operator of NVIDIA's inference microservices."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from ...devices.resources import NVIDIA_GPU
from ...kube.paths import ELEMENT, Path
from ...kube.positions import render_path
from ...kube.unchecked import at, count, mapping_at, unread
from ..dossier import Dossier
from ..forms import COMPONENT, find
from ..leader_workers import predicted_group, stamp_group
from ..name_sets import under, words
from ..places import Found, Scene, TemplatePlace, WorkloadKind, always
from ..stamping import add_labels, mount_shared_memory, own_by_deployment, with_amounts

_NIM: Final = replace(
    COMPONENT,
    fields=words("affinity nodeSelector priorityClassName runtimeClassName schedulerName tolerations"),
    front=((),),
    front_fields={name: name for name in ("args", "command", "env", "resources")},
    front_always=True,
)
"""The ``Form`` of a NIMServiceSpec, which has fields of the pod and of one container; its ``image`` is an object."""


def _spec(scene: Scene) -> Found:
    """Return the spec of a NIMService, or of a service in a NIMPipeline (nimpipeline_types.go)."""
    return mapping_at(find(scene.document, scene.path))


def _name(scene: Scene) -> str:
    return scene.key or scene.name


def _is_enabled(scene: Scene) -> bool:
    """Return whether a service in a NIMPipeline has ``enabled: true``; the operator makes only these services.

    Source: internal/controller/nimpipeline_controller.go.
    """
    return scene.item.get("enabled") is True


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that the operator's standalone platform writes.

    Source: NVIDIA/k8s-nim-operator api/apps/v1alpha1/nimservice_types.go.
    """
    name = _name(scene)
    add_labels(pod, {"app": name, "app.kubernetes.io/name": name})
    main, image = pod["spec"]["containers"][0], mapping_at(_spec(scene), "image")
    main["name"] = f"{name}-ctr"
    main["image"] = f"{image.get('repository')}:{image.get('tag')}"
    # NVIDIA/k8s-nim-operator nimservice_types.go GetVolumes, GetVolumeMounts
    mount_shared_memory(
        pod, main, "dshm", mapping_at(_spec(scene), "storage").get("sharedMemorySizeLimit"), replace=True
    )
    own_by_deployment(pod, name)


def _nodes(spec: Found) -> int:
    """Return a replica's number of pods: the pipeline stages (nimservice_types.go GetLWSSize, GetDeploymentKind)."""
    return max(count(at(spec, "multiNode", "parallelism", "pipeline"), 1), 1)


def _stamp_pod(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that the operator and the Deployment (one node) or LeaderWorkerSet (several) write.

    A pod of a LeaderWorkerSet gets the fields of a worker; the real leader requests the same resources. Source:
    internal/controller/platform/standalone/nimservice.go, manifests/lws.yaml.
    """
    _stamp(pod, scene)
    nodes = _nodes(_spec(scene))
    if nodes > 1:
        pod["metadata"]["labels"].pop("pod-template-hash")
        stamp_group(pod, f"{_name(scene)}-lws", nodes, leader=False)
        pod["spec"]["containers"][0]["resources"] = _resources(_spec(scene))


def _resources(spec: Found) -> Found:
    """Return the resources of one pod; if the spec names no GPUs, the GPUs for tensor parallelism are added.

    Source: addGPUResources.
    """
    gpus = _tensors(spec)
    asked = {side: {NVIDIA_GPU: gpus} for side in ("limits", "requests")} if gpus else {}
    return with_amounts(mapping_at(spec, "resources"), asked)


def _tensors(spec: Found) -> int:
    """Return the number of GPUs of one pod for tensor parallelism; 0 if the spec's resources name GPUs or claims."""
    said = mapping_at(spec, "resources")
    named = any(NVIDIA_GPU in mapping_at(said, side) for side in ("limits", "requests")) or spec.get("draResources")
    return 0 if named else count(at(spec, "multiNode", "parallelism", "tensor"), 1)


def _asked_as_tensors(scene: Scene) -> Iterator[tuple[Path, str]]:
    if _nodes(_spec(scene)) > 1 and _tensors(_spec(scene)):
        where = render_path((*scene.path, "multiNode", "parallelism", "tensor"))
        for side in ("limits", "requests"):
            yield ("spec", "containers", 0, "resources", side, NVIDIA_GPU), f"asked for in {where}; change it there"


def _group(scene: Scene) -> Found:
    """Return the LeaderWorkerSet of a service on several nodes; for a service on one node, the document itself."""
    spec = _spec(scene)
    nodes = _nodes(spec)
    if nodes == 1:
        return scene.document
    main = {"name": "main", "resources": _resources(spec)}
    # The devices of ``draResources`` are stated in other objects, so the requirements of the pods are unknown.
    template = {} if spec.get("draResources") else {"spec": {"containers": [main]}}
    return predicted_group(scene.document, {"size": nodes, "workerTemplate": template})


def _replicas(scene: Scene) -> int:
    """Return the number of pods of all replicas; 0 if the pipeline size is no number, and so unknown."""
    spec = _spec(scene)
    pipeline = at(spec, "multiNode", "parallelism", "pipeline")
    return 0 if unread(pipeline) else count(spec.get("replicas"), 1) * _nodes(spec)


def _kind(kind: str, *path: str, when: Callable[[Scene], bool] = always) -> WorkloadKind:
    place = TemplatePlace(
        path=path,
        form=_NIM,
        stamp=_stamp_pod,
        when=when,
        replicas=_replicas,
        owner=_group,
        lacks=frozenset({"schedulingGroup"}),
        fixed=_asked_as_tensors,
    )
    return WorkloadKind(
        api_versions=frozenset({"apps.nvidia.com/v1alpha1"}),
        kind=kind,
        source=f"NVIDIA/k8s-nim-operator api/apps/v1alpha1/{kind.lower()}_types.go",
        places=(place,),
    )


DOSSIER: Final = Dossier(
    name="NIMService",
    versions={"NVIDIA/k8s-nim-operator": "f63f74d7, after v3.1.2"},
    kinds=(
        _kind("NIMService", "spec"),
        _kind("NIMPipeline", "spec", "services", ELEMENT, "spec", when=_is_enabled),
    ),
    # NeMo's services have no pod template.
    podless_kinds=under(
        "apps.nvidia.com/v1alpha1",
        "NIMBuild NIMCache NemoCustomizer NemoDatastore NemoEntitystore NemoEvaluator NemoGuardrail",
    ),
)

"""NIM: the operator of NVIDIA's inference microservices."""

from dataclasses import replace
from typing import Any, Final

from ...kube.unchecked import count, mapping_at
from ..dossier import Dossier
from ..forms import COMPONENT
from ..places import Place, Scene, WorkloadKind
from ..stamping import add_labels, own_by_deployment
from ..words import words

_NIM: Final = replace(
    COMPONENT,
    fields=words("affinity nodeSelector priorityClassName runtimeClassName schedulerName tolerations"),
    front=((),),
    front_fields={name: name for name in ("args", "command", "env", "resources")},
    front_always=True,
)
"""A NIMServiceSpec: one container's fields among the pod's; its image is an object."""


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write what the standalone platform writes (NVIDIA/k8s-nim-operator api/apps/v1alpha1/nimservice_types.go)."""
    add_labels(pod, {"app": scene.name, "app.kubernetes.io/name": scene.name})
    main, image = pod["spec"]["containers"][0], mapping_at(scene.spec, "image")
    main["name"] = f"{scene.name}-ctr"
    main["image"] = f"{image.get('repository')}:{image.get('tag')}"
    own_by_deployment(pod, scene.name)


def _replicas(scene: Scene) -> int:
    """Return the pods of a Deployment; of several nodes to a replica, only the operator knows."""
    return 0 if scene.spec.get("multiNode") is not None else count(scene.spec.get("replicas"), 1)


DOSSIER: Final = Dossier(
    name="NIMService",
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"apps.nvidia.com/v1alpha1"}),
            kind="NIMService",
            source="NVIDIA/k8s-nim-operator api/apps/v1alpha1/nimservice_types.go",
            places=(
                Place(
                    path=("spec",), form=_NIM, stamp=_stamp, replicas=_replicas, lacks=frozenset({"schedulingGroup"})
                ),
            ),
        ),
    ),
    podless_kinds=frozenset({"apps.nvidia.com/v1alpha1/NIMCache"}),
)

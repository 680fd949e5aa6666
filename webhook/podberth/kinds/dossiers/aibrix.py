"""AIBrix: StormServices, whose role sets serve one model, and fleets of RayClusters."""

from dataclasses import replace
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import count, mapping_at
from ..dossier import Dossier
from ..places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Place, Scene, WorkloadKind, item_replicas, spec_replicas
from ..ray_clusters import ray_kind
from ..stamping import add_annotations, add_labels, own

_VERSIONS: Final = frozenset({"orchestration.aibrix.ai/v1alpha1"})


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write the stamp of the role syncers (vllm-project/aibrix pkg/controller/roleset, constants/stormservice.go).

    Each role set is a gang of its own, and there may be several.
    """
    direct = scene.document.get("kind") == "RoleSet"
    role_set = scene.name if direct else f"{scene.name}-roleset-{PLACEHOLDER_HASH}"
    labels = {"roleset-name": role_set, "role-name": scene.key, "role-template-hash": PLACEHOLDER_HASH}
    add_labels(pod, labels if direct else {"storm-service-name": scene.name, **labels})
    spec = scene.spec if direct else mapping_at(scene.spec, "template", "spec")
    strategy = mapping_at(spec, "schedulingStrategy")
    if "coschedulingSchedulingStrategy" in strategy:
        add_labels(pod, {"scheduling.x-k8s.io/pod-group": role_set})
    if "volcanoSchedulingStrategy" in strategy:
        add_annotations(pod, {"scheduling.k8s.io/group-name": role_set})
    uid = scene.uid if direct else PLACEHOLDER_UID
    own(pod, "orchestration.aibrix.ai/v1alpha1", "RoleSet", role_set, uid)


def _role_pods(scene: Scene) -> int:
    """Return the pods of a role, in all role sets (roleset_types.go PodGroupSize: the pods of one replica)."""
    sets = spec_replicas(scene) if scene.document.get("kind") == "StormService" else 1
    return sets * item_replicas(scene) * count(scene.item.get("podGroupSize"), 1)


def _storm_kind(kind: str, *path: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=_VERSIONS,
        kind=kind,
        source="vllm-project/aibrix api/orchestration/v1alpha1/{stormservice,roleset}_types.go",
        places=(Place(path=(*path, ELEMENT, "template"), stamp=_stamp, replicas=_role_pods),),
    )


DOSSIER: Final = Dossier(
    name="AIBrix",
    kinds=(
        *(
            replace(
                ray_kind(kind),
                api_versions=_VERSIONS,
                source=f"vllm-project/aibrix api/orchestration/v1alpha1/{kind.lower()}_types.go",
            )
            for kind in ("RayClusterFleet", "RayClusterReplicaSet")
        ),
        _storm_kind("StormService", "spec", "template", "spec", "roles"),
        _storm_kind("RoleSet", "spec", "roles"),
    ),
    podless_groups=frozenset({"autoscaling.aibrix.ai", "model.aibrix.ai"}),
)

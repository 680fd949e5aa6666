"""Kinds that serve a model by many pods: Dynamo, Grove, RoleBasedGroup, AIBrix' StormService, ModelServing."""

from collections.abc import Iterator
from typing import Any, Final

from ..kinds.forms import CONTAINER_FIELDS, POD_SPEC_FIELDS
from ..kinds.places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Form, Place, Scene, Steps, WorkloadKind
from ..kinds.stamping import add_annotations, add_labels, own, owned_by_workload, set_name
from ..kube.paths import ELEMENT
from ..kube.unchecked import at, count, list_at, mapping_at, text
from .batch_kinds import item_replicas
from .core_kinds import replicas

# ---- Dynamo, Grove --------------------------------------------------------------------------------------------------
_SERVICE: Final = Form(
    # ai-dynamo/dynamo deploy/operator/api/v1alpha1/dynamocomponentdeployment_types.go ExtraPodSpec, ExtraPodMetadata
    seats=(
        (("metadata", "labels"), ("extraPodMetadata", "labels")),
        (("metadata", "annotations"), ("extraPodMetadata", "annotations")),
        (("spec",), ("extraPodSpec",)),
    ),
    fields=POD_SPEC_FIELDS,
    front=(("extraPodSpec", "mainContainer"),),
    front_name="main",
    front_fields=CONTAINER_FIELDS,
    front_always=True,
)


def _gang_name(scene: Scene) -> str:
    """Return the first gang of a PodCliqueSet; which of several a pod is in stands for none."""
    alone = scene.document.get("kind") != "PodCliqueSet" or count(scene.spec.get("replicas"), 1) == 1
    return f"{scene.name}-{0 if alone else PLACEHOLDER_HASH}"


def stamp_clique(pod: dict[str, Any], scene: Scene, clique: str) -> None:
    """As Grove's operator does (ai-dynamo/grove operator/api/common/labels.go and namegen.go)."""
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


def _stamp_dynamo(pod: dict[str, Any], scene: Scene) -> None:
    """As the operator makes PodCliques (ai-dynamo/dynamo deploy/operator/internal/dynamo/graph.go), with Grove."""
    labels = {"nvidia.com/dynamo-graph-deployment-name": scene.name, "nvidia.com/dynamo-component": scene.key}
    add_labels(pod, labels)
    stamp_clique(pod, scene, scene.key.lower())


def _stamp_service(pod: dict[str, Any], scene: Scene) -> None:
    """As for a component, whose main container gets the amounts of the service (v1alpha1 common.go ResourceItem)."""
    main = pod["spec"]["containers"][0]
    amounts = _amounts(scene)
    if amounts:
        own_amounts = main.get("resources") or {}
        main["resources"] = {
            **own_amounts,
            **{side: {**(own_amounts.get(side) or {}), **named} for side, named in amounts.items()},
        }
    _stamp_dynamo(pod, scene)


def _amounts(scene: Scene) -> dict[str, dict[str, Any]]:
    """Return the limits and requests that a service asks for outside its pod, by the names that containers use."""
    found: dict[str, dict[str, Any]] = {}
    for side in ("limits", "requests"):
        said = mapping_at(scene.item, "resources", side)
        named = {key: said[key] for key in ("cpu", "memory") if _is_amount(said.get(key))}
        named |= {key: value for key, value in mapping_at(said, "custom").items() if _is_amount(value)}
        if _is_amount(said.get("gpu")):
            named[text(said.get("gpuType")) or "nvidia.com/gpu"] = said["gpu"]
        if named:
            found[side] = named
    return found


def _is_amount(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _service_resources(scene: Scene) -> Iterator[tuple[Steps, str]]:
    if _amounts(scene):
        where = f"spec.services.{scene.key}.resources"
        yield ("spec", "containers", 0, "resources"), f"asked for in {where}; change it there"


def _dynamo_replicas(scene: Scene) -> int:
    return item_replicas(scene) * count(at(scene.item, "multinode", "nodeCount"), 1)


_CLIQUE: Final = Form(
    seats=(
        (("metadata", "labels"), ("labels",)),
        (("metadata", "annotations"), ("annotations",)),
        (("spec",), ("spec", "podSpec")),
    )
)


def _clique_replicas(scene: Scene) -> int:
    groups = list_at(scene.spec, "template", "podCliqueScalingGroups")
    times = 1
    for group in groups:
        names = at(group, "cliqueNames")
        if isinstance(names, list) and scene.key in names:
            times = count(at(group, "replicas"), 1)
    return count(at(scene.item, "spec", "replicas"), 1) * times * replicas(scene)


# ---- RoleBasedGroup, StormService, ModelServing ---------------------------------------------------------------------
def _stamp_role_based_group(pod: dict[str, Any], scene: Scene) -> None:
    """As pods get from their role (sgl-project/rbg api/workloads/constants/label.go, v1alpha1/constant.go)."""
    old = scene.document.get("apiVersion") == "workloads.x-k8s.io/v1alpha1"
    prefix = "rolebasedgroup.workloads.x-k8s.io" if old else "rbg.workloads.x-k8s.io"
    name, role = ("name", "role") if old else ("group-name", "role-name")
    key = text(at(scene.items[0] if scene.items else None, "name"))
    add_labels(pod, {f"{prefix}/{name}": scene.name, f"{prefix}/{role}": key})
    policy = mapping_at(scene.spec, "podGroupPolicy")
    if "kubeScheduling" in policy:
        add_labels(pod, {"scheduling.x-k8s.io/pod-group": scene.name})
    if "volcanoScheduling" in policy:
        add_annotations(pod, {"scheduling.k8s.io/group-name": scene.name})
    own(pod, "apps/v1", "StatefulSet", f"{scene.name}-{key}", PLACEHOLDER_UID)


def _role_pods(scene: Scene) -> int:
    role = scene.items[0] if scene.items else {}
    size = at(role, "leaderWorkerSet", "size") or at(role, "leaderWorkerPattern", "size")
    inner = count(scene.item.get("size"), 1) if len(scene.items) > 1 else count(size, 1)
    return count(at(role, "replicas"), 1) * inner


def _role_places() -> Iterator[Place]:
    for path in (
        ("roles", ELEMENT, "template"),
        ("roles", ELEMENT, "standalonePattern", "template"),
        ("roles", ELEMENT, "leaderWorkerPattern", "template"),
        ("roles", ELEMENT, "customComponentsPattern", "components", ELEMENT, "template"),
        ("roleTemplates", ELEMENT, "template"),
    ):
        yield Place(path=("spec", *path), stamp=_stamp_role_based_group, replicas=_role_pods, optional=True)


def _stamp_storm_service(pod: dict[str, Any], scene: Scene) -> None:
    """As the roles' syncers do (vllm-project/aibrix pkg/controller/roleset, pkg/controller/constants/stormservice.go).

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


def _storm_kind(kind: str, *path: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=frozenset({"orchestration.aibrix.ai/v1alpha1"}),
        kind=kind,
        source="vllm-project/aibrix api/orchestration/v1alpha1/{stormservice,roleset}_types.go",
        places=(Place(path=(*path, ELEMENT, "template"), stamp=_stamp_storm_service, replicas=item_replicas),),
    )


def _stamp_model_serving(pod: dict[str, Any], scene: Scene) -> None:
    """As for the first group's first role (volcano-sh/kthena pkg/apis/workload/v1alpha1/labels.go)."""
    group, role = f"{scene.name}-0", scene.key
    entry = scene.path[-1] == "entryTemplate"
    labels = {"name": scene.name, "group-name": group, "role": role, "role-id": f"{role}-0"}
    add_labels(pod, {f"modelserving.volcano.sh/{key}": value for key, value in labels.items()})
    if entry:
        add_labels(pod, {"modelserving.volcano.sh/entry": "true"})
    owned_by_workload(pod, scene)
    set_name(pod, f"{group}-{role}-0-{0 if entry else 1}")
    scheduler = text(scene.spec.get("schedulerName")) or "volcano"
    pod["spec"]["schedulerName"] = pod["spec"].get("schedulerName") or scheduler


def _entries(scene: Scene) -> int:
    return item_replicas(scene) * replicas(scene)


def _entry_workers(scene: Scene) -> int:
    return _entries(scene) * count(scene.item.get("workerReplicas"), 0)


_ROLES: Final = ("spec", "template", "roles", ELEMENT)

GRAPH_KINDS: Final[tuple[WorkloadKind, ...]] = (
    WorkloadKind(
        api_versions=frozenset({"nvidia.com/v1alpha1", "nvidia.com/v1beta1"}),
        kind="DynamoGraphDeployment",
        source="ai-dynamo/dynamo deploy/operator/api/{v1alpha1,v1beta1}/dynamographdeployment_types.go",
        places=(
            Place(
                path=("spec", "services", ELEMENT),
                form=_SERVICE,
                stamp=_stamp_service,
                replicas=_dynamo_replicas,
                fixed=_service_resources,
            ),
            Place(
                path=("spec", "components", ELEMENT, "podTemplate"),
                stamp=_stamp_dynamo,
                optional=True,
                replicas=_dynamo_replicas,
            ),
        ),
    ),
    WorkloadKind(
        api_versions=frozenset({"grove.io/v1alpha1"}),
        kind="PodCliqueSet",
        source="ai-dynamo/grove operator/api/core/v1alpha1/podcliqueset.go",
        places=(
            Place(
                path=("spec", "template", "cliques", ELEMENT),
                form=_CLIQUE,
                stamp=lambda pod, scene: stamp_clique(pod, scene, scene.key),
                replicas=_clique_replicas,
                lacks=frozenset({"schedulingGroup"}),
            ),
        ),
    ),
    WorkloadKind(
        api_versions=frozenset({"workloads.x-k8s.io/v1alpha1", "workloads.x-k8s.io/v1alpha2"}),
        kind="RoleBasedGroup",
        source="sgl-project/rbg api/workloads/{v1alpha1,v1alpha2}/rolebasedgroup_types.go",
        places=tuple(_role_places()),
    ),
    _storm_kind("StormService", "spec", "template", "spec", "roles"),
    _storm_kind("RoleSet", "spec", "roles"),
    WorkloadKind(
        api_versions=frozenset({"workload.serving.volcano.sh/v1alpha1"}),
        kind="ModelServing",
        source="volcano-sh/kthena pkg/apis/workload/v1alpha1/{model_serving,servinggroup}_types.go",
        places=(
            Place(path=(*_ROLES, "entryTemplate"), stamp=_stamp_model_serving, replicas=_entries),
            Place(path=(*_ROLES, "workerTemplate"), stamp=_stamp_model_serving, replicas=_entry_workers, optional=True),
        ),
    ),
)

"""Facts about Dynamo, whose operator makes a PodCliqueSet from each DynamoGraphDeployment if the cluster has Grove."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT, Path
from ...kube.unchecked import at, count, list_at, mapping_at, text, text_at
from .. import forms
from ..cliques import stamp_clique
from ..dossier import Dossier, KindNote
from ..forms import CONTAINER_FIELDS, POD_SPEC_FIELDS
from ..places import Form, Found, Scene, TemplatePlace, WorkloadKind, item_replicas
from ..roles import Predicted, predicted, read_once
from ..stamping import add_labels, mount_shared_memory, with_amounts

_SERVICE: Final = Form(
    # ai-dynamo/dynamo deploy/operator/api/v1alpha1/dynamocomponentdeployment_types.go ExtraPodSpec, ExtraPodMetadata
    seats=(
        (("metadata", "labels"), ("extraPodMetadata", "labels")),
        (("metadata", "annotations"), ("extraPodMetadata", "annotations")),
        (("spec",), ("extraPodSpec",)),
    ),
    fields=POD_SPEC_FIELDS,
    others=frozenset({"mainContainer"}),
    front=(("extraPodSpec", "mainContainer"),),
    front_name="main",
    front_fields=CONTAINER_FIELDS,
    front_always=True,
    front_whole=True,
)


def _stamp_dynamo(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that the operator and Grove write on a PodClique's pods (operator/internal/dynamo)."""
    labels = {"nvidia.com/dynamo-graph-deployment-name": scene.name, "nvidia.com/dynamo-component": scene.key}
    add_labels(pod, labels)
    stamp_clique(pod, scene, _clique(scene.key, scene.item))


def _stamp_service(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a service's pod the fields that the operator writes; the main container gets the resources of the service.

    Source: v1alpha1 common.go ResourceItem.
    """
    main = pod["spec"]["containers"][0]
    if amounts := _amounts(scene):
        main["resources"] = with_amounts(main.get("resources") or {}, amounts)
    _mount_shared_memory(pod, main, scene)
    _stamp_dynamo(pod, scene)


def _stamp_component(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a component's pod the operator's fields; the main container is called main (v1beta1 common.go)."""
    containers = pod["spec"]["containers"]
    main = next((each for each in containers if each.get("name") == "main"), None)
    if main is not None:
        _mount_shared_memory(pod, main, scene)
    _stamp_dynamo(pod, scene)


def _mount_shared_memory(pod: dict[str, Any], main: dict[str, Any], scene: Scene) -> None:
    """Mount /dev/shm in the main container, unless the service disables this volume. The default size is 8Gi.

    Sources: ai-dynamo/dynamo deploy/operator/internal/dynamo ApplySharedMemoryVolumeAndMount, internal/consts
    DefaultSharedMemorySize; the fields are `sharedMemory` (v1alpha1) and `sharedMemorySize` (v1beta1).
    """
    said = mapping_at(scene.item, "sharedMemory")
    size = scene.item.get("sharedMemorySize")
    if said.get("disabled") is True or size in (0, "0"):
        return
    if size is None:
        size = said.get("size") if said.get("size") not in (None, 0, "0", "") else _DEFAULT_SIZE
    mount_shared_memory(pod, main, "shared-memory", size, replace=True)


_DEFAULT_SIZE: Final = "8Gi"


def _amounts(scene: Scene) -> dict[str, dict[str, Any]]:
    """Return the limits and requests of a service's field ``resources``, in the form of a container's ``resources``."""
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


def _service_resources(scene: Scene) -> Iterator[tuple[Path, str]]:
    if _amounts(scene):
        where = f"spec.services.{scene.key}.resources"
        yield ("spec", "containers", 0, "resources"), f"asked for in {where}; change it there"


def _nodes(component: object) -> int:
    """Return the number of nodes of a component's replica, by the field ``multinode``.

    The result is 1 without the field, and 2 if the field states no number (v1alpha1 MultinodeSpec.NodeCount, v1beta1).
    """
    several = at(component, "multinode")
    return 1 if several is None else count(at(several, "nodeCount"), 2)


def _clique(name: str, component: object) -> str:
    """Return the name of a component's PodClique; if a replica has several nodes, the name of the workers' PodClique.

    Source: graph.go, consts.go GroveRoleSuffix.
    """
    return f"{name}-wkr".lower() if _nodes(component) > 1 else name.lower()


def _dynamo_replicas(scene: Scene) -> int:
    return item_replicas(scene) * _nodes(scene.item)


def _clique_set(document: Found | None) -> Predicted:
    """Return the PodCliqueSet that Dynamo makes from a DynamoGraphDeployment.

    A component whose replica has several nodes becomes a scaling group of a leader and workers. The first replica of
    each scaling group is in the base gang, and each further replica is a gang of its own. Source: ai-dynamo/dynamo
    deploy/operator/internal/dynamo/graph.go GenerateGrovePodCliqueSet, buildGroveScalingGroupConfig.
    """
    cliques: list[Found] = []
    groups: list[Found] = []
    for name, component, pod_spec in _components(document):
        nodes = _nodes(component)
        if nodes > 1:
            counts = {f"{name}-ldr".lower(): 1, f"{name}-wkr".lower(): nodes - 1}
            groups.append({"name": name.lower(), "cliqueNames": list(counts), "minAvailable": 1})
            cliques += ({"name": key, "spec": {"replicas": pods, "podSpec": pod_spec}} for key, pods in counts.items())
            continue
        # A number of nodes that is no number stands in place of ``replicas``, so the number of pods is unknown.
        spec = {
            "replicas": at(component, *(("replicas",) if nodes else ("multinode", "nodeCount"))),
            "podSpec": pod_spec,
        }
        # With a scaling adapter, another object has the number of replicas, as with autoscaling.
        cliques.append(
            {"name": name.lower(), "spec": {**spec, **({"autoScalingConfig": {}} if _adapts(component) else {})}}
        )
    template = {"cliques": cliques, "podCliqueScalingGroups": groups}
    return predicted("grove.io/v1alpha1", "PodCliqueSet", mapping_at(document, "metadata"), {"template": template})


def _adapts(component: object) -> bool:
    """Return whether a scaling adapter sets a component's replicas.

    In v1alpha1, the adapter's field ``enabled`` is not false. In v1beta1, the field ``scalingAdapter`` is present.
    """
    adapter = at(component, "scalingAdapter")
    return isinstance(adapter, Mapping) and adapter.get("enabled") is not False


def _components(document: Found | None) -> Iterator[tuple[str, object, object]]:
    """Yield (name, component, PodSpec) for each component; the PodSpec has the component's resources added."""
    for name, service in mapping_at(document, "spec", "services").items():
        path = ("spec", "services", str(name))
        spec = forms.read(document, path, _SERVICE)["spec"]
        scene = Scene(document=mapping_at(document), name="", uid="", namespace="", path=path, items=(service,))
        yield str(name), service, _joined(spec, _amounts(scene)) if isinstance(spec, Mapping) else None
    for component in list_at(document, "spec", "components"):
        template = at(component, "podTemplate")
        alone = {"containers": [{"name": "main"}]}
        yield text_at(component, "name"), component, alone if template is None else at(template, "spec")


def _joined(spec: Found, amounts: Mapping[str, Found]) -> dict[str, Any]:
    """Return a copy of a PodSpec whose main container also has the limits and requests in ``amounts``.

    If the container has an amount of the same resource, the amount in ``amounts`` replaces it.
    """
    main, *others = list_at(spec, "containers") or [{}]
    first = {"name": "main", **mapping_at(main), "resources": with_amounts(mapping_at(main, "resources"), amounts)}
    return {**spec, "containers": [first, *others]}


DOSSIER: Final = Dossier(
    name="Dynamo",
    versions={"ai-dynamo/dynamo": "2a6da14c"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"nvidia.com/v1alpha1", "nvidia.com/v1beta1"}),
            kind="DynamoGraphDeployment",
            source="ai-dynamo/dynamo deploy/operator/api/{v1alpha1,v1beta1}/dynamographdeployment_types.go",
            places=(
                TemplatePlace(
                    path=("spec", "services", ELEMENT),
                    form=_SERVICE,
                    stamp=_stamp_service,
                    replicas=_dynamo_replicas,
                    owner=lambda scene: read_once(scene.document, _clique_set),
                    fixed=_service_resources,
                ),
                TemplatePlace(
                    path=("spec", "components", ELEMENT, "podTemplate"),
                    stamp=_stamp_component,
                    optional=True,
                    replicas=_dynamo_replicas,
                    owner=lambda scene: read_once(scene.document, _clique_set),
                ),
            ),
        ),
    ),
    notes=(
        KindNote(
            key="grove.io/podgang",
            kind="nvidia.com/DynamoGraphDeployment",
            title="DynamoGraphDeployment, with Grove",
            keeps="the spec of frontends without GPUs; the PodCliqueSet that Dynamo makes of it; `schedulerName` and "
            "queue, which it writes where KAI runs. Without Grove several nodes are LeaderWorkerSets",
            source="ai-dynamo/dynamo deploy/operator/internal/dynamo/{graph,grove}.go",
        ),
    ),
    # ai-dynamo/dynamo deploy/operator/internal/controller (SetControllerReference)
    links=frozenset({("nvidia.com", "DynamoComponentDeployment")}),
)

"""Dynamo: DynamoGraphDeployments, of which it makes a PodCliqueSet where Grove runs."""

from collections.abc import Iterator
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import at, count, mapping_at, text
from ..cliques import stamp_clique
from ..dossier import Dossier, KindNote
from ..forms import CONTAINER_FIELDS, POD_SPEC_FIELDS
from ..places import Form, Place, Scene, Steps, WorkloadKind, item_replicas
from ..stamping import add_labels

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


def _stamp_dynamo(pod: dict[str, Any], scene: Scene) -> None:
    """Write what the operator writes in PodCliques, with Grove (deploy/operator/internal/dynamo/graph.go)."""
    labels = {"nvidia.com/dynamo-graph-deployment-name": scene.name, "nvidia.com/dynamo-component": scene.key}
    add_labels(pod, labels)
    stamp_clique(pod, scene, scene.key.lower())


def _stamp_service(pod: dict[str, Any], scene: Scene) -> None:
    """Write a component's pod; its main container gets the amounts of the service (v1alpha1 common.go ResourceItem)."""
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


DOSSIER: Final = Dossier(
    name="Dynamo",
    kinds=(
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

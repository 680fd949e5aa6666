"""Seldon Core 1: SeldonDeployments, whose component specs each become a Deployment of model servers.

The pods of a SeldonDeployment are no gang: each pod serves alone, and Seldon Core starts no pod after another. An
orchestrator in a pod of its own (``seldon.io/engine-separate-pod``) has no template of the user. Source:
SeldonIO/seldon-core operator/controllers/seldondeployment_controller.go.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ...kube.object_names import MAX_LABEL
from ...kube.paths import ELEMENT, Path
from ...kube.positions import render_path
from ...kube.unchecked import at, count, list_at, mapping_at, text, text_at
from ..dossier import Dossier
from ..forms import CONTAINER_FIELDS
from ..name_sets import under, words
from ..places import LABELLED, Form, Found, Scene, TemplatePlace, WorkloadKind
from ..roles import read_once
from ..stamping import add_annotations, add_labels, own_by_deployment

_API: Final = "machinelearning.seldon.io"
_PREDICTORS: Final = ("spec", "predictors", ELEMENT)

# operator/apis/machinelearning.seldon.io/v1/seldondeployment_types.go SeldonPodSpec, whose other metadata is not copied
_COMPONENT: Final = replace(LABELLED, beside=words("hpaSpec kedaSpec pdbSpec replicas"))
# The same file, Explainer
_EXPLAINER: Final = Form(
    seats=((("spec",), ()),),
    fields=frozenset({"serviceAccountName"}),
    front=(("containerSpec",),),
    front_fields=CONTAINER_FIELDS,
    front_whole=True,
    front_always=True,
)
# helm-charts/seldon-core-operator/templates/customresourcedefinition_v1_seldondeployments*.yaml
_LACKS: Final = words("hostnameOverride resources schedulingGroup workloadRef")
# The same file as _COMPONENT, PredictorSpec
_OF_PREDICTOR: Final = (
    "annotations",
    "engineResources",
    "graph",
    "labels",
    "name",
    "progressDeadlineSeconds",
    "replicas",
    "shadow",
    "ssl",
    "svcOrchSpec",
    "traffic",
)


def _predictor(scene: Scene) -> Found:
    return mapping_at(scene.items[0])


def _is_true(said: Found, key: str) -> bool:
    """Return whether the annotation ``seldon.io/<key>`` is "true" in ``said``, a spec or a predictor."""
    return text_at(said, "annotations", f"seldon.io/{key}").lower() == "true"


def _replicas(scene: Scene) -> int:
    """Return the replicas of a component; with an HPA, the HPA's minimum; 0 if KEDA may scale the component to zero."""
    component = scene.item
    if component.get("kedaSpec") is not None:
        return count(at(component, "kedaSpec", "minReplicaCount"))
    if component.get("hpaSpec") is not None:
        return count(at(component, "hpaSpec", "minReplicas"), 1)
    said = (each.get("replicas") for each in (component, _predictor(scene), scene.spec))
    return count(next((each for each in said if each is not None), None), 1)


def _explainers(scene: Scene) -> int:
    """Return the replicas of an explainer; 0 if the predictor has no explainer (seldondeployment_explainers.go)."""
    ours, above = _predictor(scene).get("replicas"), scene.spec.get("replicas")
    return 0 if (above if ours is None else ours) == 0 else count(at(_predictor(scene), "explainer", "replicas"), 1)


def _explains(scene: Scene) -> bool:
    """Return whether the explainer has a type; without one no pods are made (utils/controller_utils.go)."""
    return bool(text_at(_predictor(scene), "explainer", "type"))


# ---- the graph of a predictor ----------------------------------------------------------------------------------------


class _Unit(NamedTuple):
    """A unit of a predictor's graph. The unit is a container with the unit's name."""

    type: str
    """The unit's type, such as MODEL; empty if the unit has no type."""
    prepackaged: bool
    """Whether Seldon Core adds the unit's container if no component has the container."""


# operator/apis/machinelearning.seldon.io/v1/seldondeployment_types.go PredictiveUnitImplementation
_BUILT_IN: Final = words("AVERAGE_COMBINER RANDOM_ABTEST SIMPLE_MODEL SIMPLE_ROUTER UNKNOWN_IMPLEMENTATION")
_LABELLED: Final = words("COMBINER MODEL OUTPUT_TRANSFORMER ROUTER TRANSFORMER")


def _unit(said: Found) -> _Unit:
    """Return the unit that an object of a predictor's graph describes, with Seldon Core's defaults.

    Source: operator/apis/machinelearning.seldon.io/v1/defaults.go.
    """
    implementation = text(said.get("implementation"))
    if implementation and implementation not in _BUILT_IN:
        return _Unit("MODEL", prepackaged=True)
    given = implementation or said.get("methods") is not None
    return _Unit(text(said.get("type")) or ("" if given else "MODEL"), prepackaged=False)


def _graphs(document: Found) -> tuple[Mapping[str, _Unit], ...]:
    """Return a tuple with, for each predictor, the mapping from name to unit of the predictor's graph.

    If two units have one name, the first counts.
    """
    return tuple(dict(reversed([*_units(each)])) for each in list_at(document, "spec", "predictors"))


def _units(predictor: object) -> Iterator[tuple[str, _Unit]]:
    waiting = [at(predictor, "graph")]
    while waiting:
        said = waiting.pop()
        if isinstance(said, Mapping):
            yield text(said.get("name")), _unit(said)
            waiting.extend(reversed(list_at(said, "children")))


def _graph(scene: Scene) -> Mapping[str, _Unit]:
    graphs, index = read_once(scene.document, _graphs), scene.keys[0]
    return graphs[index] if isinstance(index, int) and index < len(graphs) else {}


# ---- what Seldon Core writes -----------------------------------------------------------------------------------------


def _short(name: str) -> str:
    """Return a name, or the name's MD5 digest if the name has more bytes than a label can have."""
    said = name.encode(errors="surrogatepass")
    return name if len(said) <= MAX_LABEL else f"seldon-{hashlib.md5(said, usedforsecurity=False).hexdigest()}"


def _names(component: object) -> list[str]:
    """Return the names of a component's containers."""
    return [text_at(each, "name") for each in list_at(component, "spec", "containers")]


def _deployment(scene: Scene) -> str:
    """Return the name of a component's Deployment (seldondeployment_types.go GetDeploymentName).

    The name is computed after Seldon Core has added the containers of prepackaged servers to the first component
    (defaults.go).
    """
    said, index = text_at(scene.item, "metadata", "name"), scene.keys[1]
    if not said:
        names = _names(scene.item)
        if index == 0:
            taken = {name for each in list_at(_predictor(scene), "componentSpecs") for name in _names(each)}
            names += [name for name, unit in _graph(scene).items() if unit.prepackaged and name not in taken]
        said = "-".join(names)
    return _short(f"{scene.name}-{text(_predictor(scene).get('name'))}-{index}-{said}")


def _service(scene: Scene) -> str:
    """Return the name of a predictor's Service (GetPredictorKey)."""
    predictor = _predictor(scene)
    own = text_at(predictor, "annotations", "seldon.io/svc-name")
    return own or _short(f"{scene.name}-{text(predictor.get('name'))}")


def _has_engine(scene: Scene) -> bool:
    """Return whether the pods of a component get the orchestrator's container.

    Only the pods of the first component get the container, unless an annotation asks for a separate orchestrator or for
    none.
    """
    apart = _is_true(scene.spec, "engine-separate-pod") or _is_true(_predictor(scene), "no-engine")
    return scene.keys[1] == 0 and not apart


def _texts(said: object, key: str) -> dict[str, str]:
    """Return the labels or annotations (``key``) of a part of a SeldonDeployment, without values that are no texts."""
    return {name: value for name, value in mapping_at(said, key).items() if isinstance(value, str)}


def _stamp_deployment(pod: dict[str, Any], scene: Scene, name: str, annotations: Mapping[str, str]) -> None:
    """Write on a pod of the Deployment ``name`` the fields that the pods of all Deployments of Seldon Core have.

    An annotation in ``annotations`` is not written if the pod, the predictor or the spec of the SeldonDeployment has an
    annotation of the same key. Source: createDeploymentWithoutEngine, operator/controllers/labels.go. The source of the
    label ``version`` is operator/apis/machinelearning.seldon.io/v1/defaults.go.
    """
    predictor, metadata = _predictor(scene), pod["metadata"]
    labels = {"seldon-deployment-id": _short(scene.name), "app": name, "fluentd": "true"}
    labels |= {"version": text(predictor.get("name"))} | _texts(predictor, "labels") | (metadata.get("labels") or {})
    labels |= {"seldon.io/shadow": "true"} if predictor.get("shadow") is True else {}
    add_labels(pod, labels | {"app.kubernetes.io/managed-by": "seldon-core"})
    own = metadata.get("annotations") or {}
    add_annotations(
        pod, {**annotations, **_texts(scene.spec, "annotations"), **_texts(predictor, "annotations"), **own}
    )
    if pod["spec"].get("terminationGracePeriodSeconds") is None:
        pod["spec"]["terminationGracePeriodSeconds"] = 20
    own_by_deployment(pod, name)


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write on a pod the fields that Seldon Core writes on the pods of a component.

    Left out are the orchestrator's container, the init containers that load models, probes, variables and the volume
    ``seldon-podinfo``: none of these parts asks for a device. Source: createComponents, createContainerService,
    operator/controllers/seldondeployment_engine.go addEngineToDeployment.
    """
    _stamp_deployment(pod, scene, _deployment(scene), _SCRAPED)
    predictor, graph = _predictor(scene), _graph(scene)
    labels: dict[str, str] = {}
    for name in _names(pod):
        unit = graph.get(name)
        if unit is not None:
            labels[f"seldon-app-svc-{name}"] = _short(f"{scene.name}-{text(predictor.get('name'))}-{name}")
        if unit is not None and unit.type in _LABELLED:
            labels[f"seldon.io/{unit.type.lower().replace('_', '-')}"] = "true"
        elif (unit is None or not unit.type) and _explains(scene):
            labels["seldon.io/explainer"] = "true"
    if _has_engine(scene) or (_is_true(predictor, "no-engine") and graph.keys() & {*_names(pod)}):
        labels["seldon-app"] = _service(scene)
    add_labels(pod, labels)
    if _has_engine(scene):
        add_annotations(pod, _texts(predictor, "annotations"))


_SCRAPED: Final = {"prometheus.io/path": "/prometheus", "prometheus.io/scrape": "true"}


def _replaced(scene: Scene) -> Iterator[tuple[Path, str]]:
    """Yield (path in the pod, message) for each annotation that Seldon Core copies from the predictor to the pod.

    The copy replaces an annotation of the pod template with the same key. Nothing is yielded if the pod does not get
    the orchestrator's container: then Seldon Core copies no annotation.
    """
    for key in _texts(_predictor(scene), "annotations") if _has_engine(scene) else ():
        yield (
            ("metadata", "annotations", key),
            f"{render_path(scene.path[:3])}.annotations replaces it; change it there",
        )


def _stamp_explainer(pod: dict[str, Any], scene: Scene) -> None:
    """Write Seldon Core's fields on an explainer's pod (seldondeployment_explainers.go createExplainer)."""
    name = _short(f"{scene.name}-{text(_predictor(scene).get('name'))}-explainer")
    main = pod["spec"]["containers"][0]
    main["name"] = main.get("name") or name
    _stamp_deployment(pod, scene, name, {})
    add_labels(pod, {"seldon.io/explainer": "true", "seldon-app": name})


DOSSIER: Final = Dossier(
    name="Seldon Core 1",
    versions={"SeldonIO/seldon-core": "7c3973a6, after v1.18.2"},
    kinds=(
        WorkloadKind(
            api_versions=under(_API, "v1 v1alpha2 v1alpha3"),
            kind="SeldonDeployment",
            source="SeldonIO/seldon-core operator/apis/machinelearning.seldon.io/v1/seldondeployment_types.go, "
            "operator/controllers/seldondeployment_{controller,explainers}.go",
            places=(
                TemplatePlace(
                    path=(*_PREDICTORS, "componentSpecs", ELEMENT),
                    form=_COMPONENT,
                    stamp=_stamp,
                    replicas=_replicas,
                    lacks=_LACKS,
                    fixed=_replaced,
                ),
                TemplatePlace(
                    path=(*_PREDICTORS, "explainer"),
                    form=_EXPLAINER,
                    stamp=_stamp_explainer,
                    optional=True,
                    role="explainer",
                    when=_explains,
                    replicas=_explainers,
                ),
            ),
            names=(
                *(("spec", name) for name in ("annotations", "protocol", "replicas", "serverType", "transport")),
                *((*_PREDICTORS, name) for name in _OF_PREDICTOR),
                *((*_PREDICTORS, "explainer", name) for name in ("modelUri", "replicas", "type")),
            ),
        ),
    ),
)

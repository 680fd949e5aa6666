"""KServe: InferenceServices, on one node or on several, and the runtimes that they name."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.shape import RESOURCED_LISTS
from ...kube.unchecked import at, count, mapping_at, number, text, text_at
from ..dossier import Dossier, KindNote
from ..forms import COMPONENT, CONTAINER_FIELDS, INLINE
from ..members import Member, Membership, Subject, named
from ..places import PLACEHOLDER_HASH, Form, Place, Scene, WorkloadKind, unknown
from ..stamping import add_labels, own_by_deployment
from ..words import words

# The embedded PodSpecs of these CRDs are older than 1.36's field.
_NO_GROUP: Final = frozenset({"schedulingGroup"})


# kserve/kserve pkg/apis/serving/v1beta1/{predictor,explainer}.go: of these one is the server, with the container's
# fields inline (PredictorExtensionSpec); without one the first of the containers is.
_FRAMEWORKS: Final = (
    "model",
    "huggingface",
    "pytorch",
    "triton",
    "tensorflow",
    "onnx",
    "sklearn",
    "xgboost",
    "lightgbm",
    "paddle",
    "pmml",
    "art",
)


_PREDICTOR: Final = replace(
    COMPONENT,
    front=tuple((name,) for name in _FRAMEWORKS),
    front_name="kserve-container",
    front_fields=CONTAINER_FIELDS,
)


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write what the reconcilers of raw deployments write (pkg/controller/v1beta1/inferenceservice/components)."""
    component = next((str(step) for step in scene.path if step in {"predictor", "transformer", "explainer"}), "")
    worker = "-worker" if scene.path[-1] == "workerSpec" else ""
    name = f"{scene.name}-{component}{worker}"
    add_labels(pod, {"serving.kserve.io/inferenceservice": scene.name, "component": component, "app": f"isvc.{name}"})
    if component == "predictor" and at(scene.spec, "predictor", "workerSpec") is not None:
        # Of an object that changes, the next generation has another number.
        add_labels(pod, {"isvc.generation": PLACEHOLDER_HASH})
    own_by_deployment(pod, name)


def _min_replicas(scene: Scene) -> int:
    component = mapping_at(scene.document, *(str(step) for step in scene.path))
    return count(component.get("minReplicas"), 1)


def _component(*path: str, form: Form = _PREDICTOR, count_of: Callable[[Scene], int] = _min_replicas) -> Place:
    return Place(
        path=path,
        form=form,
        stamp=_stamp,
        optional=True,
        role="-".join(path[1:]).removesuffix("Spec").replace("-*", ""),
        replicas=count_of,
        lacks=_NO_GROUP,
    )


def _head_workers(scene: Scene) -> int:
    """Return the workers beside a head: its pipeline has one stage more."""
    size = at(mapping_at(scene.document, *(str(step) for step in scene.path)), "pipelineParallelSize")
    return max(count(size, 2) - 1, 0)


# ServingRuntimePodSpec (kserve/kserve pkg/apis/serving/v1alpha1/servingruntime_types.go)
_RUNTIME: Final = replace(
    COMPONENT,
    fields=words(
        "affinity containers hostIPC imagePullSecrets nodeSelector resourceClaims schedulerName tolerations volumes"
    ),
)


def _serving_runtime(kind: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=frozenset({"serving.kserve.io/v1alpha1"}),
        kind=kind,
        source="kserve/kserve pkg/apis/serving/v1alpha1/servingruntime_types.go",
        only_template=True,
        places=(
            Place(path=("spec",), form=_RUNTIME, role="runtime", replicas=unknown),
            Place(path=("spec", "workerSpec"), form=_RUNTIME, role="worker", optional=True, replicas=unknown),
        ),
    )


def _inference_service(pod: Subject) -> Member | None:
    """A model over several nodes: a Deployment of heads and one of workers, for each generation of the service.

    An LLMInferenceService over several nodes makes a LeaderWorkerSet.
    """
    service = pod.labels.get("serving.kserve.io/inferenceservice")
    if not service:
        return None
    role = "worker" if "worker-container" in {text(each.get("name")) for each in _containers(pod)} else "head"
    nodes = (_variable(each, "RAY_NODE_COUNT") for each in _containers(pod))
    size = next((found for found in map(number, nodes) if found), 0)
    return Member("InferenceService", named("isvc", f"{service}-{pod.labels['isvc.generation']}"), size, role=role)


def _containers(pod: Subject) -> Iterator[Mapping[str, Any]]:
    for field in RESOURCED_LISTS:
        yield from pod.spec.get(field) or ()


def _variable(container: Mapping[str, Any], name: str) -> str:
    """Return a variable's value; the environment is no part of a pod's checked shape."""
    env = container.get("env")
    found = (text_at(each, "value") for each in (env if isinstance(env, list) else ()) if at(each, "name") == name)
    return next(found, "")


DOSSIER: Final = Dossier(
    name="KServe",
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"serving.kserve.io/v1beta1", "serving.kubeflow.org/v1beta1"}),
            kind="InferenceService",
            source="kserve/kserve pkg/apis/serving/v1beta1/{predictor,transformer,explainer}.go",
            places=(
                _component("spec", "predictor"),
                _component("spec", "predictor", "workerSpec", form=INLINE, count_of=_head_workers),
                _component("spec", "transformer"),
                _component("spec", "explainer"),
                _component("spec", "canary", ELEMENT, "predictor"),
            ),
        ),
        _serving_runtime("ServingRuntime"),
        _serving_runtime("ClusterServingRuntime"),
    ),
    memberships=(
        Membership(
            name="InferenceService over several nodes (KServe)",
            source="kserve/kserve pkg/constants/constants.go, pkg/controller/v1beta1/inferenceservice/components/"
            "predictor.go",
            read=_inference_service,
            size="the variable `RAY_NODE_COUNT` of its container",
            label="isvc.generation",
            role_from="the name of its container",
        ),
    ),
    pod_keys=frozenset({"serving.kserve.io/inferenceservice"}),
    notes=(
        KindNote(
            key="isvc.generation",
            kind="serving.kserve.io/InferenceService",
            title="InferenceService over several nodes (KServe)",
            keeps="its Deployments' templates, of which `pod-template-hash` is made; the variables that KServe writes",
            source="kserve/kserve pkg/controller/v1beta1/inferenceservice/components/predictor.go",
            templates="`spec.predictor`, `spec.predictor.workerSpec`",
        ),
        KindNote(
            kind="serving.kserve.io/InferenceService",
            title="InferenceService on one node",
            sign="label `serving.kserve.io/inferenceservice` without `isvc.generation`",
            keeps="its Deployment's template, of which `pod-template-hash` is made",
            templates="`spec.predictor`",
            source="kserve/kserve pkg/controller/v1beta1/inferenceservice/components/predictor.go",
        ),
    ),
    podless_kinds=frozenset(
        {
            "serving.kserve.io/v1alpha1/ClusterStorageContainer",
            "serving.kserve.io/v1alpha1/InferenceGraph",
            "serving.kserve.io/v1alpha1/TrainedModel",
        }
    ),
)

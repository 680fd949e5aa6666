"""Kinds that serve: KServe's, Knative's, and Kubeflow's Notebook."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ..kinds.forms import COMPONENT, CONTAINER_FIELDS, INLINE, POD_SPEC_FIELDS
from ..kinds.places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Form, Place, Scene, Stamp, WorkloadKind, no_stamp, unknown
from ..kinds.stamping import add_annotations, add_labels, own
from ..kube.paths import ELEMENT
from ..kube.unchecked import at, count, mapping_at
from .core_kinds import stamp_stateful_set
from .training_kinds import stamp_group

# The embedded PodSpecs of these CRDs are older than 1.36's field.
_NO_GROUP: Final = frozenset({"schedulingGroup"})


def _own_deployment(pod: dict[str, Any], name: str) -> None:
    own(pod, "apps/v1", "ReplicaSet", f"{name}-{PLACEHOLDER_HASH}", PLACEHOLDER_UID)
    add_labels(pod, {"pod-template-hash": PLACEHOLDER_HASH})


# ---- KServe ---------------------------------------------------------------------------------------------------------
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


def _stamp_inference_service(pod: dict[str, Any], scene: Scene) -> None:
    """As the reconcilers of raw deployments do (kserve/kserve pkg/controller/v1beta1/inferenceservice/components)."""
    component = next((str(step) for step in scene.path if step in {"predictor", "transformer", "explainer"}), "")
    worker = "-worker" if scene.path[-1] == "workerSpec" else ""
    name = f"{scene.name}-{component}{worker}"
    add_labels(pod, {"serving.kserve.io/inferenceservice": scene.name, "component": component, "app": f"isvc.{name}"})
    if component == "predictor" and at(scene.spec, "predictor", "workerSpec") is not None:
        # Of an object that changes, the next generation has another number.
        add_labels(pod, {"isvc.generation": PLACEHOLDER_HASH})
    _own_deployment(pod, name)


def _min_replicas(scene: Scene) -> int:
    component = mapping_at(scene.document, *(str(step) for step in scene.path))
    return count(component.get("minReplicas"), 1)


def _component(*path: str, form: Form = _PREDICTOR, count_of: Callable[[Scene], int] = _min_replicas) -> Place:
    return Place(
        path=path,
        form=form,
        stamp=_stamp_inference_service,
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
    fields=frozenset(
        {
            "affinity",
            "containers",
            "hostIPC",
            "imagePullSecrets",
            "nodeSelector",
            "resourceClaims",
            "schedulerName",
            "tolerations",
            "volumes",
        }
    ),
)


def _serving_runtime(kind: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=frozenset({"serving.kserve.io/v1alpha1"}),
        kind=kind,
        source="kserve/kserve pkg/apis/serving/v1alpha1/servingruntime_types.go",
        places=(
            Place(path=("spec",), form=_RUNTIME, role="runtime", replicas=unknown),
            Place(path=("spec", "workerSpec"), form=_RUNTIME, role="worker", optional=True, replicas=unknown),
        ),
    )


def _stamp_llm_inference_service(pod: dict[str, Any], scene: Scene) -> None:
    """As the reconcilers of one node (a Deployment) and of several (a LeaderWorkerSet) do.

    Source: kserve/kserve pkg/controller/v1alpha2/llmisvc/workload_{single,multi}_node.go.
    """
    above = mapping_at(scene.document, *(str(step) for step in scene.path[:-1]))
    prefill = "-prefill" if "prefill" in scene.path else ""
    add_labels(
        pod,
        {
            "app.kubernetes.io/name": scene.name,
            "app.kubernetes.io/part-of": "llminferenceservice",
            "kserve.io/component": "workload",
        },
    )
    if "router" in scene.path:
        _own_deployment(pod, f"{scene.name}-kserve-router-scheduler")
    elif above.get("worker") is not None:
        size = _nodes(mapping_at(above, "parallelism"))
        stamp_group(pod, f"{scene.name}-kserve-mn{prefill}", size, leader=scene.path[-1] == "template")
    else:
        _own_deployment(pod, f"{scene.name}-kserve{prefill}")


def _nodes(parallelism: Mapping[str, Any]) -> int:
    """Return the pods of one replica (ParallelismSpec.GetSize, kserve/kserve pkg/apis/serving/v1alpha2)."""
    data, local = count(parallelism.get("data"), 0), count(parallelism.get("dataLocal"), 1)
    return max(data // max(local, 1), 1) if data else count(parallelism.get("pipeline"), 1)


def _llm_replicas(scene: Scene) -> int:
    above = mapping_at(scene.document, *(str(step) for step in scene.path[:-1]))
    size = _nodes(mapping_at(above, "parallelism")) - 1 if scene.path[-1] == "worker" else 1
    return count(above.get("replicas"), 1) * size


def _llm_places(stamp: Stamp, replicas: Callable[[Scene], int]) -> Iterator[Place]:
    for path in (
        ("template",),
        ("worker",),
        ("prefill", "template"),
        ("prefill", "worker"),
        ("router", "scheduler", "template"),
    ):
        yield Place(
            path=("spec", *path),
            form=INLINE,
            stamp=stamp,
            optional=True,
            role="-".join(path).removesuffix("-template").replace("template", "leader"),
            replicas=replicas,
            lacks=_NO_GROUP,
        )


# ---- NIM ------------------------------------------------------------------------------------------------------------
_NIM: Final = replace(
    COMPONENT,
    fields=frozenset(
        {"affinity", "nodeSelector", "priorityClassName", "runtimeClassName", "schedulerName", "tolerations"}
    ),
    front=((),),
    front_fields={name: name for name in ("args", "command", "env", "resources")},
    front_always=True,
)
"""A NIMServiceSpec: one container's fields among the pod's; its image is an object."""


def _stamp_nim(pod: dict[str, Any], scene: Scene) -> None:
    """As the standalone platform does (NVIDIA/k8s-nim-operator api/apps/v1alpha1/nimservice_types.go)."""
    add_labels(pod, {"app": scene.name, "app.kubernetes.io/name": scene.name})
    main, image = pod["spec"]["containers"][0], mapping_at(scene.spec, "image")
    main["name"] = f"{scene.name}-ctr"
    main["image"] = f"{image.get('repository')}:{image.get('tag')}"
    _own_deployment(pod, scene.name)


def _nim_replicas(scene: Scene) -> int:
    """Return the pods of a Deployment; of several nodes to a replica, only the operator knows."""
    return 0 if scene.spec.get("multiNode") is not None else count(scene.spec.get("replicas"), 1)


# ---- Knative, Notebook ----------------------------------------------------------------------------------------------
_REVISION: Final = Form(
    seats=(
        (("metadata", "labels"), ("metadata", "labels")),
        (("metadata", "annotations"), ("metadata", "annotations")),
        (("spec",), ("spec",)),
    ),
    fields=POD_SPEC_FIELDS,
)
"""A RevisionTemplateSpec: beside the PodSpec's fields stand a revision's own."""


def _stamp_knative(pod: dict[str, Any], scene: Scene) -> None:
    """As the revision's Deployment (knative/serving pkg/reconciler/revision/resources/deploy.go), without its proxy."""
    revision = f"{scene.name}-{PLACEHOLDER_HASH}"
    add_labels(
        pod,
        {
            "app": revision,
            "serving.knative.dev/configuration": scene.name,
            "serving.knative.dev/revision": revision,
            "serving.knative.dev/service": scene.name,
        },
    )
    for container in pod["spec"].get("containers") or ():
        container["name"] = container.get("name") or "user-container"
    _own_deployment(pod, f"{revision}-deployment")


def _knative_kind(kind: str) -> WorkloadKind:
    return WorkloadKind(
        api_versions=frozenset(
            {"serving.knative.dev/v1", "serving.knative.dev/v1beta1", "serving.knative.dev/v1alpha1"}
        ),
        kind=kind,
        source="knative/serving pkg/apis/serving/v1/{service,configuration,revision}_types.go",
        places=(Place(path=("spec", "template"), form=_REVISION, stamp=_stamp_knative, replicas=unknown),),
    )


def _stamp_notebook(pod: dict[str, Any], scene: Scene) -> None:
    """As generateStatefulSet (kubeflow/kubeflow components/notebook-controller/controllers/notebook_controller.go)."""
    for key, add in (("labels", add_labels), ("annotations", add_annotations)):
        said = mapping_at(scene.document, "metadata", key)
        kept = {name: value for name, value in said.items() if isinstance(value, str) and "kubectl" not in name}
        add(pod, kept)
    add_labels(pod, {"statefulset": scene.name, "notebook-name": scene.name})
    own(pod, "apps/v1", "StatefulSet", scene.name, PLACEHOLDER_UID)
    stamp_stateful_set(pod, scene.name, {})


_NOTEBOOK: Final = Form(seats=((("spec",), ("spec",)),))
"""A NotebookTemplateSpec: it has a spec alone."""


SERVING_KINDS: Final[tuple[WorkloadKind, ...]] = (
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
    WorkloadKind(
        api_versions=frozenset({"serving.kserve.io/v1alpha1", "serving.kserve.io/v1alpha2"}),
        kind="LLMInferenceService",
        source="kserve/kserve pkg/apis/serving/v1alpha2/llm_inference_service_types.go",
        places=tuple(_llm_places(_stamp_llm_inference_service, _llm_replicas)),
    ),
    WorkloadKind(
        api_versions=frozenset({"serving.kserve.io/v1alpha1", "serving.kserve.io/v1alpha2"}),
        kind="LLMInferenceServiceConfig",
        source="kserve/kserve pkg/apis/serving/v1alpha2/llm_inference_service_types.go, whose baseRefs name it",
        places=tuple(_llm_places(no_stamp, unknown)),
    ),
    WorkloadKind(
        api_versions=frozenset({"apps.nvidia.com/v1alpha1"}),
        kind="NIMService",
        source="NVIDIA/k8s-nim-operator api/apps/v1alpha1/nimservice_types.go",
        places=(Place(path=("spec",), form=_NIM, stamp=_stamp_nim, replicas=_nim_replicas, lacks=_NO_GROUP),),
    ),
    _serving_runtime("ServingRuntime"),
    _serving_runtime("ClusterServingRuntime"),
    _knative_kind("Service"),
    _knative_kind("Configuration"),
    WorkloadKind(
        api_versions=frozenset({"kubeflow.org/v1", "kubeflow.org/v1beta1", "kubeflow.org/v1alpha1"}),
        kind="Notebook",
        source="kubeflow/kubeflow components/notebook-controller/api/v1/notebook_types.go",
        places=(Place(path=("spec", "template"), form=_NOTEBOOK, stamp=_stamp_notebook),),
    ),
)

"""Facts about KServe: InferenceServices, on one node or on several nodes, and the ServingRuntimes that they name."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.shape import RESOURCED_LISTS, template_problems
from ...kube.unchecked import at, count, list_at, mapping_at, number, text, text_at
from ..dossier import Dossier, KindNote
from ..forms import COMPONENT, CONTAINER_FIELDS, INLINE, find
from ..members import Member, Membership, Subject, named
from ..name_sets import words
from ..places import PLACEHOLDER_HASH, Form, Found, Scene, TemplatePlace, WorkloadKind, unknown
from ..serving_runtimes import runtime_of
from ..stamping import add_env, add_labels, mount_shared_memory, own_by_deployment, owned_by_deployment

# The PodSpecs in these CRDs are older than this field of 1.36.
_NO_GROUP: Final = frozenset({"schedulingGroup"})


# kserve/kserve pkg/apis/serving/v1beta1/{predictor,explainer}.go: one of these fields is the server, with a container's
# fields inline (PredictorExtensionSpec). Without them the first of the containers is the server.
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


_GROUP: Final = "serving.kserve.io"
_SERVER: Final = "kserve-container"
_PREDICTOR: Final = replace(
    COMPONENT,
    front=tuple((name,) for name in _FRAMEWORKS),
    front_name=_SERVER,
    front_fields=CONTAINER_FIELDS,
)


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod KServe's fields for a raw deployment (pkg/controller/v1beta1/inferenceservice/components)."""
    component = next((str(step) for step in scene.path if step in {"predictor", "transformer", "explainer"}), "")
    worker = "-worker" if scene.path[-1] == "workerSpec" else ""
    name = f"{scene.name}-{component}{worker}"
    add_labels(pod, {"serving.kserve.io/inferenceservice": scene.name, "component": component, "app": f"isvc.{name}"})
    if component == "predictor" and at(scene.spec, "predictor", "workerSpec") is not None:
        # The number changes with each generation of the object.
        add_labels(pod, {"isvc.generation": PLACEHOLDER_HASH})
    if component == "predictor" and (framework := _framework(_at_place(scene))):
        _lay_over_runtime(pod, scene, framework)
    if worker or at(scene.spec, component, "workerSpec") is not None:
        for each in pod["spec"].get("containers", ())[:1]:
            add_env(each, {"name": "RAY_NODE_COUNT", "value": str(_nodes(scene))})
    own_by_deployment(pod, name)


def _framework(predictor: Found) -> str:
    return next((each for each in _FRAMEWORKS if isinstance(predictor.get(each), Mapping)), "")


def _at_place(scene: Scene) -> Found:
    return mapping_at(find(scene.document, scene.path))


def _lay_over_runtime(pod: dict[str, Any], scene: Scene, framework: str) -> None:
    """Add to a pod the fields of its runtime's container and volumes that the pod lacks.

    ``framework`` is the field of the predictor that names the runtime. KServe merges the predictor into the runtime
    (kserve/kserve pkg/controller/v1beta1/inferenceservice/utils/utils.go MergeRuntimeContainers, MergePodSpec). If the
    runtime is unknown, only a volume at /dev/shm is assumed, which KServe's own runtimes have
    (config/runtimes/kserve-{huggingfaceserver,vllmserver}.yaml).
    """
    main = pod["spec"]["containers"][0]
    runtime = mapping_at(runtime_of(scene, _GROUP, text_at(_at_place(scene), framework, "runtime")), "spec")
    below = {"spec": {key: runtime.get(key) for key in ("containers", "volumes")}}
    if not runtime or template_problems(below):
        mount_shared_memory(pod, main, "devshm")
        return
    theirs: Found = next(iter(_named(runtime, _SERVER)), {})
    for field in ("image", "command"):
        if not main.get(field) and theirs.get(field):
            main[field] = theirs[field]
    for field, key in (("args", None), ("env", "name"), ("volumeMounts", "mountPath")):
        main[field] = _joined(theirs.get(field), main.get(field), key)
    pod["spec"]["volumes"] = _joined(runtime.get("volumes"), pod["spec"].get("volumes"), "name")


def _joined(below: object, above: object, key: str | None) -> list[Any]:
    """Return the items of the lists ``below`` and ``above``; a value that is no list counts as empty.

    If two items have equal values at ``key``, only the item of ``above`` is returned; if ``key`` is None, all items
    are.
    """
    ours = above if isinstance(above, list) else []
    taken = [at(each, key) for each in ours] if key else []
    return [
        *(each for each in (below if isinstance(below, list) else ()) if not key or at(each, key) not in taken),
        *ours,
    ]


def _min_replicas(scene: Scene) -> int:
    return count(_at_place(scene).get("minReplicas"), 1)


def _component(*path: str, form: Form = _PREDICTOR, count_of: Callable[[Scene], int] = _min_replicas) -> TemplatePlace:
    return TemplatePlace(
        path=path,
        form=form,
        stamp=_stamp,
        optional=True,
        role="-".join(path[1:]).removesuffix("Spec").replace("-*", ""),
        replicas=count_of,
        lacks=_NO_GROUP,
    )


def _head_workers(scene: Scene) -> int:
    """Return the number of worker pods for each head (reconcilers/deployment/deployment_reconciler.go)."""
    return max(_nodes(scene) - 1, 0)


def _nodes(scene: Scene) -> int:
    """Return the number of nodes that the GPUs of all pipeline stages and tensor parts of a model need; 0 if unknown.

    Source: kserve/kserve pkg/controller/v1beta1/inferenceservice/components/predictor.go multiNodeProcess,
    computeRayNodeAndGPUs. KServe's own runtime has one stage and one tensor part.
    """
    predictor = mapping_at(scene.spec, "predictor")
    worker, framework = mapping_at(predictor, "workerSpec"), _framework(predictor)
    runtime = mapping_at(runtime_of(scene, _GROUP, text_at(predictor, framework, "runtime")), "spec")
    sizes = (worker.get(key, at(runtime, "workerSpec", key)) for key in ("pipelineParallelSize", "tensorParallelSize"))
    pipeline, tensors = (count(size, 1) for size in sizes)
    if at(runtime, "annotations", "multinode/executor-backend") == "mp":
        return pipeline
    total = pipeline * tensors
    each = _gpus(*list_at(worker, "containers")[:1], *_named(at(runtime, "workerSpec"), "worker-container"))
    own = [predictor[framework]] if framework else list_at(predictor, "containers")[:1]
    head = _gpus(*own, *_named(runtime, _SERVER))
    if each and total:
        return 1 if head >= total else -(-total // each)
    return max(total - head, 0) + 1 if head and total else total


def _gpus(*containers: object) -> int:
    """Return the GPUs that the first container with GPU requests asks for; limits do not count."""
    amounts = (at(each, "resources", "requests", name) for each in containers for name in _GPUS)
    return next((number(str(each)) or 0 for each in amounts if each is not None), 0)


def _named(pod_spec: object, name: str) -> list[Any]:
    return [each for each in list_at(pod_spec, "containers") if at(each, "name") == name]


_GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu", "intel.com/gpu", "habana.ai/gaudi")
"""The resource names of GPUs in KServe: kserve/kserve pkg/constants/constants.go DefaultGPUResourceTypeList."""


# ServingRuntimePodSpec (kserve/kserve pkg/apis/serving/v1alpha1/servingruntime_types.go)
_RUNTIME: Final = replace(
    COMPONENT,
    fields=words(
        "affinity containers hostIPC imagePullSecrets nodeSelector resourceClaims schedulerName tolerations volumes"
    ),
)


def _serving_runtime(kind: str) -> WorkloadKind:
    # KServe makes a Deployment for each InferenceService that names the runtime.
    return WorkloadKind(
        api_versions=frozenset({"serving.kserve.io/v1alpha1"}),
        kind=kind,
        source="kserve/kserve pkg/apis/serving/v1alpha1/servingruntime_types.go",
        only_template=True,
        of_cluster=kind.startswith("Cluster"),
        places=(
            TemplatePlace(path=("spec",), form=_RUNTIME, stamp=owned_by_deployment, role="runtime", replicas=unknown),
            TemplatePlace(
                path=("spec", "workerSpec"),
                form=_RUNTIME,
                stamp=owned_by_deployment,
                role="worker",
                optional=True,
                replicas=unknown,
            ),
        ),
    )


def _inference_service(pod: Subject) -> Member | None:
    """Return a pod's membership in the gang of a model on several nodes; None for any other pod.

    The heads and the workers are the pods of two Deployments. Each generation of the model is a gang. An
    LLMInferenceService on several nodes makes a LeaderWorkerSet instead.
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
    """Return the value of an environment variable in an unchecked container; empty if there is none."""
    found = (text_at(each, "value") for each in list_at(container, "env") if at(each, "name") == name)
    return next(found, "")


DOSSIER: Final = Dossier(
    name="KServe",
    versions={"kserve/kserve": "aaac4e29, after v0.20.0"},
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

"""Facts about vLLM's production stack: VLLMRuntimes, each of which becomes a Deployment of model servers.

Source: vllm-project/production-stack operator/internal/controller/vllmruntime_controller.go.
"""

from collections.abc import Iterator
from typing import Any, Final

from ...kube.paths import Path
from ...kube.unchecked import at, count, list_at, mapping_at, text, text_at
from ..dossier import Dossier
from ..name_sets import under
from ..places import Form, Scene, TemplatePlace, WorkloadKind
from ..stamping import add_labels, mount_shared_memory, own_by_deployment

_API: Final = "production-stack.vllm.ai"
_REQUIRED: Final = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")

_RUNTIME: Final = Form(
    seats=(
        (("metadata", "annotations"), ("podAnnotations",)),
        (("spec",), ()),
        (("spec", "runtimeClassName"), ("runtimeClass",)),
        (("spec", "tolerations"), ("toleration",)),
        ((*_REQUIRED, "nodeSelectorTerms"), ("nodeSelectorTerms",)),
    ),
    fields=frozenset(),
    front=((),),
    front_name="vllm",
    front_always=True,
)
"""The ``Form`` of a DeploymentConfig: fields of the pod under other names; ``resources`` has another format than a
Container's.
"""


def _amounts(scene: Scene) -> dict[str, str]:
    said = mapping_at(scene.spec, "deploymentConfig", "resources")
    names = {"cpu": "cpu", "memory": "memory", "gpu": text(said.get("gpuType")) or "nvidia.com/gpu"}
    return {name: text(said.get(field)) for field, name in names.items() if text(said.get(field))}


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add the fields that deploymentForVLLMRuntime writes; podberth leaves out probes and environment variables."""
    main, amounts = pod["spec"]["containers"][0], _amounts(scene)
    main["command"] = ["/opt/venv/bin/vllm", "serve"]
    main["args"] = [text_at(scene.spec, "model", "modelURL")]
    if tensors := count(at(scene.spec, "vllmConfig", "tensorParallelSize")):
        main["args"] += ["--tensor-parallel-size", str(tensors)]
    main["args"] += map(text, list_at(scene.spec, "vllmConfig", "extraArgs"))
    main["resources"] = {"limits": amounts, "requests": dict(amounts)}
    if size := text_at(scene.spec, "deploymentConfig", "shmSize"):
        mount_shared_memory(pod, main, "dshm", size)
    add_labels(pod, {"app": scene.name})
    own_by_deployment(pod, scene.name)


def _resources(_scene: Scene) -> Iterator[tuple[Path, str]]:
    yield ("spec", "containers", 0, "resources"), "asked for in spec.deploymentConfig.resources; change it there"


def _replicas(scene: Scene) -> int:
    """Return the number of replicas; 0 for a runtime that KEDA scales."""
    scales = at(scene.spec, "autoscalingConfig", "enabled") is True
    return 0 if scales else count(at(scene.spec, "deploymentConfig", "replicas"), 1)


DOSSIER: Final = Dossier(
    name="VLLMRuntime",
    versions={"vllm-project/production-stack": "a6c01db0, after vllm-stack-0.1.12"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({f"{_API}/v1alpha1"}),
            kind="VLLMRuntime",
            source="vllm-project/production-stack operator/api/v1alpha1/vllmruntime_types.go",
            places=(
                TemplatePlace(
                    path=("spec", "deploymentConfig"),
                    form=_RUNTIME,
                    stamp=_stamp,
                    optional=True,
                    replicas=_replicas,
                    fixed=_resources,
                ),
            ),
        ),
    ),
    podless_kinds=under(f"{_API}/v1alpha1", "CacheServer LoraAdapter VLLMRouter"),
)

"""Facts about KServe's LLMInferenceService, which becomes a LeaderWorkerSet (several nodes) or Deployment (one)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ...kube.unchecked import count, mapping_at
from ..dossier import Dossier, KindNote
from ..forms import INLINE
from ..leader_workers import stamp_group
from ..places import Scene, Stamp, TemplatePlace, WorkloadKind, unknown
from ..stamping import add_labels, mount_shared_memory, own_by_deployment

# The PodSpecs in these CRDs are older than this field of 1.36.
_NO_GROUP: Final = frozenset({"schedulingGroup"})


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that KServe and the pod's Deployment (one node) or LeaderWorkerSet (several nodes) write.

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
        own_by_deployment(pod, f"{scene.name}-kserve-router-scheduler")
        return
    _mount_shared_memory(pod)
    if above.get("worker") is not None:
        size = _nodes(mapping_at(above, "parallelism"))
        stamp_group(pod, f"{scene.name}-kserve-mn{prefill}", size, leader=scene.path[-1] == "template")
    else:
        own_by_deployment(pod, f"{scene.name}-kserve{prefill}")


def _mount_shared_memory(pod: dict[str, Any]) -> None:
    """Mount /dev/shm in the container called main, as KServe's default configs do; the user's own mount stays.

    Sources: kserve/kserve config/llmisvcconfig/config-llm-*.yaml; pkg/controller/v1alpha2/llmisvc/
    config_merge.go, which merges strategically.
    """
    for container in pod["spec"]["containers"]:
        if container.get("name") == "main":
            mount_shared_memory(pod, container, "dshm", "1Gi")


def _stamp_part(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod of an LLMInferenceServiceConfig the fields that KServe's default configs write.

    An LLMInferenceService names the config as a baseRef, and KServe merges all of its configs. Source: kserve/kserve
    pkg/controller/v1alpha2/llmisvc/config_merge.go combineBaseRefsConfig.
    """
    if "router" not in scene.path:
        _mount_shared_memory(pod)


def _nodes(parallelism: Mapping[str, Any]) -> int:
    """Return the number of pods of one replica (ParallelismSpec.GetSize, kserve/kserve pkg/apis/serving/v1alpha2)."""
    data, local = count(parallelism.get("data"), 0), count(parallelism.get("dataLocal"), 1)
    return max(data // max(local, 1), 1) if data else count(parallelism.get("pipeline"), 1)


def _replicas(scene: Scene) -> int:
    above = mapping_at(scene.document, *(str(step) for step in scene.path[:-1]))
    size = _nodes(mapping_at(above, "parallelism")) - 1 if scene.path[-1] == "worker" else 1
    return count(above.get("replicas"), 1) * size


def _places(stamp: Stamp, replicas: Callable[[Scene], int]) -> Iterator[TemplatePlace]:
    for path in (
        ("template",),
        ("worker",),
        ("prefill", "template"),
        ("prefill", "worker"),
        ("router", "scheduler", "template"),
    ):
        yield TemplatePlace(
            path=("spec", *path),
            form=INLINE,
            stamp=stamp,
            optional=True,
            role="-".join(path).removesuffix("-template").replace("template", "leader"),
            replicas=replicas,
            lacks=_NO_GROUP,
        )


_VERSIONS: Final = frozenset({"serving.kserve.io/v1alpha1", "serving.kserve.io/v1alpha2"})
_SOURCE: Final = "kserve/kserve pkg/apis/serving/v1alpha2/llm_inference_service_types.go"

DOSSIER: Final = Dossier(
    name="LLMInferenceService",
    versions={"kserve/kserve": "aaac4e29, after v0.20.0"},
    kinds=(
        WorkloadKind(
            api_versions=_VERSIONS, kind="LLMInferenceService", source=_SOURCE, places=tuple(_places(_stamp, _replicas))
        ),
        WorkloadKind(
            api_versions=_VERSIONS,
            kind="LLMInferenceServiceConfig",
            source=f"{_SOURCE}, whose baseRefs name it",
            places=tuple(_places(_stamp_part, unknown)),
            only_template=True,
        ),
    ),
    notes=(
        KindNote(
            key="leaderworkerset.sigs.k8s.io/name",
            kind="serving.kserve.io/LLMInferenceService",
            title="LLMInferenceService over several nodes (KServe)",
            keeps="the LeaderWorkerSet that KServe makes of it, one more for prefill, and holds to its own spec",
            source="kserve/kserve pkg/controller/v1alpha2/llmisvc/workload_multi_node.go",
        ),
    ),
)

"""OME: InferenceServices with an engine, a decoder and a router, and the ServingRuntimes that they name.

An engine or decoder with a leader and workers becomes a LeaderWorkerSet, any other part a Deployment. OME lays the
parts of a service over those of its runtime; only the fields of the service itself are read here.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from ...kube.unchecked import at, count, mapping_at
from ..dossier import Dossier
from ..forms import COMPONENT, CONTAINER_FIELDS, POD_SPEC_FIELDS, find, read
from ..leader_workers import predicted_group, stamp_group
from ..name_sets import under, words
from ..places import Found, Scene, Stamp, TemplatePlace, WorkloadKind, always, unknown
from ..roles import read_once
from ..stamping import add_labels, mount_shared_memory, own_by_deployment

_TYPES: Final = "sgl-project/ome pkg/apis/ome/v1beta1"

_PART: Final = replace(
    COMPONENT,
    # podspec.go: a PodSpec without its newest fields
    fields=POD_SPEC_FIELDS - words("hostnameOverride resources schedulingGroup workloadRef"),
    front=(("runner",),),
    front_name="ome-container",
    front_fields=CONTAINER_FIELDS,
)
"""The form of an EngineSpec, DecoderSpec or RouterSpec: fields of a PodSpec, and a container as ``runner``."""
_NODE: Final = replace(_PART, seats=((("spec",), ()),))
"""The form of a LeaderSpec or WorkerSpec: a PodSpec, and a container as ``runner``."""


def _part_of(scene: Scene) -> Found:
    return mapping_at(find(scene.document, scene.path[:2]))


def _nodes(part: Found) -> int:
    """Return the pods of one group, the leader and its workers; 0 if only the runtime states the number of workers."""
    workers = count(at(part, "worker", "size"))
    return workers + 1 if workers else 0


def _has_nodes(part: Found) -> bool:
    """Return whether a part becomes a LeaderWorkerSet (utils/deployment.go DetermineEngineDeploymentMode)."""
    return part.get("leader") is not None or part.get("worker") is not None


def _has_no_leader(scene: Scene) -> bool:
    return _part_of(scene).get("leader") is None


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write on a pod what OME writes (components/{base,engine}.go, reconcilers/lws/lws_reconciler.go)."""
    part = str(scene.path[1]).removesuffix("Config")
    name = f"{scene.name}-{part}"
    add_labels(pod, {"ome.io/inferenceservice": scene.name, "component": part})
    if _has_nodes(_part_of(scene)):
        stamp_group(pod, f"lws-{name}", _nodes(_part_of(scene)), leader=scene.path[-1] != "worker")
    else:
        add_labels(pod, {"app": name})
        own_by_deployment(pod, name)


def _stamp_service(pod: dict[str, Any], scene: Scene) -> None:
    """Write on a service's pod what OME writes, and a volume at /dev/shm as in its runtimes (config/runtimes/srt)."""
    if pod["spec"]["containers"] and scene.path[1] != "router":
        mount_shared_memory(pod, pod["spec"]["containers"][0], "dshm")
    _stamp(pod, scene)


def _replicas(scene: Scene) -> int:
    part = _part_of(scene)
    each = max(_nodes(part) - 1, 0) if scene.path[-1] == "worker" else 1
    return count(part.get("minReplicas"), 1) * each


def _group(scene: Scene) -> Found:
    """Return the LeaderWorkerSet of an engine or decoder on several nodes; else the document itself."""
    part = str(scene.path[1])
    return read_once(scene.document, _group_of, part) if _has_nodes(_part_of(scene)) else scene.document


def _group_of(document: Found, part: str) -> Found:
    path = ("spec", part)
    above = find(document, path)
    leader = _NODE if at(above, "leader") is not None else _PART
    templates = {
        "leaderTemplate": read(document, (*path, "leader") if leader is _NODE else path, leader),
        "workerTemplate": read(document, (*path, "worker"), _NODE),
    }
    return predicted_group(document, {"size": _nodes(above), **templates})


def _places(suffix: str, stamp: Stamp, replicas: Callable[[Scene], int]) -> Iterator[TemplatePlace]:
    for part, below in (
        *((part, below) for part in ("engine", "decoder") for below in ("", "leader", "worker")),
        ("router", ""),
    ):
        yield TemplatePlace(
            path=("spec", f"{part}{suffix}", *((below,) if below else ())),
            form=_NODE if below else _PART,
            stamp=stamp,
            optional=True,
            role=f"{part}-{below}".removesuffix("-"),
            when=always if below else _has_no_leader,
            replicas=replicas,
            owner=_group,
        )


DOSSIER: Final = Dossier(
    name="OME",
    versions={"sgl-project/ome": "17b77eda, after v0.1.5"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"ome.io/v1beta1"}),
            kind="InferenceService",
            source=f"{_TYPES}/inference_service.go",
            places=tuple(_places("", _stamp_service, _replicas)),
        ),
        *(
            WorkloadKind(
                api_versions=frozenset({"ome.io/v1beta1"}),
                kind=kind,
                source=f"{_TYPES}/servingruntime_types.go",
                places=tuple(_places("Config", _stamp, unknown)),
                only_template=True,
                of_cluster=kind.startswith("Cluster"),
            )
            for kind in ("ServingRuntime", "ClusterServingRuntime")
        ),
    ),
    podless_kinds=under("ome.io/v1beta1", "AcceleratorClass BaseModel BenchmarkJob ClusterBaseModel FineTunedWeight"),
)

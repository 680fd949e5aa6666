"""Facts about OME: InferenceServices with an engine, a decoder and a router, and the ServingRuntimes that they name.

An engine or decoder with a leader and workers becomes a LeaderWorkerSet, any other part a Deployment. OME merges the
parts of a service into the parts of the service's runtime. If the runtime is known and a part of the service has
containers, podberth checks the merged pod. The pods of any other part come from the runtime alone, and podberth checks
the runtime as a separate document.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from ...kube.shape import template_problems
from ...kube.unchecked import at, count, list_at, mapping_at, text_at
from ..dossier import Dossier
from ..forms import COMPONENT, CONTAINER_FIELDS, POD_SPEC_FIELDS, find, read
from ..leader_workers import predicted_group, stamp_group
from ..name_sets import under, words
from ..places import Form, Found, Scene, Stamp, TemplatePlace, WorkloadKind, always, unknown
from ..serving_runtimes import runtime_of
from ..stamping import add_labels, mount_shared_memory, own_by_deployment
from ..strategic_merge import merged, replaced_lists

_TYPES: Final = "sgl-project/ome pkg/apis/ome/v1beta1"

_PART: Final = replace(
    COMPONENT,
    # podspec.go: a PodSpec without its newest fields
    fields=POD_SPEC_FIELDS - words("hostnameOverride resources schedulingGroup workloadRef"),
    front=(("runner",),),
    front_name="ome-container",
    front_fields=CONTAINER_FIELDS,
)
"""The ``Form`` of an EngineSpec, DecoderSpec or RouterSpec: fields of a PodSpec, and a container as ``runner``."""
_NODE: Final = replace(_PART, seats=((("spec",), ()),))
"""The ``Form`` of a LeaderSpec or WorkerSpec: a PodSpec, and a container as ``runner``."""


def _runtime_part(scene: Scene) -> Found:
    """Return the part of the runtime (such as its engine) into which OME merges the service's part; empty if unknown.

    The service is the InferenceService with the template of ``scene``. Its part is the engine, decoder or router that
    has the template. The runtime is the serving runtime that the service names; it is unknown if the service names
    none, because OME then chooses one by the model. Source: utils/merging.go MergeEngineSpec.
    """
    if scene.document.get("kind") != "InferenceService":
        return {}
    runtime = runtime_of(scene, "ome.io", text_at(scene.spec, "runtime", "name"))
    return mapping_at(runtime, "spec", f"{scene.path[1]}Config")


def _said(scene: Scene, *path: str) -> object:
    """Return the value at ``path`` in the service's part, such as its engine; else in the runtime's part; else None."""
    own = at(find(scene.document, scene.path[:2]), *path)
    return at(_runtime_part(scene), *path) if own is None else own


def _nodes(scene: Scene) -> int:
    """Return the number of pods of one group, the leader and its workers; 0 if the number of workers is unknown."""
    workers = count(_said(scene, "worker", "size"))
    return workers + 1 if workers else 0


def _has_nodes(scene: Scene) -> bool:
    """Return whether the engine, decoder or router with the template of ``scene`` becomes a LeaderWorkerSet.

    It does if it, or the runtime's part, has a leader or worker (utils/deployment.go DetermineEngineDeploymentMode).
    """
    return _said(scene, "leader") is not None or _said(scene, "worker") is not None


def _has_no_leader(scene: Scene) -> bool:
    return _said(scene, "leader") is None


def _below(scene: Scene) -> Found:
    """Return the runtime's pod into which OME merges the service's pod at ``scene.path``, such as an engine's leader.

    Empty if the service's pod has no containers, because OME then merges nothing, or if the runtime is unknown.
    """
    part = _runtime_part(scene)
    if not part or not list_at(_own(scene), "spec", "containers"):
        return {}
    below = read(part, scene.path[2:], _form(scene))
    return {} if template_problems(below) else below


def _own(scene: Scene) -> Found:
    return read(scene.document, scene.path, _form(scene))


def _form(scene: Scene) -> Form:
    return _NODE if len(scene.path) > len(("spec", "engine")) else _PART


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that OME writes (components/{base,engine}.go, reconcilers/lws/lws_reconciler.go)."""
    part = str(scene.path[1]).removesuffix("Config")
    name = f"{scene.name}-{part}"
    add_labels(pod, {"ome.io/inferenceservice": scene.name, "component": part})
    if _has_nodes(scene):
        stamp_group(pod, f"lws-{name}", _nodes(scene), leader=scene.path[-1] != "worker")
    else:
        add_labels(pod, {"app": name})
        own_by_deployment(pod, name)


def _stamp_service(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a service's pod the fields that OME writes.

    If the runtime is unknown, a volume at /dev/shm is assumed, as in OME's own runtimes (config/runtimes/srt).
    """
    if pod["spec"]["containers"] and scene.path[1] != "router" and not _runtime_part(scene):
        mount_shared_memory(pod, pod["spec"]["containers"][0], "dshm")
    _stamp(pod, scene)


def _replicas(scene: Scene) -> int:
    each = max(_nodes(scene) - 1, 0) if scene.path[-1] == "worker" else 1
    return count(_said(scene, "minReplicas"), 1) * each


def _group(scene: Scene) -> Found:
    """Return the LeaderWorkerSet of an engine or decoder on several nodes; else the document itself."""
    if not _has_nodes(scene):
        return scene.document
    leader = () if _has_no_leader(scene) else ("leader",)
    templates = {"leaderTemplate": _pod(scene, leader), "workerTemplate": _pod(scene, ("worker",))}
    return predicted_group(scene.document, {"size": _nodes(scene), **templates})


def _pod(scene: Scene, below: tuple[str, ...]) -> Found:
    """Return a pod of an InferenceService's engine or decoder, merged with the same pod of the ServingRuntime.

    ``scene.path`` leads into the engine or decoder. The path ``below`` leads from there to the pod: ("leader",),
    ("worker",), or () for the pod of the engine or decoder itself.
    """
    here = replace(scene, path=(*scene.path[:2], *below))
    own, lower = _own(here), _below(here)
    if not lower:
        return own if list_at(own, "spec", "containers") else read(_runtime_part(scene), below, _form(here))
    return own if template_problems(own) else {key: merged(lower[key], own[key]) for key in ("metadata", "spec")}


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
            below=_below,
            fixed=lambda scene: replaced_lists(_below(scene), _own(scene), "the runtime", "the service's own"),
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

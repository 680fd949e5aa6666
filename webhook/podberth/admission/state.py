"""What is known of the pod under review: its facts and CEL's bindings, kept in step with the draft."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..cel.functions import ReviewContext
from ..kube.patch import Draft, Path
from ..topology.index import Need, NodeSelection
from ..wellknown import GPU_MEMORY_ANNOTATION
from ..workload.gangs import Gang, gang_of
from ..workload.gpus import GpuFacts, gpu_facts
from .review import AdmissionRequest
from .snapshot import Snapshot

# Which parts of a pod each variable is made from: a write below one of these makes the variable anew.
_GPU_PARTS: tuple[Path, ...] = (
    ("spec", "containers"),
    ("spec", "initContainers"),
    ("spec", "resourceClaims"),
    ("spec", "schedulerName"),
    ("metadata", "annotations", GPU_MEMORY_ANNOTATION),
)
_GANG_PARTS: tuple[Path, ...] = (
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec", "schedulingGroup"),
    ("spec", "schedulerName"),
)
_TOPOLOGY_PARTS: tuple[Path, ...] = (*_GPU_PARTS, ("spec", "nodeSelector"), ("spec", "affinity"))
_PARTS: Mapping[str, tuple[Path, ...]] = {"gpu": _GPU_PARTS, "gang": _GANG_PARTS, "topology": _TOPOLOGY_PARTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodState:
    """The pod as the policies so far have left it."""

    pod: dict[str, Any]
    gpu: GpuFacts
    gang: Gang
    need: Need
    bindings: Mapping[str, Any]
    """CEL's variables, without params and namespaceObject, which are each policy's own."""
    review: ReviewContext


def observe(pod: dict[str, Any], request: AdmissionRequest, snapshot: Snapshot) -> PodState:
    """Return the state of a pod that has just arrived."""
    gpu = gpu_facts(pod)
    gang = gang_of(pod, request.namespace, snapshot.owners, snapshot.pod_groups.get(request.namespace, frozenset()))
    return _state(pod, gpu, gang, (request, snapshot))


def follow(state: PodState, draft: Draft, written: Iterable[Path], known: tuple[AdmissionRequest, Snapshot]) -> PodState:
    """Return the state after a policy has written the paths ``written`` of the draft."""
    request, snapshot = known
    pod = draft.document
    paths = tuple(written)
    gpu = gpu_facts(pod) if _meets(paths, _GPU_PARTS) else state.gpu
    gang = state.gang
    if _meets(paths, _GANG_PARTS):
        gang = gang_of(pod, request.namespace, snapshot.owners, snapshot.pod_groups.get(request.namespace, frozenset()))
    return _state(pod, gpu, gang, known)


def changed(reads: Iterable[tuple[str, ...]], written: Iterable[Path]) -> bool:
    """Say whether an expression that reads ``reads`` can have another value after ``written``."""
    paths = tuple(written)
    for name, *rest in reads:
        if name == "object" and _meets(paths, (tuple(rest),)):
            return True
        if _meets(paths, _PARTS.get(name, ())):
            return True
    return False


def _state(pod: dict[str, Any], gpu: GpuFacts, gang: Gang, known: tuple[AdmissionRequest, Snapshot]) -> PodState:
    request, snapshot = known
    need = Need(
        requests=gpu.totals,
        per_container=gpu.per_container,
        memory_mib=gpu.memory_mib,
        selector=NodeSelection.of(pod.get("spec") or {}),
    )
    bindings = {
        "object": pod,
        "oldObject": request.old_object,
        "request": request.raw,
        "gpu": gpu.as_cel(),
        "gang": gang.as_cel(),
    }
    review = ReviewContext(snapshot.topology, need)
    return PodState(pod=pod, gpu=gpu, gang=gang, need=need, bindings=bindings, review=review)


def _meets(written: Iterable[Path], parts: Iterable[Path]) -> bool:
    """Say whether one of ``written`` lies on, above or below one of ``parts``."""
    return any(all(a == b for a, b in zip(path, part, strict=False)) for path in written for part in parts)

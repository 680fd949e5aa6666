"""What is known of the pod under review: its facts and CEL's bindings, kept in step with the draft."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from operator import attrgetter
from typing import Any, Final

import orjson

from ..cel.functions import ReviewContext
from ..cel.typing import DECLARED
from ..devices.resources import DEVICE_CLASS_PREFIX
from ..kube.patch import Path
from ..kube.paths import ELEMENT
from ..kube.pod import spec
from ..kube.selector import label_selector_matches
from ..kube.shape import RESOURCED_LISTS
from ..mutation.concerns.scheduler_name import DEFAULT_SCHEDULER
from ..topology.index import Need, NodeSelection
from ..topology.need import CHOSEN_BY, is_small, own_tolerations
from ..topology.together import Roles
from ..workload.gangs import Gang, gang_of
from ..workload.gpus import GpuFacts, facts_of, gpu_facts
from ..workload.systems import ACCOUNTING, PLAIN, SYSTEMS, more_decisive
from .recall import Footprint, Tree
from .review import AdmissionRequest
from .snapshot import Snapshot

# Which parts of a pod each variable is made from: a write below one of these makes the variable anew.
_GPU_PARTS: tuple[Path, ...] = (
    ("spec", "containers"),
    ("spec", "initContainers"),
    ("spec", "resourceClaims"),
    ("spec", "schedulingGroup"),  # whose claims its pods share
    ("spec", "schedulerName"),
    ("metadata", "annotations"),  # the memory need, and what other systems' dialects are spoken in
)
_GANG_PARTS: tuple[Path, ...] = (
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec", "schedulingGroup"),
    ("spec", "workloadRef"),
    ("spec", "schedulerName"),
)
_TOPOLOGY_PARTS: tuple[Path, ...] = (
    *_GPU_PARTS,
    *CHOSEN_BY,
)
_ALL_PARTS: tuple[Path, ...] = (*_TOPOLOGY_PARTS, *_GANG_PARTS)
_TOLERATIONS: Path = ("spec", "tolerations")
# A label that hands the pod to a system which accounts it: its claims are no longer believed (``gpu_in``).
_SYSTEM_LABELS: tuple[Path, ...] = tuple(("metadata", "labels", key) for row in SYSTEMS for key in row.labels)
_PARTS: Mapping[str, tuple[Path, ...]] = {
    "gpu": (*_GPU_PARTS, *_SYSTEM_LABELS),
    "gang": _GANG_PARTS,
    "topology": _TOPOLOGY_PARTS,
    "mig": _TOPOLOGY_PARTS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodState:
    """The pod as the policies so far have left it."""

    pod: dict[str, Any]
    gpu: GpuFacts
    gang: Gang
    need: Need
    concerned: bool
    """Whether policies of scope GPU apply: the pod has accelerators or a gang, and speaks no system's dialect."""
    comparable: bool
    """Whether facts and need are small enough to be compared with another pod's."""
    review: ReviewContext


# What a fingerprint may hold, so that what is remembered stays a few KiB a pod: anybody can send one of a megabyte.
_MOST_REQUESTS = 16
_LONGEST_VALUES = 4096
_LONGEST_NAME = 253


# The fields of CEL's gpu and gang, as the facts have them; what is no scalar is compared as it is.
_GPU_FIELDS: dict[str, Callable[[GpuFacts], Hashable]] = {
    "count": attrgetter("count"),
    "perContainer": attrgetter("per_container"),
    "kind": attrgetter("kind"),
    "vendor": attrgetter("vendor"),
    "memoryMiB": attrgetter("memory_mib"),
    "requests": attrgetter("requests"),
    "claims": attrgetter("claims"),
}


def _of_requests(field: str) -> Callable[[GpuFacts], Hashable]:
    return lambda gpu: tuple([getattr(request, field) for request in gpu.requests])


_GPU_FIELDS |= {f"requests.{field}": _of_requests(field) for field in DECLARED["podberth.GpuRequest"]}
_GPU_FIELDS["requests."] = lambda gpu: len(gpu.requests)
_GANG_FIELDS: Mapping[str, Callable[[Gang], Hashable]] = {
    field: attrgetter(field) for field in DECLARED["podberth.Gang"]
}


def observe(pod: dict[str, Any], request: AdmissionRequest, snapshot: Snapshot) -> PodState:
    """Return the state of a pod that has just arrived."""
    gang = gang_in(pod, request, snapshot)
    return _state(pod, gpu_in(pod, request, snapshot, gang), gang, snapshot)


def unread(pod: dict[str, Any], snapshot: Snapshot) -> PodState:
    """Return the state of a pod that is too large to be read.

    What it asks for is not known, so every policy that is about the request is concerned: a pod that hides a GPU behind
    ten thousand containers is not left alone.
    """
    need = Need()
    return PodState(
        pod=pod,
        gpu=GpuFacts(),
        gang=Gang(),
        need=need,
        concerned=True,
        comparable=False,
        review=ReviewContext(snapshot.topology, need),
    )


def follow(
    state: PodState, pod: dict[str, Any], written: Sequence[Path], known: tuple[AdmissionRequest, Snapshot]
) -> PodState:
    """Return the state of ``pod``, which differs from the one observed at the paths ``written``."""
    if not meets(written, _ALL_PARTS) or (
        all(path[:2] == _TOLERATIONS for path in written)
        and own_tolerations(pod["spec"], known[1].conventions) == state.need.tolerations
    ):
        return replace(state, pod=pod)
    gang = gang_in(pod, *known) if meets(written, _GANG_PARTS) else state.gang
    same = gang.system == state.gang.system and not meets(written, _GPU_PARTS)
    gpu = state.gpu if same else gpu_in(pod, *known, gang)
    return _state(pod, gpu, gang, known[1])


@cache
def parts_of(reads: frozenset[tuple[str, ...]]) -> tuple[Path, ...]:
    """Return the parts of a pod that expressions which read ``reads`` are made from."""
    parts: set[Path] = set()
    for name, *rest in reads:
        # No element is known from another, and what is below an object also tells whether it is there.
        above = takewhile(lambda step: step not in (ELEMENT, ""), rest)
        parts.update([tuple(above)] if name == "object" else _PARTS.get(name, ()))
    return tuple(parts)


def fact_of(state: PodState, variable: str, field: str) -> Any:
    """Return a field of ``gpu`` or ``gang`` by CEL's name for it."""
    return _GPU_FIELDS[field](state.gpu) if variable == "gpu" else _GANG_FIELDS[field](state.gang)


def fingerprint(state: PodState, read: Footprint | None) -> tuple[Hashable, Hashable, Hashable, bytes] | None:
    """Return the values of everything in a footprint; None where there is no footprint, or no comparing.

    The values below the pod come last, as JSON.
    """
    if read is None or not state.comparable:
        return None
    gpu = tuple([_GPU_FIELDS[field](state.gpu) for field in read.gpu])
    gang = tuple([_GANG_FIELDS[field](state.gang) for field in read.gang])
    need = (state.need, state.review.roles) if read.need else None
    if not read.paths:
        return gpu, gang, need, b""
    try:
        found = _values(state.pod, read.tree)
        values = orjson.dumps([found, _resources(state.pod)] if read.containers else found)
    except TypeError:  # a number beyond 64 bits, which no Pod of an apiserver has
        return None
    return (gpu, gang, need, values) if len(values) <= _LONGEST_VALUES else None


def _resources(pod: dict[str, Any]) -> list[Any]:
    """Return what ``gpu_facts`` reads of the containers."""
    pod_spec = spec(pod)
    return [
        [
            [container.get(field) for field in ("name", "restartPolicy", "resources")]
            for container in pod_spec.get(kind) or ()
        ]
        for kind in RESOURCED_LISTS
    ]


def _values(value: Any, tree: Tree) -> Any:
    """Return what stands at the leaves of ``tree``; no two documents that differ there look alike.

    ``[]`` is absent, ``[value]`` a leaf or what stands where a branch was looked for, a map the branch itself.
    """
    first, below = tree[0]
    if first == ELEMENT and isinstance(value, list):
        return {"": value if below is None else [_values(each, below) for each in value]}
    if first == ELEMENT or not isinstance(value, dict):
        return [value]
    return {
        "": [
            [] if step not in value else [value[step]] if below is None else _values(value[step], below)
            for step, below in tree
        ]
    }


def gang_in(pod: dict[str, Any], request: AdmissionRequest, snapshot: Snapshot) -> Gang:
    """Return a pod's gang, as far as the snapshot knows its owners and groups."""
    native = snapshot.facts.native_groups.get(request.namespace, frozenset())
    gang = gang_of(pod, request.namespace, snapshot.owners, native, snapshot.facts.group_sizes, snapshot.devices)
    system = more_decisive(gang.system, _taken_over(pod, request.namespace, snapshot))
    return gang if system == gang.system else replace(gang, system=system)


def _taken_over(pod: dict[str, Any], namespace: str, snapshot: Snapshot) -> str:
    """Return the system that takes over what stands in the pod's namespace, if it is for the default scheduler yet.

    Of a Namespace that is not known only the name counts, by the label that the API server gives it.
    """
    said = snapshot.conventions.group_systems
    if not said or (spec(pod).get("schedulerName") or DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER:
        return PLAIN
    known = snapshot.facts.namespaces.get(namespace) or {}
    named = {**((known.get("metadata") or {}).get("labels") or {}), _NAMESPACE_NAME: namespace}
    return next((each.system for each in said if label_selector_matches(each.namespace_selector, named)), PLAIN)


# https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


def roles_of(gang: Gang, snapshot: Snapshot) -> Roles:
    """Return what the roles of a gang ask of a node, where that is not the same for all; else nothing.

    By the templates of its owner, so that it is one answer whichever member asks; what policies write on pods is not
    in it.
    """
    needs: dict[Need, int] = {}
    for role in gang.roles:
        if role.asks is not None:
            facts, chosen = facts_of(role.asks, devices=snapshot.devices), role.asks.chosen()
            tolerations = own_tolerations(chosen, snapshot.conventions)
            counted, claimed = _counted(facts, snapshot)
            need = Need(counted, facts.per_container, 0, NodeSelection.of(chosen), tolerations, claimed=claimed)
            needs[need] = needs.get(need, 0) + role.count
    return tuple([(count, need) for need, count in needs.items()]) if len(needs) > 1 else ()


def _counted(gpu: GpuFacts, snapshot: Snapshot) -> tuple[tuple[tuple[str, int], ...], bool]:
    """Return what of a pod's accelerators nodes count, and whether others come by a claim.

    What DeviceClasses alone serve is no capacity of any node: the scheduler makes a claim for it (KEP-5004).
    """
    served = [name for name, _ in gpu.totals if _is_claimed(name, snapshot)]
    if not served:
        return gpu.totals, gpu.kind == "claim"
    return tuple([each for each in gpu.totals if each[0] not in served]), True


def _is_claimed(resource: str, snapshot: Snapshot) -> bool:
    if resource.startswith(DEVICE_CLASS_PREFIX):
        return True
    return resource in snapshot.facts.class_resources and not snapshot.topology.offers(resource)


def gpu_in(pod: dict[str, Any], request: AdmissionRequest, snapshot: Snapshot, gang: Gang) -> GpuFacts:
    """Return what a pod of that gang asks of accelerators, as far as the snapshot knows its claims."""
    believe = gang.system not in ACCOUNTING
    return gpu_facts(pod, request.namespace, snapshot.devices, believe_claims=believe)


def _state(pod: dict[str, Any], gpu: GpuFacts, gang: Gang, snapshot: Snapshot) -> PodState:
    pod_spec = spec(pod)
    tolerations = own_tolerations(pod_spec, snapshot.conventions)
    chosen = NodeSelection.of(pod_spec)
    counted, claimed = _counted(gpu, snapshot)
    need = Need(counted, gpu.per_container, gpu.memory_mib, chosen, tolerations, claimed=claimed)
    roles = roles_of(gang, snapshot) if gang.roles else ()
    review = ReviewContext(snapshot.topology, need, snapshot.facts.class_resources, gang.accelerated, roles)
    comparable = (
        is_small(need)
        and _is_small(gpu)
        and all(is_small(each) for _, each in roles)
        and max(map(len, (gang.name, gang.source, gang.role))) <= _LONGEST_NAME
    )
    return PodState(
        pod=pod,
        gpu=gpu,
        gang=gang,
        need=need,
        concerned=(gpu.kind != "none" or gang.known) and not gpu.dialect,
        comparable=comparable,
        review=review,
    )


def _is_small(gpu: GpuFacts) -> bool:
    if len(gpu.requests) > _MOST_REQUESTS or len(gpu.claims) > _MOST_REQUESTS:
        return False
    names = [request.container for request in gpu.requests]
    names += [name for claim in gpu.claims for name in (claim.name, claim.device_class)]
    return max(map(len, names), default=0) <= _LONGEST_NAME


def meets(written: Iterable[Path], parts: Iterable[Path]) -> bool:
    """Say whether one of ``written`` lies on, above or below one of ``parts``."""
    for path in written:
        for part in parts:
            if path[: len(part)] == part[: len(path)]:
                return True
    return False

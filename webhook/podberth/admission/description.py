"""The description of the pod under review: the pod's accelerators, gang, tolerations and node selection.

Later code reads the description instead of the pod. After a policy has written on the pod, the parts of the description
that depend on the written fields are computed again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import Any, Final

from ..cel.functions import ReviewContext
from ..devices.resources import DEVICE_CLASS_PREFIX
from ..kinds.roles import Asks, Role
from ..kube.paths import ELEMENT, Path
from ..kube.pod import spec
from ..kube.selector import LabelRequirements
from ..mutation.concerns.scheduler_name import DEFAULT_SCHEDULER
from ..topology.need import CHOSEN_BY, Need, NodeSelection, Tolerations, is_small, own_tolerations
from ..topology.pod_groups import POD_GROUP_KINDS
from ..topology.whole_gang import Roles
from ..workload.gangs import Gang, gang_of
from ..workload.gpus import GpuFacts, facts_of, gpu_facts
from ..workload.systems import ACCOUNTING, PLAIN, SYSTEMS, is_accounted, more_decisive
from .snapshot import Snapshot

# The parts of a pod from which each CEL variable is computed: a write below one of these may change the variable.
_GPU_PARTS: tuple[Path, ...] = (
    ("spec", "containers"),
    ("spec", "initContainers"),
    ("spec", "resourceClaims"),
    ("spec", "schedulingGroup"),  # the pods of a group share its claims
    ("spec", "schedulerName"),
    ("metadata", "annotations"),  # the needed memory, and the keys of dialects
)
_GANG_PARTS: tuple[Path, ...] = (
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec", "schedulingGroup"),
    ("spec", "workloadRef"),
    ("spec", "schedulerName"),
)
_TOPOLOGY_PARTS: tuple[Path, ...] = (*_GPU_PARTS, *CHOSEN_BY)
_ALL_PARTS: tuple[Path, ...] = (*_TOPOLOGY_PARTS, *_GANG_PARTS)
_GROUP_KINDS: Final = {each.name: each for each in POD_GROUP_KINDS}
_TOLERATIONS: Path = ("spec", "tolerations")
# Labels that hand the pod to a group system. If the system accounts resources, ``_gpu`` ignores the pod's claims.
_SYSTEM_LABELS: tuple[Path, ...] = tuple(("metadata", "labels", key) for row in SYSTEMS for key in row.labels)
_PARTS: Mapping[str, tuple[Path, ...]] = {
    "gpu": (*_GPU_PARTS, *_SYSTEM_LABELS),
    "gang": _GANG_PARTS,
    "topology": _TOPOLOGY_PARTS,
    "mig": _TOPOLOGY_PARTS,
}

# Cached answers keep descriptions as their keys, and anybody can send a pod of a megabyte.
_MOST_REQUESTS = 16
_LONGEST_NAME = 253
_LONGEST_ROLES: Final = 4_096
"""The most characters of the requirements of a gang's roles, if the roles' needs are cached. These needs take up to 200
KiB of memory, and ``Snapshot.gang_roles`` keeps the needs of 80 gangs at most.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The facts about a pod that decisions depend on, computed from the pod and the snapshot."""

    gpu: GpuFacts
    """The accelerators that the pod requests."""
    gang: Gang
    """The gang that the pod belongs to."""
    need: Need
    """The properties that a node must have to run the pod: devices, labels, taints that the pod tolerates."""
    concerned: bool
    """Whether policies of scope GPU apply: the pod has accelerators or a gang, and uses no GPU-sharing system's
    keys."""
    comparable: bool
    """Whether the description is small enough to be part of a cache key."""
    review: ReviewContext


def describe(pod: dict[str, Any], namespace: str, snapshot: Snapshot) -> Description:
    """Return the description of a pod before any policy has written on it."""
    gang = gang_in(pod, namespace, snapshot)
    tolerations = own_tolerations(spec(pod), snapshot.conventions)
    return _description(pod, _gpu(pod, namespace, snapshot, gang), gang, tolerations, snapshot)


def undescribed(snapshot: Snapshot) -> Description:
    """Return the description that is used for a pod that is too large for podberth to read.

    The pod's requests are unknown, so every policy with ``scope: GPU`` applies: a user cannot avoid the policies by
    hiding a GPU among ten thousand containers.
    """
    need = Need()
    return Description(
        gpu=GpuFacts(),
        gang=Gang(),
        need=need,
        concerned=True,
        comparable=False,
        review=ReviewContext(snapshot.topology, need),
    )


def describe_again(
    before: Description, pod: dict[str, Any], written: Sequence[Path], namespace: str, snapshot: Snapshot
) -> Description:
    """Return the description of a changed pod; parts that the change cannot affect are taken from ``before``.

    ``before`` describes the pod as it was before the change, and ``written`` has the paths that were changed.
    """
    if not meets(written, _ALL_PARTS):
        return before
    tolerations = before.need.tolerations
    if meets(written, (_TOLERATIONS,)):
        tolerations = own_tolerations(pod["spec"], snapshot.conventions)
        if tolerations == before.need.tolerations and all(path[:2] == _TOLERATIONS for path in written):
            return before
    gang = gang_in(pod, namespace, snapshot) if meets(written, _GANG_PARTS) else before.gang
    same = gang.system == before.gang.system and not meets(written, _GPU_PARTS)
    gpu = before.gpu if same else _gpu(pod, namespace, snapshot, gang)
    return _description(pod, gpu, gang, tolerations, snapshot)


@cache
def parts_of(reads: frozenset[tuple[str, ...]]) -> tuple[Path, ...]:
    """Return the paths in a pod that can change the value of an expression which reads the paths ``reads``.

    A path in ``reads`` begins with a CEL variable. A path that begins with the variable ``gang`` or ``gpu`` is replaced
    by the paths of the pod's fields from which podberth computes the variable.
    """
    parts: set[Path] = set()
    for name, *rest in reads:
        # The elements of a list are not distinguished; a path below an object also shows whether the object exists.
        above = takewhile(lambda step: step not in (ELEMENT, ""), rest)
        parts.update([tuple(above)] if name == "object" else _PARTS.get(name, ()))
    return tuple(parts)


def meets(written: Iterable[Path], parts: Iterable[Path]) -> bool:
    """Return whether one of the paths ``written`` is equal to, above or below one of the paths ``parts``."""
    return any(path[: len(part)] == part[: len(path)] for path in written for part in parts)


def gang_in(pod: dict[str, Any], namespace: str, snapshot: Snapshot) -> Gang:
    """Return a pod's gang, computed from the pod and from the snapshot.

    Of the snapshot, the owners, the groups and the group systems of namespaces (``Conventions``) are used.
    """
    native = snapshot.facts.native_groups.get(namespace, frozenset())
    gang = gang_of(pod, namespace, snapshot.owners, native, snapshot.facts.group_size, snapshot.devices)
    system = more_decisive(gang.system, _taken_over(pod, namespace, snapshot))
    if system == gang.system:
        return replace(gang, asks_topology=True) if _group_asks(gang, pod, namespace, snapshot) else gang
    # The system may have made and accounted a group for the pod's gang before it takes the pod over.
    accounted = system in ACCOUNTING and (gang.known or is_accounted(system, pod))
    return replace(gang, system=system, accounted=accounted, alone=False, asks_topology=False, topology_needs="")


def _group_asks(gang: Gang, pod: dict[str, Any], namespace: str, snapshot: Snapshot) -> bool:
    """Return whether the pod names a known PodGroup that requests topology from the pod's group system."""
    kind = _GROUP_KINDS.get(gang.system)
    name = kind.read(pod) if gang.known and kind is not None and kind.asked else None
    if kind is None or not isinstance(name, str):
        return False
    found = (snapshot.facts.pod_groups.get((group, namespace, name)) for group in kind.api_groups)
    return any(each is not None and each.asks_topology for each in found)


def _taken_over(pod: dict[str, Any], namespace: str, snapshot: Snapshot) -> str:
    """Return the name of the group system that takes over all pods of the namespace; "plain" if there is none.

    The cluster's file of conventions assigns group systems to namespaces, by the labels of the Namespaces. The result
    is "plain" for a pod that names a scheduler other than the default scheduler. If the Namespace is unknown, its only
    known label is the label with the name, which the API server sets.
    """
    systems = snapshot.conventions.group_systems
    if not systems or (spec(pod).get("schedulerName") or DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER:
        return PLAIN
    known = snapshot.facts.namespaces.get(namespace) or {}
    labels = {**((known.get("metadata") or {}).get("labels") or {}), _NAMESPACE_NAME: namespace}
    return next((each.system for each in systems if LabelRequirements(each.namespace_selector).match(labels)), PLAIN)


# https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


def roles_of(gang: Gang, snapshot: Snapshot) -> Roles:
    """Return the needs of a gang's roles as pairs (number of pods, need); empty if all roles have equal needs.

    A role whose pod template is unknown is left out. The result is equal for all members, because the needs come from
    the owner's templates. So the result is cached, unless the templates' requirements are too long.
    """
    if len(gang.roles) <= 1:
        return ()
    length = sum([_length(role.asks) for role in gang.roles if role.asks is not None])
    key = gang.roles if length <= _LONGEST_ROLES else None
    return snapshot.gang_roles.answer(key, lambda: _needs_of(gang.roles, snapshot))


def _length(asks: Asks) -> int:
    names = sum([len(name) for name, _ in asks.amounts])
    return len(asks.choice) + names + sum([len(text) for claim in asks.claims for _, text in claim])


def _needs_of(roles: Iterable[Role], snapshot: Snapshot) -> Roles:
    """Return the pairs of ``roles_of``, computed from the roles."""
    needs: dict[Need, int] = {}
    for role in roles:
        if role.asks is not None:
            facts, chosen = facts_of(role.asks, devices=snapshot.devices), role.asks.chosen()
            tolerations = own_tolerations(chosen, snapshot.conventions)
            need = _need(facts, NodeSelection.of(chosen), tolerations, snapshot)
            needs[need] = needs.get(need, 0) + role.count
    return tuple([(count, need) for need, count in needs.items()]) if len(needs) > 1 else ()


def _need(gpu: GpuFacts, selection: NodeSelection | None, tolerations: Tolerations, snapshot: Snapshot) -> Need:
    """Return the requirements on a node of a pod that asks for ``gpu``.

    A resource that only DeviceClasses serve is in no node's capacity, so it is left out: the scheduler makes a
    ResourceClaim for the resource (KEP-5004).
    """
    names = [name for name, _ in gpu.totals]
    served = [name for name in names if _is_claimed(name, snapshot)]
    return Need(
        gpu.totals if not served else tuple([each for each in gpu.totals if each[0] not in served]),
        gpu.per_container,
        gpu.memory_mib,
        selection,
        tolerations,
        claimed=bool(served) or gpu.kind == "claim",
        or_claimed=bool(names) and not served and snapshot.facts.class_resources.issuperset(names),
    )


def _is_claimed(resource: str, snapshot: Snapshot) -> bool:
    if resource.startswith(DEVICE_CLASS_PREFIX):
        return True
    return resource in snapshot.facts.class_resources and not snapshot.topology.offers(resource)


def _gpu(pod: dict[str, Any], namespace: str, snapshot: Snapshot, gang: Gang) -> GpuFacts:
    """Return the accelerators that a pod requests by its resources and by the known ResourceClaims."""
    return gpu_facts(pod, namespace, snapshot.devices, believe_claims=gang.system not in ACCOUNTING)


def _description(
    pod: dict[str, Any], gpu: GpuFacts, gang: Gang, tolerations: Tolerations, snapshot: Snapshot
) -> Description:
    need = _need(gpu, NodeSelection.of(spec(pod)), tolerations, snapshot)
    roles = roles_of(gang, snapshot)
    comparable = (
        is_small(need)
        and _is_small(gpu)
        and all(is_small(each) for _, each in roles)
        and max(map(len, (gang.name, gang.source, gang.role))) <= _LONGEST_NAME
    )
    return Description(
        gpu=gpu,
        gang=gang,
        need=need,
        concerned=(gpu.kind != "none" or gang.known) and not gpu.dialect,
        comparable=comparable,
        review=ReviewContext(snapshot.topology, need, snapshot.facts.class_resources, gang.accelerated, roles),
    )


def _is_small(gpu: GpuFacts) -> bool:
    if len(gpu.requests) > _MOST_REQUESTS or len(gpu.claims) > _MOST_REQUESTS:
        return False
    names = [request.container for request in gpu.requests]
    names += [name for claim in gpu.claims for name in (claim.name, claim.device_class)]
    return max(map(len, names), default=0) <= _LONGEST_NAME

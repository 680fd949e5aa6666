"""Computes the held and the free accelerators of each node, at the moment of a snapshot.

The amounts are the scheduler's: a pod holds the requested amounts from the time when the pod is bound to a node until
the pod ends. Devices of ResourceClaims are not in a node's allocatable; ``claimed_devices`` counts them. No decision
uses these facts.

The scheduler only counts devices; the kubelet chooses the devices of a pod. So it is unknown which GPUs are free. The
number of free GPUs that are linked with each other has only a lower and an upper bound, unless the node's agent
publishes the number as a label (``free_links``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from ..devices.resources import COUNTED_KINDS, NVIDIA_GPU, Accelerator, AcceleratorKind, recognise
from ..errors import TopologyError
from ..kube.amounts import requested
from ..kube.shape import shape_problems
from ..kube.unchecked import list_at, number, text_at
from ..wellknown import FREE_LINKED_LABEL
from .capability import Capability, capability_of
from .claimed_devices import claimed_use
from .device_use import DeviceUse, HoldingPod
from .free_links import bucket
from .node import Node

_UNIT: Final = 1000
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPod:
    """A pod that is bound to a node and has not ended."""

    namespace: str
    name: str
    node: str
    devices: tuple[tuple[str, int], ...]
    """The units of each accelerator resource that the pod holds, sorted by the resource's name; never zero."""
    has_claims: bool
    """Whether the pod has ResourceClaims, whose devices are not in ``devices``."""


class FreeLinked(NamedTuple):
    """The bounds of the largest number of free GPUs of a node that are all linked with each other."""

    resource: str
    """The resource of the node's whole GPUs."""
    least: int
    most: int

    @property
    def text(self) -> str:
        """The bounds as text: ``4 of them linked``, ``2 to 4 of them linked``."""
        return f"{self.most if self.least == self.most else f'{self.least} to {self.most}'} of them linked"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUse:
    """The amounts of each accelerator resource of one node that pods hold, and that are free."""

    devices: tuple[DeviceUse, ...]
    """The use of each resource in the node's allocatable or capacity, sorted by name."""
    claimed: tuple[DeviceUse, ...] = ()
    """The use of the devices that DRA drivers publish, sorted by name."""
    linked: FreeLinked | None
    """The largest number of free GPUs of the node that are linked with each other.

    None: the node's links are unknown, no GPUs are linked, or pods get less than whole GPUs.
    """
    is_healthy: bool
    """Whether the node is not transient."""

    @property
    def accelerators(self) -> Iterator[DeviceUse]:
        """The use of each resource whose units are devices or parts of devices; NICs, for example, are left out."""
        return (each for each in self.devices if each.kind in COUNTED_KINDS)

    def free_of(self, resource: str) -> int:
        """Return the free units of a resource; 0 if the node does not offer the resource."""
        return next((each.free for each in self.devices if each.resource == resource), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The use of devices of several nodes.

    The sum of ``used``, ``free`` and ``free_unhealthy`` is the number of allocatable units of all these nodes, healthy
    or not.
    """

    used: int = 0
    free: int = 0
    """The free units on healthy nodes."""
    free_unhealthy: int = 0
    """The free units on transient nodes, such as cordoned nodes, which count as unhealthy; most pods cannot get these
    units."""
    most: int = 0
    """The largest number of ``free`` units of one resource on one node."""
    linked: FreeLinked | None = None
    """The most linked GPUs among ``most`` on one node; None if unknown, or if ``most`` are no several GPUs."""

    @property
    def allocatable(self) -> int:
        """The number of allocatable units of all these nodes."""
        return self.used + self.free + self.free_unhealthy

    @classmethod
    def of(cls, nodes: Iterable[NodeUse], resource: str = "") -> "Tally":
        """Return the sum of the use over nodes, for one resource.

        Without a resource, the sum is over all accelerators.
        """
        used = 0
        free: dict[bool, list[int]] = {True: [0], False: [0]}
        links: list[tuple[int, FreeLinked | None]] = []
        for node in nodes:
            named = (*node.devices, *node.claimed)
            devices = [each for each in named if each.resource == resource] if resource else node.accelerators
            for each in devices:
                used += each.used
                free[node.is_healthy].append(each.free)
                if node.is_healthy and resource:
                    links.append((each.free, node.linked))
        most = max(free[True])
        linked = _most_linked(resource, [each for count, each in links if count == most]) if most > 1 else None
        return cls(used=used, free=sum(free[True]), free_unhealthy=sum(free[False]), most=most, linked=linked)


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """The accelerators that the Pods of a snapshot hold on the snapshot's nodes."""

    nodes: Mapping[str, NodeUse]
    """The use of each node, by the node's name."""
    pods: tuple[BoundPod, ...]
    """The pods that are bound to nodes and have not ended, sorted by namespace and name."""
    problems: tuple[str, ...]
    """Messages about Pods that cannot be read and are not counted, sorted."""

    counts_claims: bool
    """Whether devices of ResourceClaims are counted."""

    @classmethod
    def of(
        cls,
        nodes: Iterable[Node],
        pods: Iterable[Mapping[str, Any]],
        slices: Iterable[Mapping[str, Any]] = (),
        claims: Iterable[Mapping[str, Any]] = (),
    ) -> "Holdings":
        """Return the holdings from nodes, Pods, ResourceSlices and ResourceClaims.

        If two Pods have one namespace and name, the later Pod is used. Devices of claims are counted if there are
        ResourceSlices, and ResourceClaims if pods have any.
        """
        bound: dict[tuple[str, str], BoundPod | None] = {}
        problems = []
        for pod in pods:
            try:
                bound[_place(pod)] = read_bound_pod(pod)
            except TopologyError as error:
                problems.append(str(error))
        known = tuple(each for _, each in sorted(bound.items()) if each is not None)
        published, made = tuple(slices), tuple(claims)
        counts_claims = bool(published and (made or not any(each.has_claims for each in known)))
        claimed = claimed_use(published, made) if counts_claims else None
        return cls(
            nodes=uses_of(nodes, known, claimed),
            pods=known,
            counts_claims=counts_claims,
            problems=tuple(sorted(problems)),
        )

    @cached_property
    def claimants(self) -> int:
        """The number of pods with ResourceClaims."""
        return sum(pod.has_claims for pod in self.pods)

    @cached_property
    def namespaces(self) -> int:
        """The number of namespaces that have pods on nodes."""
        return len({pod.namespace for pod in self.pods})

    def with_room(self, names: Iterable[str], totals: Iterable[tuple[str, int]]) -> tuple[str, ...]:
        """Return the nodes in ``names`` that have free units of resources for ``totals``, pairs (resource, units)."""
        wanted = tuple(totals)
        return tuple(
            name
            for name in names
            if name in self.nodes and all(self.nodes[name].free_of(resource) >= units for resource, units in wanted)
        )


def _most_linked(resource: str, nodes: Sequence[FreeLinked | None]) -> FreeLinked | None:
    """Return the bounds of the most free linked GPUs on one of the nodes; None if the links of one are unknown."""
    known = [each for each in nodes if each is not None and each.resource == resource]
    if not known or len(known) < len(nodes):
        return None
    return FreeLinked(resource, max(each.least for each in known), max(each.most for each in known))


def read_bound_pod(pod: Mapping[str, Any]) -> BoundPod | None:
    """Return the accelerators that a Pod holds on its node; None if the Pod is bound to no node, or has ended.

    Raises:
        TopologyError: a field is wrong; the message names the Pod and the field.
    """
    namespace, name = _place(pod)
    problems = shape_problems(pod)
    if problems:
        raise TopologyError(f"Pod {namespace}/{name}: {problems[0]}; its devices are not counted")
    node = text_at(pod, "spec", "nodeName")
    if not node or text_at(pod, "status", "phase") in _ENDED:
        return None
    held = {resource: -(-amount // _UNIT) for resource, amount in requested(pod).items() if recognise(resource)}
    return BoundPod(
        namespace=namespace,
        name=name,
        node=node,
        devices=tuple(sorted((resource, units) for resource, units in held.items() if units > 0)),
        has_claims=bool(list_at(pod, "spec", "resourceClaims")),
    )


def _place(pod: Mapping[str, Any]) -> tuple[str, str]:
    return text_at(pod, "metadata", "namespace") or "default", text_at(pod, "metadata", "name")


def uses_of(
    nodes: Iterable[Node], pods: Iterable[BoundPod], claimed: Mapping[str, tuple[DeviceUse, ...]] | None = None
) -> dict[str, NodeUse]:
    """Return the use of each node's accelerators, by the node's name. ``claimed`` is that of DRA drivers' devices."""
    bound: dict[str, list[BoundPod]] = {}
    for pod in pods:
        bound.setdefault(pod.node, []).append(pod)
    return {node.name: _use(node, bound.get(node.name, ()), (claimed or {}).get(node.name, ())) for node in nodes}


def _use(node: Node, pods: Iterable[BoundPod], claimed: tuple[DeviceUse, ...]) -> NodeUse:
    """Return the use of a node's accelerators by the pods that are bound to the node."""
    holders: dict[str, list[HoldingPod]] = {}
    for pod in pods:
        for resource, units in pod.devices:
            holders.setdefault(resource, []).append(HoldingPod(pod.namespace, pod.name, units))
    capability = capability_of(node)
    devices = tuple(
        DeviceUse(
            resource=resource,
            kind=kind_on(capability, resource, known),
            allocatable=node.allocatable.get(resource, 0),
            holders=tuple(sorted(holders.get(resource, ()), key=lambda each: (-each.units, each))),
        )
        for resource in sorted(node.allocatable.keys() | node.capacity.keys())
        if (known := recognise(resource)) is not None
    )
    linked = _linked(node, devices, capability)
    return NodeUse(devices=devices, claimed=claimed, linked=linked, is_healthy=not node.transient)


def kind_on(capability: Capability, resource: str, known: Accelerator) -> AcceleratorKind:
    """Return the meaning of one unit of a resource on a node.

    ``capability`` is that of the node, and ``known`` is what the name of the resource says.
    """
    if resource in capability.shares:
        return "shared"
    # Under MIG strategy single a MIG instance has the name of a whole GPU.
    return "mig" if resource == NVIDIA_GPU and capability.cut else known.kind


def _linked(node: Node, devices: Iterable[DeviceUse], capability: Capability) -> FreeLinked | None:
    """Return the bounds of the largest number of free GPUs in one link domain of a node; None if that is unknown.

    The link domains come from the topology document, else from the node's labels. The label of the node's agent has
    the number itself, or rounded down, if the label agrees with the bounds.
    """
    # Only the resource of whole GPUs has a link domain.
    whole = next((each for each in devices if each.resource in capability.domain_of), None)
    if whole is None:
        return None
    gpus, sizes = node.durable[whole.resource], [capability.domain_of[whole.resource]]
    if node.topology is not None and node.topology.links.domains:
        uncut = {gpu.index for gpu in node.topology.gpus if not gpu.mig_enabled}
        if gpus > len(uncut):
            return None
        gpus, sizes = len(uncut), [len(uncut.intersection(domain)) for domain in node.topology.links.domains]
    least, most = free_linked(sizes, gpus, whole.free)
    said = number(node.labels.get(FREE_LINKED_LABEL))
    if said is not None and least <= said <= most:
        is_exact = bucket(said + 1) > said
        least, most = said, said if is_exact else most
    return FreeLinked(whole.resource, least, most)


def free_linked(sizes: Iterable[int], gpus: int, free: int) -> tuple[int, int]:
    """Return (lower bound, upper bound) of the largest number of free GPUs in one link domain.

    Args:
        sizes: the numbers of GPUs in disjoint link domains; all further GPUs are linked with no GPU.
        gpus: the number of GPUs of the node.
        free: the number of GPUs that are free; it is unknown which.
    """
    domains = [size for size in sizes if size > 0]
    domains += [1] * max(0, gpus - sum(domains))
    taken = gpus - free
    # The worst choice leaves ``least`` in each domain: it takes the rest of each, and has no more to take.
    least = next(each for each in range(free + 1) if sum(max(0, size - each) for size in domains) <= taken)
    return least, min(free, max(domains, default=0))

"""The nodes of a cluster, each with its allocatable resources, the amounts that pods reserve, and the free amounts.

Amounts are in thousandths of a unit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..kube.amounts import amounts, is_device, requested
from ..kube.pod import labels
from ..kube.selector import node_selector_matches
from ..kube.unchecked import list_at, mapping_at, text_at
from .picture import Document, NotRead, Picture, pods_on


@dataclass(frozen=True, kw_only=True, eq=False)
class Machine:
    """A node with the pods on the node, as far as an answer needs them."""

    document: Document
    pods: tuple[Document, ...] | None = field(repr=False)
    """The pods on the node that have not ended; None: the pods were not read."""

    @cached_property
    def name(self) -> str:
        """The node's name."""
        return text_at(self.document, "metadata", "name")

    @property
    def held_by(self) -> tuple[Document, ...]:
        """The pods on the node that have not ended; empty if the pods were not read."""
        return self.pods or ()

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return labels(self.document)

    @cached_property
    def offers(self) -> Mapping[str, int]:
        """A mapping from the name of each allocatable resource of the node to its amount."""
        return amounts(mapping_at(self.document, "status", "allocatable"))

    @cached_property
    def capacity(self) -> Mapping[str, int]:
        """A mapping from the name of each resource of the node to its amount, unhealthy devices included."""
        return amounts(mapping_at(self.document, "status", "capacity"))

    def unhealthy(self, resource: str) -> int:
        """Return the amount of a resource that is unhealthy; 0 for a resource other than devices.

        The kubelet counts the devices that their plugin calls unhealthy as capacity, and not as allocatable
        (kubernetes pkg/kubelet/cm/devicemanager/manager.go, GetCapacity).
        """
        lacks = self.capacity.get(resource, 0) - self.offers.get(resource, 0)
        return max(0, lacks) if is_device(resource) else 0

    @cached_property
    def asks(self) -> tuple[tuple[Document, Mapping[str, int]], ...]:
        """(pod, resources that the pod reserves) for each pod on the node that was read."""
        return tuple((pod, requested(pod)) for pod in self.held_by)

    @cached_property
    def free(self) -> Mapping[str, int]:
        """A mapping from the name of each allocatable resource to the amount that no pod reserves.

        The amount is negative if pods reserve more than is allocatable.
        """
        left = dict(self.offers)
        for _, asks in self.asks:
            for resource, each in asks.items():
                left[resource] = left.get(resource, 0) - each
        return left

    def holds(self, wants: Mapping[str, int], has: Mapping[str, int]) -> int:
        """Return the number of pods that want these resources and find room together on the node.

        ``has`` are the node's amounts, either ``offers`` or ``free``. A resource that the node does not offer is left
        out: earlier steps say whether the node needs it.
        """
        return max(0, min((has[name] // amount for name, amount in wants.items() if name in self.offers), default=0))

    def holders(self, resource: str) -> Iterator[tuple[Document, int]]:
        """Yield the pods on the node that reserve some of a resource, each with the amount."""
        for pod, asks in self.asks:
            if has := asks.get(resource, 0):
                yield pod, has

    @cached_property
    def taints(self) -> list[Mapping[str, str]]:
        """The node's taints that keep pods away: the taints of effect NoSchedule and NoExecute."""
        found = list_at(self.document, "spec", "taints")
        return [each for each in found if text_at(each, "effect") in {"NoSchedule", "NoExecute"}]

    def is_selected(self, terms: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether one of the node selector terms ``terms`` selects the node."""
        return node_selector_matches(terms, self.labels, {"metadata.name": self.name})

    @property
    def is_cordoned(self) -> bool:
        """Whether the node is cordoned (``spec.unschedulable``), as ``kubectl cordon`` does."""
        return mapping_at(self.document, "spec").get("unschedulable") is True


def scarce(
    nodes: tuple[Machine, ...], wanted: Mapping[str, int], has: Callable[[Machine], Mapping[str, int]]
) -> tuple[str, tuple[Machine, ...]]:
    """Return (the first resource in ``wanted`` of which no remaining node has enough, the remaining nodes).

    ``has`` returns the amounts of a node. The wanted resources are compared one by one. After each comparison, only the
    nodes that have enough of the resource remain. Devices come first, because a pod that requests devices rarely lacks
    another resource. None of ``nodes`` may have enough of all resources.
    """
    for name in sorted(wanted, key=lambda name: (not is_device(name), name)):
        enough = tuple(each for each in nodes if has(each).get(name, 0) >= wanted[name])
        if not enough:
            return name, nodes
        nodes = enough
    raise AssertionError("a node has enough of all")


def machines(picture: Picture) -> tuple[Machine, ...]:
    """Return the nodes that were read for an answer; empty if no nodes were read."""
    if isinstance(picture.nodes, NotRead):
        return ()
    return tuple(
        Machine(document=node, pods=picture.pods(pods_on(text_at(node, "metadata", "name")))) for node in picture.nodes
    )

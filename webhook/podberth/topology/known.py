"""Keeps the nodes that a watch has reported, and the names of the nodes that changed since the index was updated.

A Node, its topology document and its heartbeat arrive separately and in any order. Each new version replaces the
earlier version. Only the fields that the index reads are kept, and nodes with equal fields share one object. The result
depends only on the last version of each object, and a document that cannot be read counts as absent. So two replicas
have equal nodes, and so has a replica after a restart. ADR 45 says why ``ClusterFacts`` do not include these nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary, ref

from ..conventions import Conventions
from .codec import decode_topology
from .manifest import judge, read_node
from .node import Node, NodeTopology, Taint, Transient

T = TypeVar("T")
_Pairs = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Kind:
    """The fields of a Node that many Nodes share."""

    labels: _Pairs
    taints: tuple[Taint, ...]
    allocatable: _Pairs
    capacity: _Pairs
    unrecognised: frozenset[str]
    transient: Transient


@dataclass(frozen=True, slots=True)
class _Filed:
    """The facts about one Node: the part that many Nodes share, and the Node's own labels."""

    kind: _Kind
    own: _Pairs
    """The labels of the Node in ``Conventions.ignored_labels``."""


class KnownNodes:
    """The known nodes, their topologies, and the names of stale nodes.

    Changed nodes are listed until ``take_changes`` returns them.
    """

    def __init__(self, conventions: Conventions) -> None:
        """Create the object without nodes.

        Nodes with equal fields share one object. The ignored labels of ``conventions`` are kept for each node.
        """
        self._ignored = conventions.ignored_labels
        self._nodes: dict[str, _Filed] = {}
        self._topologies: dict[str, NodeTopology] = {}
        self._stale: set[str] = set()
        # In the order of their changes.
        self._changed: dict[str, None] = {}
        self._shared: WeakKeyDictionary[Any, ref[Any]] = WeakKeyDictionary()

    def put_node(self, name: str, manifest: Mapping[str, Any]) -> None:
        """Add or replace a Node.

        Raises:
            TopologyError: the Node cannot be read; the Node then counts as unknown.
        """
        filed = None
        try:
            filed = self._file(read_node(manifest))
        finally:
            self._set(self._nodes, name, filed)

    def drop_node(self, name: str) -> None:
        """Remove a Node."""
        self._set(self._nodes, name, None)

    def put_topology(self, name: str, config_map: Mapping[str, Any]) -> None:
        """Add or replace the topology ConfigMap of a node.

        Raises:
            TopologyError: the ConfigMap cannot be read; then only the labels of the node are used.
        """
        topology = None
        try:
            topology = self._share(_read_by_index(decode_topology(config_map)))
        finally:
            self._set(self._topologies, name, topology)

    def drop_topology(self, name: str) -> None:
        """Remove the topology ConfigMap of a node."""
        self._set(self._topologies, name, None)

    def set_stale(self, name: str, *, stale: bool) -> None:
        """Record whether a node's heartbeat has expired; no effect for a node without a topology."""
        if stale != (name in self._stale):
            (self._stale.add if stale else self._stale.discard)(name)
            if name in self._topologies:
                self._changed[name] = None

    @property
    def changed(self) -> int:
        """The number of changed nodes that ``take_changes`` has not returned yet."""
        return len(self._changed)

    def take_changes(self, most: int) -> tuple[list[Node], list[str]]:
        """Return (changed nodes, names of removed nodes), at most ``most`` changes, the oldest first.

        A returned change is not returned again.
        """
        names = [name for name, _ in zip(self._changed, range(most), strict=False)]
        for name in names:
            del self._changed[name]
        nodes = [self._node(name) for name in names if name in self._nodes]
        return nodes, [name for name in names if name not in self._nodes]

    @property
    def stale_count(self) -> int:
        """The number of nodes that have a topology and whose heartbeat has expired."""
        return sum(name in self._topologies and name in self._nodes for name in self._stale)

    def orphans(self) -> set[str]:
        """Return the names of nodes that have a topology document but no Node object."""
        return self._topologies.keys() - self._nodes.keys()

    def _node(self, name: str) -> Node:
        filed, topology = self._nodes[name], self._topologies.get(name)
        kind = filed.kind
        node = Node(
            name=name,
            labels=dict((*kind.labels, *filed.own)),
            taints=kind.taints,
            allocatable=dict(kind.allocatable),
            capacity=dict(kind.capacity),
            unrecognised=kind.unrecognised,
            transient=kind.transient,
        )
        return judge(node, topology, stale=topology is not None and name in self._stale)

    def _file(self, node: Node) -> _Filed:
        labels = sorted(node.labels.items())
        kind = _Kind(
            labels=tuple(pair for pair in labels if pair[0] not in self._ignored),
            taints=node.taints,
            allocatable=tuple(sorted(node.allocatable.items())),
            capacity=tuple(sorted(node.capacity.items())),
            unrecognised=node.unrecognised,
            transient=node.transient,
        )
        return _Filed(self._share(kind), tuple(pair for pair in labels if pair[0] in self._ignored))

    def _share(self, value: T) -> T:
        """Return the value that is in use already and equals ``value``; ``value`` itself if there is none."""
        return cast("T", self._shared.setdefault(value, ref(value))())

    def _set(self, held: dict[str, T], name: str, value: T | None) -> None:
        """Add, replace or (None) remove a node's value in ``held``; list the node as changed if the value differs."""
        if value == held.get(name):
            return
        if value is None:
            del held[name]
        else:
            held[name] = value
        self._changed[name] = None


def _read_by_index(topology: NodeTopology) -> NodeTopology:
    """Return a topology document with only the fields that the index reads.

    The result is equal for all machines of one model in one state, and such machines share one object. The other fields
    (serial numbers, PCIe places, link levels, NICs) are for people, and take several KiB for each machine.
    """
    return replace(
        topology,
        gpus=tuple(replace(gpu, uuid="", numa_node=None, pcie_root="") for gpu in topology.gpus),
        links=replace(topology.links, levels=()),
        fabric=None,
        nics=(),
        platform=None,
        mig_instances=tuple(replace(one, start=None, size=None) for one in topology.mig_instances),
        unseen=(),
        observed="",
    )

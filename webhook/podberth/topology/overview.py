"""An overview of a cluster: its similar nodes, and the domains of every topology level.

Nodes are similar ("the H100 nodes") if machine, links, MIG layout, resources and taints are equal, whatever the
location and the state of a node. Similar nodes may belong to several classes of the index.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..conventions import Conventions
from ..devices.resources import is_counted
from ..wellknown import HOSTNAME_LABEL
from .domain_tree import DomainTree, domain_tree
from .gang_spread import BoundGang, GangSpread, spreads
from .holdings import Holdings, NodeUse, Tally
from .node import PASSING_TAINTS, Node, Taint
from .node_picture import UNCUT, layout_of, machine_of, shape_of
from .totals import ModelTotal, totals

REPORT_SCHEMA = "podberth.io/topology-report/v1"
"""The field ``schema`` of what ``podberth topology`` prints as JSON: about one node, a cluster, or a difference."""
# The place of a kind is the first of these that any of its nodes carries.
_WHERE = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class MachineSummary:
    """The properties that all similar nodes share, such as the GPUs and their links."""

    machine: str
    """The GPUs of the node as text: ``8 x NVIDIA-H100-80GB-HBM3``; empty: no GPU is known."""
    shape: str
    layout: str = ""
    """The distinct MIG layouts of the GPUs as text; empty: no GPU is in MIG mode."""
    offers: tuple[tuple[str, int], ...] = ()
    """(resource, amount) for each resource that the node offers when healthy."""
    taints: tuple[Taint, ...] = ()
    """The taints of the node, without taints of a temporary state."""

    @property
    def title(self) -> str:
        """A description of the similar nodes in one line."""
        links = "" if self.shape in {"unknown", "none"} else f", {self.shape}"
        return f"{self.machine or 'no GPU'}{links}{f', MIG {self.layout}' if self.layout else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """A set of similar nodes, with the states and locations of the nodes."""

    kind: MachineSummary
    names: tuple[str, ...]
    """The names of the nodes, sorted."""
    transient: Mapping[str, tuple[str, ...]]
    """A mapping from the reason why nodes are transient to the names of these nodes."""
    where: tuple[tuple[str, int], ...]
    """(zone (else region), number of nodes) for each zone; nodes without both labels are under the empty name."""
    use: Mapping[str, Tally] | None = None
    """The use of each resource that the nodes offer, by the resource's name; None: the snapshot has no Pods."""

    @property
    def count(self) -> int:
        """The number of nodes in the set of similar nodes."""
        return len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSummary:
    """The summary of a topology level whose label some nodes have: the level's domains with nodes and GPUs."""

    key: str
    domains: tuple[tuple[str, int, int], ...]
    """(domain, number of nodes, number of GPUs or parts of GPUs when healthy) for each domain, sorted."""
    outside: int
    """The number of GPU nodes that lack the level's label."""
    use: Mapping[str, Tally] | None = None
    """The use of the accelerators in each domain; None: the snapshot has no Pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPicture:
    """The overview of all nodes of a cluster."""

    nodes: int
    described: int
    """The number of nodes with a topology document."""
    kinds: tuple[KindCount, ...]
    """The kinds of nodes: kinds with accelerators first, then the kinds with most nodes."""
    levels: tuple[LevelSummary, ...]
    """The topology levels, widest first; the hostname level is left out."""
    unhealthy: tuple[tuple[str, str], ...]
    """The name and the reason of each transient node, sorted by name."""
    ill: tuple[tuple[str, int, str], ...]
    """The node, the GPU's index and the problem, for each unhealthy GPU."""
    models: tuple[ModelTotal, ...]
    """The accelerators of the cluster by model."""
    tree: DomainTree
    """The whole cluster, with the domains of all levels inside it down to the nodes."""
    gangs: tuple[GangSpread, ...]
    """The gangs that have pods on nodes, gangs with most devices first."""
    note: str = ""
    """A line about the picture as a whole; empty: there is none."""
    name: str = ""
    """The name of the cluster; empty: unknown."""
    snapshot_at: datetime | None = None
    """The time of the snapshot; None for simulated nodes."""
    refresh_seconds: int = 0
    """The seconds after which a browser loads the picture again; 0: it does not."""

    @property
    def title(self) -> str:
        """The heading of the picture."""
        return f"GPU topology of {self.name}" if self.name else "GPU topology"


def kind_of(node: Node) -> MachineSummary:
    """Return the properties by which the node counts as similar to other nodes."""
    lasting = tuple(sorted(taint for taint in node.taints if taint.key not in PASSING_TAINTS))
    return MachineSummary(
        machine=machine_of(node),
        shape=shape_of(node),
        layout=_layout(node),
        offers=tuple(sorted((name, amount) for name, amount in node.durable.items() if amount)),
        taints=lasting,
    )


def overview(
    nodes: Iterable[Node],
    conventions: Conventions | None = None,
    holdings: Holdings | None = None,
    gangs: Iterable[BoundGang] = (),
) -> ClusterPicture:
    """Return the overview of a cluster's nodes; with ``holdings``, also which accelerators are free.

    ``gangs`` are the gangs that have pods on the nodes.
    """
    conventions = conventions or Conventions()
    known = sorted(nodes, key=lambda node: node.name)
    kinds: dict[MachineSummary, list[Node]] = {}
    for node in known:
        kinds.setdefault(kind_of(node), []).append(node)
    counted = sorted(kinds.items(), key=lambda item: (not item[0].offers, -len(item[1]), item[0]))
    levels = [
        key for key in conventions.levels if key != HOSTNAME_LABEL and any(node.labels.get(key) for node in known)
    ]
    return ClusterPicture(
        nodes=len(known),
        described=sum(node.topology is not None for node in known),
        kinds=tuple(_count(kind, members, holdings) for kind, members in counted),
        levels=tuple(_level(key, known, holdings) for key in levels),
        unhealthy=tuple((node.name, node.transient) for node in known if node.transient),
        ill=tuple(
            (node.name, gpu.index, gpu.problem)
            for node in known
            for gpu in (node.topology.gpus if node.topology else ())
            if gpu.problem
        ),
        models=totals(known, holdings),
        tree=domain_tree(known, levels, holdings),
        gangs=spreads(gangs, known, levels),
    )


def _layout(node: Node) -> str:
    """Return the MIG layouts of a node's GPUs as text, such as ``2 x 3g.20gb``.

    If layouts differ, each is preceded by the number of GPUs that have it: ``4 of 2 x 3g.20gb; 4 of 7 x 1g.5gb``.
    """
    counts = Counter(_counted(text) for text in layout_of(node).values())
    alone = len(counts) == 1
    named = (
        (text, f"{count} uncut" if text == UNCUT else f"{count} of {text}") for text, count in sorted(counts.items())
    )
    return "; ".join(text if alone else some for text, some in named)


def _counted(layout: str) -> str:
    profiles = Counter(place.partition("@")[0] for place in layout.split())
    return " + ".join(f"{count} x {profile}" if count > 1 else profile for profile, count in profiles.items())


def _count(kind: MachineSummary, members: list[Node], holdings: Holdings | None) -> KindCount:
    transient: dict[str, list[str]] = {}
    for node in members:
        if node.transient:
            transient.setdefault(node.transient, []).append(node.name)
    key = next((key for key in _WHERE if any(key in node.labels for node in members)), "")
    where = Counter(node.labels.get(key, "") for node in members)
    return KindCount(
        kind=kind,
        names=tuple(node.name for node in members),
        transient={reason: tuple(names) for reason, names in sorted(transient.items())},
        where=tuple(sorted(where.items())),
        use=None if holdings is None else _use(kind, [holdings.nodes[node.name] for node in members]),
    )


def _use(kind: MachineSummary, nodes: Sequence[NodeUse]) -> dict[str, Tally]:
    """Return the use of what the nodes of a kind offer, and of what DRA drivers publish there."""
    published = sorted({each.resource for node in nodes for each in node.claimed})
    return {name: Tally.of(nodes, name) for name in (*(name for name, _ in kind.offers), *published)}


def _level(key: str, nodes: Iterable[Node], holdings: Holdings | None) -> LevelSummary:
    domains: dict[str, list[Node]] = {}
    outside = 0
    for node in nodes:
        domain = node.labels.get(key, "")
        if domain:
            domains.setdefault(domain, []).append(node)
        elif _devices(node):
            outside += 1
    return LevelSummary(
        key=key,
        domains=tuple((domain, len(found), sum(map(_devices, found))) for domain, found in sorted(domains.items())),
        outside=outside,
        use=None
        if holdings is None
        else {domain: Tally.of(holdings.nodes[node.name] for node in found) for domain, found in domains.items()},
    )


def _devices(node: Node) -> int:
    return sum(amount for name, amount in node.durable.items() if is_counted(name))

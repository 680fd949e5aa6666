"""The nodes of a cluster in the domains of all levels, widest level first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .holdings import Holdings, Tally
from .node import Node, Transient
from .node_picture import machine_of


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualNodes:
    """Nodes of one domain with equal devices, state and use."""

    names: tuple[str, ...]
    machine: str
    """The devices of each node as text: ``8 x NVIDIA-H100-80GB-HBM3``; empty: none are known."""
    transient: Transient
    use: tuple[tuple[str, int, int], ...] | None
    """(resource, used units, free units) of each node; None: the snapshot has no Pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTree:
    """A domain of a level, with the domains of narrower levels inside it, or with its nodes."""

    path: tuple[tuple[str, str], ...]
    """(level, name) of the domain, followed by narrower domains that have the same nodes.

    The name is empty for nodes without the level's label. The path of the whole cluster is empty if its nodes share no
    domain.
    """
    nodes: int
    unhealthy: int
    """The number of transient nodes."""
    use: Tally | None
    """The use of all accelerators in the domain; None: the snapshot has no Pods."""
    inner: tuple["DomainTree", ...] = ()
    equal: tuple[EqualNodes, ...] = ()
    """The nodes of the domain; empty if ``inner`` has them."""


def domain_tree(
    nodes: Sequence[Node],
    levels: Sequence[str],
    holdings: Holdings | None = None,
    path: tuple[tuple[str, str], ...] = (),
) -> DomainTree:
    """Return a domain with the domains of narrower levels inside it, down to the nodes.

    Nodes without the label of a level are a domain of their own beside the level's other domains.

    Args:
        nodes: the nodes of the domain, in the order in which the result lists them.
        levels: the labels of the narrower levels, widest first.
        holdings: the use of the nodes; None: the snapshot has no Pods.
        path: the level and the name of the domain; empty for the whole cluster.
    """
    inner: tuple[DomainTree, ...] = ()
    for at, level in enumerate(levels):
        parts: dict[str, list[Node]] = {}
        for node in nodes:
            parts.setdefault(node.labels.get(level, ""), []).append(node)
        if len(parts) > 1:
            ordered = sorted(parts, key=lambda name: (not name, name))
            inner = tuple(domain_tree(parts[name], levels[at + 1 :], holdings, ((level, name),)) for name in ordered)
            break
        path = (*path, *((level, name) for name in parts if name))
    return DomainTree(
        path=path,
        nodes=len(nodes),
        unhealthy=sum(bool(node.transient) for node in nodes),
        use=None if holdings is None else Tally.of(holdings.nodes[node.name] for node in nodes),
        inner=inner,
        equal=() if inner else _equal(nodes, holdings),
    )


def _equal(nodes: Iterable[Node], holdings: Holdings | None) -> tuple[EqualNodes, ...]:
    """Return the nodes, those with equal devices, state and use together, in the order of their first names."""
    found: dict[tuple[str, Transient, tuple[tuple[str, int, int], ...] | None], list[str]] = {}
    for node in nodes:
        found.setdefault((machine_of(node), node.transient, _use(node, holdings)), []).append(node.name)
    return tuple(
        EqualNodes(names=tuple(names), machine=machine, transient=transient, use=use)
        for (machine, transient, use), names in found.items()
    )


def _use(node: Node, holdings: Holdings | None) -> tuple[tuple[str, int, int], ...] | None:
    if holdings is None:
        return None
    use = holdings.nodes[node.name]
    return tuple((each.resource, each.used, each.free) for each in (*use.accelerators, *use.claimed))

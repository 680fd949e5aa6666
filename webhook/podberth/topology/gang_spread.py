"""The domains over which the running pods of each gang are spread."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundGang:
    """The pods of one gang that are bound to nodes and have not ended."""

    namespace: str
    name: str
    """The name of the gang's owner, such as the Job; else the name by which podberth distinguishes gangs."""
    source: str
    """The kind that defines the gang, such as Job; ``label`` for podberth's label."""
    size: int
    """The number of pods in the gang; 0: unknown."""
    nodes: tuple[str, ...]
    """The name of the node of each pod."""
    devices: int
    """The number of accelerators, or parts of accelerators, that the pods hold by resources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangSpread:
    """A gang, with the domains of the pods at the levels that matter."""

    gang: BoundGang
    within: tuple[str, str] | None
    """(level, domain) of the narrowest domain that has all pods; None: there is no such domain."""
    over: tuple[str, tuple[tuple[str, int], ...]] | None
    """(level, (domain, number of pods) for each domain) of the widest level that divides the gang, most pods first.

    The domain is empty for pods on nodes without the level's label. None: no level divides the gang.
    """


def spreads(gangs: Iterable[BoundGang], nodes: Iterable[Node], levels: Sequence[str]) -> tuple[GangSpread, ...]:
    """Return the spread of each gang over the levels, widest first: gangs with most devices first."""
    labels = {node.name: node.labels for node in nodes}
    ordered = sorted(gangs, key=lambda each: (-each.devices, -len(each.nodes), each.namespace, each.name))
    return tuple(_spread(each, labels, levels) for each in ordered)


def _spread(gang: BoundGang, labels: Mapping[str, Mapping[str, str]], levels: Iterable[str]) -> GangSpread:
    within, over = None, None
    for level in levels:
        domains = Counter(labels.get(node, {}).get(level, "") for node in gang.nodes)
        if len(domains) > 1 and over is None:
            over = level, tuple(sorted(domains.items(), key=lambda item: (-item[1], item[0])))
        if len(domains) == 1 and (domain := next(iter(domains))):
            within = level, domain
    return GangSpread(gang=gang, within=within, over=over)

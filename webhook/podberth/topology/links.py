"""Computes the links between the GPUs of a node: counts for each pair, the matrix of paths, the domains and the shape.

A link leads to another GPU or to a switch. A link to a switch does not name the GPU behind the switch, so all GPUs with
links to switches count as linked, if the driver reports that the GPUs can reach each other. Domains are disjoint,
because a GPU is allocated once. A domain is a maximal clique: a largest set of GPUs that are all linked. If cliques
overlap (the cube mesh of a DGX-1), the larger clique is taken first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from .node import Links, LinkShape
from .observation import Observation, ObservedGpu, ObservedPair, PciPlace

Pair = tuple[int, int]

# nvml.h, nvmlGpuTopologyLevel_t, and the legend of `nvidia-smi topo -m`, which has no word for two GPUs of one board
_LEVELS: Mapping[int, str] = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
_SELF, _UNKNOWN, _XGMI = "X", "?", "XGMI"
# Between two devices below one switch are the switch's own port, and the device.
_BELOW_ONE_SWITCH = 2


def links_of(observation: Observation) -> Links:
    """Return the links between a node's GPUs, from the agent's readings of the node's devices."""
    gpus = sorted(observation.gpus, key=lambda gpu: gpu.index)
    counts = _counts(gpus, observation.pairs)
    linked = {pair for pair, count in counts.items() if count}
    read = [gpu.index for gpu in gpus if gpu.links is not None]
    domains = _domains(read, linked)
    return Links(
        shape=_shape(len(gpus) + observation.hidden, domains, read=len(read)),
        domains=domains,
        levels=tuple(tuple(_cell(observation, counts, one, other) for other in gpus) for one in gpus),
    )


def level_between(one: PciPlace, other: PciPlace) -> str:
    """Return the path between two PCI devices as ``nvidia-smi topo -m`` names it; ``?`` if a position is unknown.

    The path is ``PIX``, ``PXB``, ``PHB``, ``NODE`` or ``SYS``, the shortest first.
    """
    if not one.path or not other.path:
        return _UNKNOWN
    if one.root != other.root:
        return "NODE" if one.numa_node == other.numa_node else "SYS"
    steps = list(zip(one.path, other.path, strict=False))
    shared = next((number for number, (a, b) in enumerate(steps) if a != b), len(steps))
    if shared == 1:
        return "PHB"
    return "PIX" if max(len(one.path), len(other.path)) - shared <= _BELOW_ONE_SWITCH else "PXB"


def _counts(gpus: Sequence[ObservedGpu], pairs: Mapping[Pair, ObservedPair]) -> dict[Pair, int]:
    """Return the number of links between each two GPUs; a pair is the GPUs' indexes, the smaller first."""
    to_switches = {gpu.index: sum(link.peer == "switch" for link in gpu.links or ()) for gpu in gpus}
    counts: dict[Pair, int] = {}
    for one, other in combinations(gpus, 2):
        pair = one.index, other.index
        # Both ends are counted, because one of them may not have been read.
        direct = max(_links_to(one, other), _links_to(other, one))
        through_switches = min(to_switches[one.index], to_switches[other.index])
        reach_each_other = pairs.get(pair, ObservedPair()).linked is not False
        counts[pair] = direct + through_switches if reach_each_other else 0
    return counts


def _links_to(gpu: ObservedGpu, peer: ObservedGpu) -> int:
    return sum(link.address == peer.address for link in gpu.links or () if link.peer == "gpu" and link.address)


def _cell(observation: Observation, counts: Mapping[Pair, int], one: ObservedGpu, other: ObservedGpu) -> str:
    if one.index == other.index:
        return _SELF
    pair = min(one.index, other.index), max(one.index, other.index)
    if counts[pair]:
        return f"NV{counts[pair]}" if one.vendor == "nvidia" else _XGMI
    level = observation.pairs.get(pair, ObservedPair()).level
    if level is not None:
        return _LEVELS.get(level, _UNKNOWN)
    nowhere = PciPlace(numa_node=None, path=())
    return level_between(observation.places.get(one.address, nowhere), observation.places.get(other.address, nowhere))


def _shape(gpus: int, domains: tuple[tuple[int, ...], ...], *, read: int) -> LinkShape:
    if domains:
        return "full-mesh" if len(domains[0]) == gpus else "islands"
    return "none" if read == gpus else "unknown"


def _domains(indexes: Sequence[int], linked: set[Pair]) -> tuple[tuple[int, ...], ...]:
    """Return the link domains, sorted: the largest groups of GPUs that are all linked with each other.

    If two groups of equal size overlap, the group with the lower indexes is taken.
    """
    left, found = set(indexes), []
    while domain := _largest(left, linked):
        found.append(domain)
        left -= set(domain)
    return tuple(sorted(found))


def _largest(indexes: set[int], linked: set[Pair]) -> tuple[int, ...]:
    """Return the largest group of GPUs that are all linked with each other; empty if no two are linked.

    The time is exponential in the worst case, but the links of a real machine form groups, or a cube of eight GPUs.
    """
    ends = Counter(index for pair in linked if indexes.issuperset(pair) for index in pair)
    for size in range(max(ends.values(), default=0) + 1, 1, -1):
        enough = sorted(index for index, number in ends.items() if number >= size - 1)
        groups = (
            (first, *others)
            for first in enough
            for others in combinations([each for each in enough if (first, each) in linked], size - 1)
        )
        if found := next((each for each in groups if linked.issuperset(combinations(each, 2))), ()):
            return found
    return ()

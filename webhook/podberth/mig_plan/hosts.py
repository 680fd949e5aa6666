"""Spreads partitioned GPUs over as many nodes as have CPU and host memory for the pods on them."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from typing import Any, Final

from ..kube.amounts import Amounts, amounts, requested
from ..kube.unchecked import is_pod, mapping_at, text_at
from .demand import Need, needs_of, runs_on
from .layouts import UNCUT, Layout

RESOURCES: Final = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class Hosts:
    """The CPU and memory of nodes, and what pods request of them beside their GPUs, in thousandths of a unit."""

    free: Mapping[str, Amounts] = field(default_factory=dict)
    """For each node, what pods without a need leave; a node that is not in it bears everything."""
    needed: Mapping[Need, Amounts] = field(default_factory=dict)
    """For each need, what all its pods request together; a need that is not in it takes nothing."""


def hosts_of(documents: Iterable[Mapping[str, Any]], nodes: AbstractSet[str]) -> Hosts:
    """Return the CPU and memory of ``nodes``, and what the Pods in ``documents`` request; lists are not unpacked.

    A pod with several needs, as for instances of two profiles, requests its part for each.

    Raises:
        UsageError: a Pod has a field with a wrong type; the message names it.
    """
    free: dict[str, Counter[str]] = {name: Counter() for name in nodes}
    needed: dict[Need, Counter[str]] = {}
    for document in documents:
        if is_pod(document):
            needs = needs_of(document, nodes)  # which checks the fields of the Pod first
            asks = requested(document)
            for need, count in needs.items():
                part = {name: asks.get(name, 0) * count // needs.total() for name in RESOURCES}
                needed.setdefault(need, Counter()).update(part)
            if not needs and (node := runs_on(document)) in free:
                free[node].subtract({name: asks.get(name, 0) for name in RESOURCES})
        elif document.get("kind") == "Node" and (name := text_at(document, "metadata", "name")) in free:
            offers = amounts(mapping_at(document, "status", "allocatable"))
            free[name].update({each: offers.get(each, 0) for each in RESOURCES})
    return Hosts(free, needed)


def spread(
    cut: Sequence[Layout], sizes: Sequence[int], bears: Callable[[int, Sequence[Layout]], bool]
) -> list[tuple[Layout, ...]]:
    """Return the layouts of the GPUs of each node, whole GPUs first, if ``cut`` of them are partitioned.

    The last nodes are partitioned, as few as can be. If one of these does not bear it, the partitioned GPUs are spread
    evenly over more nodes: as few as bear it, or else all.

    Args:
        cut: the layouts; no more than there are GPUs.
        sizes: the number of GPUs of each node.
        bears: returns whether a node with so many GPUs has CPU and memory for the pods on these layouts.
    """
    fewest = _packed(cut, sizes)
    if all(map(bears, sizes, fewest)):
        return fewest

    def is_enough(count: int) -> bool:
        found = _even(cut, sizes, count)
        return found is not None and all(map(bears, sizes, found))

    count = bisect_left(range(len(sizes)), x=True, lo=1, key=is_enough)
    return _even(cut, sizes, count) or fewest


def _packed(cut: Sequence[Layout], sizes: Sequence[int]) -> list[tuple[Layout, ...]]:
    pending = [*(UNCUT,) * (sum(sizes) - len(cut)), *cut]
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    return [tuple(pending[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


def _even(cut: Sequence[Layout], sizes: Sequence[int], count: int) -> list[tuple[Layout, ...]] | None:
    """Return the layouts of all nodes if the last ``count`` are partitioned evenly; None: they have too few GPUs."""
    if sum(sizes[len(sizes) - count :]) < len(cut):
        return None
    found: list[list[Layout]] = [[] for _ in sizes]
    order = [(0.0, at) for at in range(len(sizes) - count, len(sizes))]
    heapify(order)
    for layout in cut:
        at = order[0][1]
        found[at].append(layout)
        heapreplace(order, (len(found[at]) / sizes[at], at))
    return [(*(UNCUT,) * (size - len(layouts)), *layouts) for size, layouts in zip(sizes, found, strict=True)]

"""Says which nodes have unhealthy devices, and whether the devices would be enough for a pod if they were healthy."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from ..kube.amounts import number, shown
from .machines import Machine

_MOST_NODES: Final = 3


def unhealthy(
    nodes: Sequence[Machine], name: str, wanted: int, has: Callable[[Machine], Mapping[str, int]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (evidence, remedies) about the nodes with unhealthy devices of the resource ``name``.

    The nodes that would have ``wanted`` of the resource if all devices were healthy come first, and the first of them
    is in the remedy. ``has`` returns the amounts that count of a node: what it offers, or what is free.
    """
    enough = [each for each in nodes if max(0, has(each).get(name, 0)) + each.unhealthy(name) >= wanted]
    ill = [each for each in (*enough, *(each for each in nodes if each not in enough)) if each.unhealthy(name)]
    return tuple(_lines(ill[:_MOST_NODES], name)), tuple(
        f"have its unhealthy {name} repaired, which would be enough: kubectl describe node {each.name}"
        for each in [each for each in enough if each.unhealthy(name)][:1]
    )


def _lines(nodes: Sequence[Machine], name: str) -> Iterator[str]:
    for each in nodes:
        lacks = number(name, each.unhealthy(name))
        verb = "is" if lacks == "1" else "are"
        yield f"{each.name}: {lacks} of its {shown(name, each.capacity[name])} {verb} unhealthy"

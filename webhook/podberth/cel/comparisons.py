"""Counts the places of texts at which ``contains()`` begins to compare, in the worst texts that a pod can have.

The engine looks for the first byte of what is searched (memchr), and compares from each such place. In a text that has
only this byte, a search takes seventeen times as long as the price of ``contains()`` says. No text has every byte at
every place: of several searches in one text, only those that begin with the same byte are slow at the same place.

The limit on a namespace's policies counts these places, because a tenant writes both the policies and the pods. The
limit on a GPUPolicy does not: no tenant writes one, and ``bench.hostile`` has the slowest known pods for the shipped
ones.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from ..kube.pod_limits import MAX_BYTES
from .sizes import Bounds

_Texts: TypeAlias = tuple[str, ...]


def _places() -> defaultdict[int, float]:
    return defaultdict(float)


class Comparisons:
    """The places at which the searches of one expression begin to compare."""

    def __init__(self) -> None:
        """Create the object without searches."""
        self.unknown = 0.0
        """The places of searches for texts, or in texts, that are not known."""
        self.by_text: defaultdict[_Texts, defaultdict[int, float]] = defaultdict(_places)
        """For each text, the places by the first byte of what is searched, if the whole text has that byte alone."""

    def add(self, function: str, text: Bounds, wanted: Bounds, read: float) -> None:
        """Add the searches of one call, if the call is one of ``contains``; the prices of all others are enough.

        Args:
            function: the name of the function.
            text: the bounds of the text that is searched.
            wanted: the bounds of what is searched.
            read: the number of bytes of the texts, in all evaluations together.
        """
        if function != "contains":
            return
        if wanted.starts is None or text.given is None:
            self.unknown += read
            return
        # All texts of an object together have no more bytes than the object.
        texts = text.path if text.path and text.size < MAX_BYTES else tuple(sorted(text.given))
        for byte, share in wanted.starts.items():
            self.by_text[texts][byte] += share * read


def most_places(found: Iterable[Comparisons]) -> float:
    """Return the number of places in the worst texts, of the searches in several expressions of one policy."""
    together: defaultdict[_Texts, defaultdict[int, float]] = defaultdict(_places)
    unknown = 0.0
    for each in found:
        unknown += each.unknown
        for texts, places in each.by_text.items():
            for byte, count in places.items():
                together[texts][byte] += count
    return unknown + sum(max(places.values(), default=0.0) for places in together.values())

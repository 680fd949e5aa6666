"""Counts the places of texts at which ``contains()`` begins to compare, in the worst texts that a pod can have.

The engine looks for the first byte of what is searched (memchr), and compares from each such place. In a text that has
only this byte, a search takes seventeen times as long as the price of ``contains()`` says. No text has every byte at
every place: of several searches in one text, only those that begin with the same byte are slow at the same place.

The limit on a namespace's policies counts these places, because a tenant writes both the policies and the pods. The
limit on a GPUPolicy does not: no tenant writes one, and ``bench.hostile`` has the slowest known pods for the shipped
ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..kube.pod_limits import MAX_BYTES
from . import ast
from .ast import Node
from .program import VARIABLES_PREFIX
from .sizes import ANNOTATION_BYTES, Bounds


def _places() -> defaultdict[int, float]:
    return defaultdict(float)


class Comparisons:
    """The places at which the searches of one expression begin to compare."""

    def __init__(self) -> None:
        """Create the object without searches."""
        self.alone = 0.0
        """The places of searches in texts that may be different texts from those of other searches."""
        self.by_text: defaultdict[str, defaultdict[int, float]] = defaultdict(_places)
        """For each text, by the first byte of what is searched, the places if the text has only that byte.

        The key is a variable; all texts of an object are one text, because they have no more bytes than the object.
        """

    def add(self, call: Node, values: Sequence[Bounds], times: float) -> None:
        """Add the searches of one call, if the call is one of ``contains``; the prices of all others are enough.

        Args:
            call: the call.
            values: the bounds of the operands: of the text that is searched, and of what is searched.
            times: the number of evaluations.
        """
        if call.call_expr.function != "contains":
            return
        text, wanted = values
        read = text.bytes_at(times)
        if wanted.starts is None or text.given is None:
            self.alone += read
        elif name := _shared(call.call_expr.target, text):
            for byte, share in wanted.starts.items():
                self.by_text[name][byte] += share * read
        else:
            self.alone += read * max(wanted.starts.values(), default=0.0)


def _shared(node: Node, text: Bounds) -> str:
    """Return the variable whose text a search reads; empty if other searches in that variable may read other texts.

    ``node`` is the expression of the text, and ``text`` has its bounds.
    """
    name = str(node.ident_expr.name).removeprefix(".") if ast.kind(node) == "ident_expr" else ""
    if name.startswith(VARIABLES_PREFIX):
        return name
    [root, *others] = text.given or ("",)
    # A condition on the length of a text makes its bound smaller than that of all texts together.
    is_whole = text.size >= MAX_BYTES or text.size == ANNOTATION_BYTES
    return root if is_whole and not others and not root.startswith(VARIABLES_PREFIX) else ""


def most_places(found: Iterable[Comparisons]) -> float:
    """Return the number of places in the worst texts, of the searches in several expressions of one policy."""
    together: defaultdict[str, defaultdict[int, float]] = defaultdict(_places)
    alone = 0.0
    for each in found:
        alone += each.alone
        for name, places in each.by_text.items():
            for byte, count in places.items():
                together[name][byte] += count
    return alone + sum(max(places.values(), default=0.0) for places in together.values())

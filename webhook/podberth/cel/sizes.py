"""The maximum sizes of the values in an expression for the largest possible pod; the input of ``cel.cost``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..kube.paths import ELEMENT
from ..kube.pod_limits import ANNOTATIONS, ENTRIES, GPU_CLAIMS, GPU_REQUESTS, LARGEST, MAX_BYTES, MAX_NAME_BYTES, NAMES
from ..workload.command_line import LONGEST, MOST_WORDS

MAX_ITERATIONS = 10_000
"""The number of iterations, of all loops together, that cel-cpp allows in one evaluation."""

SCALAR_BYTES = 40
"""The maximum number of bytes of a number, a boolean or a time as text."""

LINE_BYTES = 4 * LONGEST
"""The maximum number of bytes, in UTF-8, of a command line that podberth parses."""

# Counted in characters. Texts of multi-byte characters have fewer of them where bytes take the time, and the most
# expensive functions, split() and replace(), work by character.
ANNOTATION_BYTES = 2 * ANNOTATIONS.most
"""The maximum number of bytes of all annotations together, as JSON."""

COMMANDS = ("shell.commands",)
"""The path of the value of ``shell.commands()``: all commands together have at most ``MOST_WORDS`` words."""

_LISTS = {
    ("gpu", "requests"): GPU_REQUESTS,
    ("gpu", "claims"): GPU_CLAIMS,
    COMMANDS: MOST_WORDS,
    (*COMMANDS, ELEMENT): MOST_WORDS,
}
"""The maximum number of entries of lists that are not in the pod, by path.

For a path that ends with ELEMENT, the number counts the entries of all elements together.
"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of the value of an expression: of its entries, its bytes, and its nested values."""

    length: float = 0
    """The maximum number of entries, if the value is a list or map."""
    size: float = SCALAR_BYTES
    """The maximum number of bytes of the value in one evaluation."""
    total: float = SCALAR_BYTES
    """The maximum number of bytes of the values in all ``times`` evaluations together."""
    times: float = 1
    path: tuple[str, ...] | None = None
    """The path from which the value is read (``cel.reads``); None if the expression makes the value."""
    whole: float = 1
    """The maximum number of uses of the whole value at ``path`` in all ``times`` evaluations together; a loop over the
    value is one use."""
    element: "Bounds | None" = None
    """The bounds of the largest element, if the value is a list that the expression makes."""
    values: float = 1
    """The maximum number of nested values, including the value itself; a part of the pod counts as one value."""
    has_parts: bool = False
    """Whether the value is or contains an object or list of the pod, which may have any structure."""
    starts: Mapping[int, float] | None = None
    """For each byte, the maximum share of the ``times`` evaluations in which the value is a text that begins with the
    byte; None if nothing is known. Only literals, and the entries of lists of literals in a loop, have it.
    """
    given: frozenset[str] | None = None
    """The variables of which the value is a part, such as ``object``; empty for an empty value. None if the expression
    makes the value, which may then be another one in each round of a loop.
    """

    def bytes_at(self, times: float) -> float:
        """Return the maximum number of bytes of the values in ``times`` evaluations together."""
        return self.total if times <= self.times else times * self.size

    def whole_at(self, times: float) -> float:
        """Return the maximum number of uses of the whole value at ``self.path`` in ``times`` evaluations.

        The result is the field ``whole``, which counts the uses in up to ``self.times`` evaluations. If ``times`` is
        larger, each evaluation counts as one use: ``c.args.all(a, c.env.all(e, …))`` reads the same ``c.env`` for each
        argument.
        """
        return self.whole if times <= self.times else times


def rounds(through: Bounds, times: float) -> float:
    """Return the maximum number of rounds, in total, of a loop over ``through`` that is started ``times`` times."""
    # Started once for each element of a loop around it, it visits the pod's total and not the product.
    begun = times if through.path is None else min(times, through.whole_at(times))
    return min(begun * through.length, MAX_ITERATIONS)


def entry_of(through: Bounds, turns: float, times: float) -> Bounds:
    """Return the bounds of an element of ``through``, the list or map that a loop goes through.

    The loop is started ``times`` times and has ``turns`` rounds in total.
    """
    if through.path is None:
        entry = through.element or Bounds(length=ENTRIES, size=through.size)
        total = min(turns * entry.size, through.bytes_at(times))
        given = entry.given if through.given is None else through.given
        return replace(entry, total=total, times=max(turns, 1), whole=entry.whole_at(turns), given=given)
    path = (*through.path, ELEMENT)
    total = min(turns * through.size, through.bytes_at(times))
    whole = through.whole_at(times)
    return Bounds(most(path), through.size, total, max(turns, 1), path, whole, has_parts=True, given=through.given)


def most_bytes(path: tuple[str, ...]) -> int:
    """Return the maximum number of bytes, as JSON, of the value at a path that begins with a CEL variable."""
    below = path[1:] if path[0] in ("object", "oldObject") else ()
    if below[: len(ANNOTATIONS.path)] == ANNOTATIONS.path:
        return ANNOTATION_BYTES
    return MAX_NAME_BYTES if below in NAMES else MAX_BYTES


def most(path: tuple[str, ...]) -> float:
    """Return the maximum number of entries of the list or map at a path that begins with a CEL variable."""
    if path[0] in ("object", "oldObject"):
        below = LARGEST.get(path[1:])
        if below is not None:
            return below
        return MAX_ITERATIONS if len(path) > 1 else ENTRIES
    return _LISTS.get(path, ENTRIES)


def largest(values: Sequence[Bounds]) -> Bounds | None:
    """Return bounds that are valid for each of several values; None if there are no values."""
    if not values:
        return None
    paths = {value.path for value in values}
    times = max(value.times for value in values)
    given = {value.given for value in values}
    return Bounds(
        length=max(value.length for value in values),
        size=max(value.size for value in values),
        total=max(value.total for value in values),
        times=times,
        path=paths.pop() if len(paths) == 1 else None,
        whole=max(value.whole_at(times) for value in values),
        element=largest([value.element for value in values if value.element]),
        values=max(value.values for value in values),
        has_parts=any(value.has_parts for value in values),
        given=None if None in given else frozenset[str]().union(*filter(None, given)),
    )


def literal(text: bytes, times: float) -> Bounds:
    """Return the bounds of a literal that is evaluated ``times`` times; ``text`` is empty if the literal is no text."""
    size, given = len(text) or 1, None if text else frozenset[str]()
    return Bounds(size=size, total=times * size, times=times, starts=dict.fromkeys(text[:1], 1.0), given=given)


def started(values: Sequence[Bounds]) -> Mapping[int, float] | None:
    """Return ``Bounds.starts`` of a loop's entry, if the loop goes through a list of these values; None if unknown."""
    known = [value.starts for value in values if value.starts is not None]
    found = {byte for starts in known for byte in starts}
    if len(known) < len(values):
        return None
    return {byte: sum(starts.get(byte, 0.0) for starts in known) / len(known) for byte in found}

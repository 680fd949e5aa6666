"""How large the values of an expression are at most, for the largest pod: what ``cel.cost`` charges by."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..kube.budget import ANNOTATIONS, ENTRIES, GPU_REQUESTS, LARGEST, MAX_BYTES, MAX_NAME_BYTES, NAMES
from ..kube.paths import ELEMENT

MAX_ITERATIONS = 10_000
"""cel-cpp's fixed budget of one evaluation, all loops together."""

SCALAR_BYTES = 40
"""The longest text of a number, a boolean or a time."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a value is at most."""

    length: float = 0
    """Entries, of a list or map."""
    size: float = SCALAR_BYTES
    """Bytes of one such value."""
    total: float = SCALAR_BYTES
    """Bytes of all such values, one for each of the ``times`` that it is evaluated."""
    times: float = 1
    path: tuple[str, ...] | None = None
    """Where it is read, as in ``cel.reads``; None: it is made."""
    loop: float = 1
    """For what a loop goes through: how often that loop is begun."""
    element: "Bounds | None" = None
    """The largest entry of a list that is made."""

    def bytes_at(self, times: float) -> float:
        """Return the bytes of all of them, where it is used ``times`` times."""
        return self.total if times <= self.times else times * self.size


def rounds(through: Bounds, times: float) -> float:
    """Return the rounds of a loop that is begun ``times`` times, all together."""
    found = times * through.length
    if through.path and ELEMENT in through.path and through.times == times:
        # Begun once for each element of the loop around it: all of them together go through the pod's total.
        found = through.loop * through.length
    return min(found, MAX_ITERATIONS)


def entry_of(through: Bounds, turns: float, times: float) -> Bounds:
    """Return the bounds of what a loop goes through, one by one."""
    if through.path is None:
        entry = through.element or Bounds(length=ENTRIES, size=through.size)
        return replace(entry, total=min(turns * entry.size, through.bytes_at(times)), times=max(turns, 1))
    path = (*through.path, ELEMENT)
    total = min(turns * through.size, through.bytes_at(times))
    return Bounds(most(path), through.size, total, max(turns, 1), path, times)


def most_bytes(path: tuple[str, ...]) -> int:
    """Return how many bytes what stands at a path has at most, as JSON."""
    below = path[1:] if path[0] in ("object", "oldObject") else ()
    if below[: len(ANNOTATIONS.path)] == ANNOTATIONS.path:
        # Counted in characters. Those of several bytes are fewer where the bytes are what takes time, and most of what
        # is expensive, split() and replace(), goes by characters.
        return 2 * ANNOTATIONS.most
    return MAX_NAME_BYTES if below in NAMES else MAX_BYTES


def most(path: tuple[str, ...]) -> float:
    """Return how many entries what stands at a path has at most."""
    if path[0] in ("object", "oldObject"):
        below = LARGEST.get(path[1:])
        if below is not None:
            return below
        return MAX_ITERATIONS if len(path) > 1 else ENTRIES
    return GPU_REQUESTS if path == ("gpu", "requests") else ENTRIES


def largest(values: Sequence[Bounds]) -> Bounds | None:
    """Return bounds that hold for each of several values."""
    if not values:
        return None
    paths = {value.path for value in values}
    return Bounds(
        length=max(value.length for value in values),
        size=max(value.size for value in values),
        total=max(value.total for value in values),
        times=max(value.times for value in values),
        path=paths.pop() if len(paths) == 1 else None,
        loop=max(value.loop for value in values),
        element=largest([value.element for value in values if value.element]),
    )

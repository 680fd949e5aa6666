"""Finds the layouts of a pool of equal GPUs that serve the most of a demand.

The problem is an integer program: how many GPUs get each layout, such that the instances that are wanted and there are
worth the most. It is solved by branch and bound. The bound of a branch is the worth of the remaining demand, or of the
best layout on every remaining GPU, whichever is less. So small pools are solved exactly; for a large pool the search
ends after a time, and the bound of the whole says how much better any other solution can be.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

from ..devices import mig_placement
from ..devices.mig_tables import MigTable

WHOLE: Final = ""
"""The key of a whole GPU among the profiles of a layout."""

Layout: TypeAlias = tuple[tuple[str, int], ...]
"""(profile, number of instances) for each profile on one GPU, sorted; ((WHOLE, 1),) for a GPU without instances."""
UNCUT: Final[Layout] = ((WHOLE, 1),)
_REMEMBERED: Final = 1024


@dataclass(frozen=True, slots=True)
class Solution:
    """The number of GPUs of each layout, and how good that is."""

    layouts: Mapping[Layout, int]
    """Together they are all GPUs of the pool."""
    worth: float
    """The worth of all wanted instances and GPUs that the layouts have."""
    bound: float
    """No layouts have a larger worth. It equals ``worth`` if the search has ended by itself."""


@lru_cache(maxsize=_REMEMBERED)
def layouts_of(profiles: tuple[str, ...], table: MigTable) -> tuple[Layout, ...]:
    """Return the layouts of one GPU with instances of ``profiles`` to which no further such instance can be added.

    Profiles that the GPU model lacks are skipped. The whole GPU is the last layout.
    """
    known = [(name, mig_placement.capacity(name, table)) for name in sorted(set(profiles))]
    held = [(name, most) for name, most in known if most]
    fitting: list[tuple[int, ...]] = []
    for counts in product(*(range(most, -1, -1) for _, most in held)):
        # The order is such that a layout comes after every layout with more instances.
        if any(all(map(int.__le__, counts, other)) for other in fitting):
            continue
        names = [name for (name, _), count in zip(held, counts, strict=True) for _ in range(count)]
        if names and mig_placement.fits(names, table):
            fitting.append(counts)
    cut = (tuple((name, count) for (name, _), count in zip(held, counts, strict=True) if count) for counts in fitting)
    return (*cut, UNCUT)


def solve(
    gpus: int,
    layouts: Sequence[Layout],
    demand: Mapping[str, int],
    worth: Mapping[str, float],
    late: Callable[[], bool],
) -> Solution:
    """Return the layouts of ``gpus`` GPUs that are worth the most.

    Args:
        gpus: the number of GPUs.
        layouts: the possible layouts of one GPU; the last one is that of GPUs that nobody needs.
        demand: the number of instances, and of GPUs under WHOLE, that are wanted.
        worth: the worth of one of each.
        late: returns True when the search must end; the best layouts so far are the result.
    """
    search = _Search(layouts, worth, late)
    wanted = {name: count for name, count in demand.items() if count > 0}
    bound = search.bound(gpus, 0, wanted)
    search.greedy(gpus, wanted)
    search.branch(gpus, 0, wanted, 0.0)
    found = +Counter(dict(zip(layouts, search.best, strict=True)))
    found[layouts[-1]] += gpus - found.total()
    return Solution(+found, search.worth, bound if search.ended else search.worth)


def solve_offering(
    gpus: int,
    layouts: Sequence[Layout],
    demand: Mapping[str, int],
    worth: Mapping[str, float],
    late: Callable[[], bool],
    offered: frozenset[str],
) -> Solution | None:
    """Return the layouts that are worth the most among those with an instance of every profile in ``offered``.

    None if there are too few GPUs. The other arguments are those of ``solve``.
    """
    free = solve(gpus, layouts, demand, worth, late)
    missing = sorted(offered.difference(*(dict(layout) for layout in free.layouts)))
    if not missing:
        return free
    if not gpus:
        return None
    best: Solution | None = None
    bound = 0.0
    for layout in layouts:
        held = dict(layout)
        if missing[0] not in held:
            continue
        if best is not None and late():
            return replace(best, bound=free.bound)
        served = _served(held, demand, worth)
        rest = solve_offering(gpus - 1, layouts, _without(demand, held, 1), worth, late, offered - held.keys())
        if rest is None:
            continue
        bound = max(bound, served + rest.bound)
        if best is None or served + rest.worth > best.worth:
            best = Solution(Counter(rest.layouts) + Counter({layout: 1}), served + rest.worth, 0.0)
    return None if best is None else replace(best, bound=bound)


class _Search:
    """A branch and bound search: ``best`` has the number of GPUs of each layout in the best solution so far."""

    def __init__(self, layouts: Sequence[Layout], worth: Mapping[str, float], late: Callable[[], bool]) -> None:
        self._layouts = [dict(layout) for layout in layouts]
        self._worth = worth
        self._late = late
        self._counts = [0] * len(layouts)
        self.best = [0] * len(layouts)
        self.worth = 0.0
        self.ended = False
        """Whether the search was ended before its end."""

    def greedy(self, gpus: int, demand: Mapping[str, int]) -> None:
        """Give every GPU the layout that is worth the most for the demand that is left; the first solution."""
        left, total = dict(demand), 0.0
        counts = [0] * len(self._layouts)
        while gpus and left:
            served, index = max(
                (_served(layout, left, self._worth), index) for index, layout in enumerate(self._layouts)
            )
            if served <= 0:
                break
            layout = self._layouts[index]
            # As many as all serve as much.
            times = max(1, min([gpus, *(left[name] // count for name, count in layout.items() if name in left)]))
            total += _served(layout, left, self._worth, times)
            left = _without(left, layout, times)
            counts[index] += times
            gpus -= times
        self.best, self.worth = counts, total

    def branch(self, gpus: int, index: int, demand: Mapping[str, int], total: float) -> None:
        """Try every number of GPUs for the layouts from ``index`` on, unless it cannot be worth more than the best."""
        if total > self.worth:
            self.best, self.worth = list(self._counts), total
        if index == len(self._layouts) or not gpus or not demand:
            return
        if total + self.bound(gpus, index, demand) <= self.worth:
            return
        if self._is_over():
            return
        layout = self._layouts[index]
        most = max((-(-demand.get(name, 0) // count) for name, count in layout.items()), default=0)
        for times in range(min(gpus, most), -1, -1):
            if self._is_over():
                break
            self._counts[index] = times
            served = _served(layout, demand, self._worth, times)
            self.branch(gpus - times, index + 1, _without(demand, layout, times), total + served)
        self._counts[index] = 0

    def _is_over(self) -> bool:
        self.ended = self.ended or self._late()
        return self.ended

    def bound(self, gpus: int, index: int, demand: Mapping[str, int]) -> float:
        """Return a worth that the layouts from ``index`` on cannot exceed on ``gpus`` GPUs."""
        layouts = self._layouts[index:]
        best_gpu = max((_served(layout, demand, self._worth) for layout in layouts), default=0.0)
        reachable = sum(
            self._worth[name] * min(count, gpus * max((layout.get(name, 0) for layout in layouts), default=0))
            for name, count in demand.items()
        )
        return min(gpus * best_gpu, reachable)


def _served(layout: Mapping[str, int], demand: Mapping[str, int], worth: Mapping[str, float], times: int = 1) -> float:
    """Return the worth of what ``times`` GPUs of a layout serve of a demand."""
    return sum(worth[name] * min(count * times, demand[name]) for name, count in layout.items() if name in demand)


def _without(demand: Mapping[str, int], layout: Mapping[str, int], times: int) -> dict[str, int]:
    left = {name: count - layout.get(name, 0) * times for name, count in demand.items()}
    return {name: count for name, count in left.items() if count > 0}

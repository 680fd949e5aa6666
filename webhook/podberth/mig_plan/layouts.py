"""Finds the layouts of pools of equal GPUs that serve the most of a demand.

The problem is an integer program: how many GPUs of each pool get each layout, such that the instances that are wanted
and there are worth the most. It is solved by branch and bound. The bound of a branch is the least of three: the worth
of the remaining demand, that of the best layout on every remaining GPU, and the bound of the program's linear dual. The
dual gives each profile a price. No solution is worth more than the demand at these prices, and on every GPU the layout
that is worth the most above its price. So small fleets are solved exactly; for a large one the search ends after a
time, and the bound of the whole says how much better any other solution can be.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Final, TypeAlias

from ..devices import mig_placement
from ..devices.mig_tables import MigTable

WHOLE: Final = "whole"
"""The key of a whole GPU among the profiles of a layout."""

Layout: TypeAlias = tuple[tuple[str, int], ...]
"""(profile, number of instances) for each profile on one GPU, sorted; ((WHOLE, 1),) for a GPU without instances."""
UNCUT: Final[Layout] = ((WHOLE, 1),)

_PRICINGS: Final = 300
"""The steps in which prices are improved. More make the bound of a fleet of some thousand GPUs hardly better."""
_CLOSE: Final = 1e-6
"""The difference from which on a worth is larger than another."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The equal GPUs of one pool, and what each of them can be."""

    gpus: int
    memory_mib: int
    """MiB of one whole GPU."""
    layouts: tuple[Layout, ...]
    """The possible layouts of one GPU; the last one is that of GPUs that nobody needs. A whole GPU that serves pods of
    several sizes is a layout for each.
    """


@dataclass(frozen=True, slots=True)
class Solution:
    """The number of GPUs of each layout, and how good that is."""

    layouts: tuple[Mapping[Layout, int], ...] | None
    """For each pool; together they are all its GPUs. None: no layouts have all that is required."""
    worth: float
    """The worth of all wanted instances and GPUs that the layouts have."""
    bound: float
    """No layouts have a larger worth. It equals ``worth`` if the search has ended by itself."""

    @property
    def exact(self) -> bool:
        """Whether no other layouts are worth more."""
        return self.bound <= self.worth + _CLOSE


def whole(memory_mib: int) -> str:
    """Return the key of a whole GPU that has at least so much memory, where GPUs of several sizes are compared."""
    return f"{WHOLE} {memory_mib}"


def is_whole(name: str) -> bool:
    """Return whether a key is that of whole GPUs, and of no profile."""
    return name.startswith(WHOLE)


def layouts_of(profiles: Sequence[str], table: MigTable) -> tuple[Layout, ...]:
    """Return the layouts of one GPU with instances of ``profiles`` to which no further such instance can be added.

    Profiles that the GPU model lacks are skipped. The GPU without instances is the last layout.
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
    pools: Sequence[Choices],
    demand: Mapping[str, int],
    worth: Mapping[str, float],
    late: Callable[[], bool],
    required: AbstractSet[str] = frozenset(),
    floor: float = -1.0,
) -> Solution:
    """Return the layouts of all pools that are worth the most together.

    Args:
        pools: the GPUs.
        demand: the number of instances, and of whole GPUs, that are wanted.
        worth: the worth of one of each.
        late: returns True when the search must end; the best layouts so far are the result.
        required: profiles of which the layouts must have at least one instance.
        floor: layouts that are not worth more than this are not wanted; the worth of the solution is then this.
    """
    search = _Search(pools, worth, required, late, floor)
    wanted = {name: count for name, count in demand.items() if count > 0}
    bound = search.bound(0, pools[0].gpus if pools else 0, wanted)
    for whole_last in (False, True):
        search.greedy(wanted, [0] * search.items, whole_last=whole_last)
    if search.worth < bound - _CLOSE:
        priced, counts = search.price(wanted)
        bound = min(bound, priced)
        search.greedy(wanted, counts)
    if search.worth < bound - _CLOSE:
        search.branch(0, wanted, 0.0)
    return Solution(search.found(), search.worth, bound if search.ended else search.worth)


def bound_of(pools: Sequence[Choices], demand: Mapping[str, int], worth: Mapping[str, float]) -> float:
    """Return a worth that no layouts exceed; it takes no search."""
    search = _Search(pools, worth, frozenset(), lambda: True, 0.0)
    return search.bound(0, pools[0].gpus if pools else 0, {name: count for name, count in demand.items() if count > 0})


class _Search:
    """A branch and bound search over all (pool, layout); ``best`` has the number of GPUs of each in the best solution.

    ``worth`` is that of the best solution, or the floor until there is one.
    """

    def __init__(
        self,
        pools: Sequence[Choices],
        worth: Mapping[str, float],
        required: AbstractSet[str],
        late: Callable[[], bool],
        floor: float,
    ) -> None:
        self._pools = pools
        self._items = [(at, dict(layout)) for at, pool in enumerate(pools) for layout in pool.layouts]
        self.items = len(self._items)
        self._worth = worth
        self._required = required
        self._late = late
        self._counts = [0] * len(self._items)
        self._most = self._most_from()
        self._starts = [next(i for i, (at, _) in enumerate(self._items) if at == pool) for pool in range(len(pools))]
        self._ends = [*self._starts[1:], len(self._items)]
        self.best: list[int] | None = None
        self.worth = floor
        self._prices = dict(worth)
        self._margins = [0.0] * len(self._items)
        self.ended = False
        """Whether the search was ended before its end."""

    def _most_from(self) -> list[dict[str, int]]:
        """Return, for each item, the most instances of each profile on a GPU with this or a later item of its pool."""
        found: list[dict[str, int]] = [{}] * len(self._items)
        for index in range(len(self._items) - 1, -1, -1):
            pool, layout = self._items[index]
            follows = index + 1 < len(self._items) and self._items[index + 1][0] == pool
            later = found[index + 1] if follows else {}
            found[index] = {name: max(layout.get(name, 0), later.get(name, 0)) for name in layout.keys() | later.keys()}
        return found

    def found(self) -> tuple[Counter[Layout], ...] | None:
        """Return the best layouts of each pool; the GPUs that nobody needs have the last one."""
        if self.best is None:
            return None
        layouts: list[Counter[Layout]] = [Counter() for _ in self._pools]
        for (at, layout), count in zip(self._items, self.best, strict=True):
            layouts[at][tuple(layout.items())] += count
        for pool, chosen in zip(self._pools, layouts, strict=True):
            chosen[pool.layouts[-1]] += pool.gpus - chosen.total()
        return tuple(+chosen for chosen in layouts)

    def greedy(self, demand: Mapping[str, int], counts: list[int], *, whole_last: bool = False) -> None:
        """Give every GPU beside ``counts``, the GPUs of each item, the layout that serves the most for its memory.

        Before that, one GPU each gets what is required and on no other GPU. With ``whole_last``, whole GPUs are those
        that are left: any model has them, and a profile only some.
        """
        gpus = [pool.gpus for pool in self._pools]
        left, total = dict(demand), 0.0
        missing = set(self._required)
        for (at, layout), count in zip(self._items, counts, strict=True):
            if count:
                gpus[at] -= count
                total += self._served(layout, left, count)
                left = _without(left, layout, count)
                missing -= layout.keys()
        while left or missing:
            choices = []
            for index, (at, layout) in enumerate(self._items):
                if gpus[at]:
                    dense = self._served(layout, left, 1) / self._pools[at].memory_mib
                    first = not whole_last or (dense > 0 and not any(map(is_whole, layout)))
                    choices.append((len(missing & layout.keys()), first, dense, -index))
            news, _, served, negative = max(choices, default=(0, False, 0.0, 0))
            if not news and served <= 0:
                break
            at, layout = self._items[-negative]
            # As many as all serve as much.
            alike = min([gpus[at], *(left[name] // count for name, count in layout.items() if name in left)])
            times = 1 if news else max(1, alike)
            total += self._served(layout, left, times)
            left = _without(left, layout, times)
            missing -= layout.keys()
            counts[-negative] += times
            gpus[at] -= times
        if not missing and total > self.worth:
            self.best, self.worth = counts, total

    def price(self, demand: Mapping[str, int]) -> tuple[float, list[int]]:
        """Find prices with a low bound, by steps along the subgradient (Polyak's).

        Returns (the bound, for each item the number of GPUs for which it was the best at all these prices on average):
        the latter come close to a solution of the linear program.
        """
        prices, best = dict.fromkeys(demand, 0.0), inf
        weights = [0.0] * self.items
        for _ in range(_PRICINGS):
            total, surplus, tops = self._at_prices(prices, demand)
            if total < best:
                best, self._prices = total, dict(prices)
            # Prices are steps of worth, so that small and large profiles move alike.
            length = sum((surplus[name] * self._worth[name]) ** 2 for name in demand)
            if total <= self.worth + _CLOSE or not length or self._late():
                break
            step = (total - self.worth) / length
            for at in tops:
                weights[at] += step
            for name in demand:
                moved = prices[name] - step * surplus[name] * self._worth[name] ** 2
                prices[name] = min(self._worth[name], max(0.0, moved))
        margins = [max(0.0, self._margin(layout, self._prices)) for _, layout in self._items]
        counts = [0] * self.items
        for pool, start, end in zip(self._pools, self._starts, self._ends, strict=True):
            weight = sum(weights[start:end])
            for at in range(start, end):
                self._margins[at] = max(margins[at:end])
                counts[at] = int(pool.gpus * weights[at] / weight) if weight else 0
        return best, counts

    def _at_prices(
        self, prices: Mapping[str, float], demand: Mapping[str, int]
    ) -> tuple[float, dict[str, int], list[int]]:
        """Return (the bound at these prices, the demand that it leaves, the best item of each pool)."""
        surplus = dict(demand)
        total = sum(prices[name] * count for name, count in demand.items())
        margins = [self._margin(layout, prices) for _, layout in self._items]
        spans = zip(self._starts, self._ends, strict=True)
        tops = [max(range(start, end), key=margins.__getitem__) for start, end in spans]
        for pool, at in zip(self._pools, tops, strict=True):
            total += pool.gpus * max(0.0, margins[at])
            for name, count in self._items[at][1].items():
                if name in surplus:
                    surplus[name] -= pool.gpus * count
        return total, surplus, tops

    def _margin(self, layout: Mapping[str, int], prices: Mapping[str, float]) -> float:
        return sum((self._worth[name] - prices[name]) * count for name, count in layout.items() if name in prices)

    def branch(self, index: int, demand: Mapping[str, int], total: float, gpus: int | None = None) -> None:
        """Try every number of GPUs for the items from ``index`` on, unless it cannot be worth more than the best.

        ``gpus`` are those that are left in the pool of the item; None: all.
        """
        if total > self.worth + _CLOSE and self._has_all():
            self.best, self.worth = list(self._counts), total
        if index == len(self._items):
            return
        if self._is_over():
            return
        pool, layout = self._items[index]
        gpus = self._pools[pool].gpus if gpus is None else gpus
        if total + self.bound(index, gpus, demand) <= self.worth + _CLOSE:
            return
        is_last = index + 1 == len(self._items) or self._items[index + 1][0] != pool
        most = max((-(-demand.get(name, 0) // count) for name, count in layout.items()), default=0)
        for times in range(min(gpus, most), -1, -1):
            self._counts[index] = times
            served = self._served(layout, demand, times)
            left = _without(demand, layout, times)
            self.branch(index + 1, left, total + served, None if is_last else gpus - times)
            if self._is_over():
                break
        self._counts[index] = 0

    def _is_over(self) -> bool:
        self.ended = self.ended or self._late()
        return self.ended

    def bound(self, index: int, gpus: int, demand: Mapping[str, int]) -> float:
        """Return a worth that the items from ``index`` on cannot exceed, with ``gpus`` GPUs left in its pool."""
        if not self._items:
            return 0.0
        pool = self._items[index][0]
        spans = [(gpus, index), *((self._pools[at].gpus, self._starts[at]) for at in range(pool + 1, len(self._pools)))]
        by_demand = sum(
            self._worth[name] * min(count, sum(left * self._most[start].get(name, 0) for left, start in spans))
            for name, count in demand.items()
        )
        by_price = sum(self._prices[name] * count for name, count in demand.items()) + sum(
            left * self._margins[start] for left, start in spans
        )
        by_gpu = sum(
            left * max(self._served(layout, demand, 1) for _, layout in self._items[start:end])
            for (left, start), end in zip(spans, self._ends[pool:], strict=True)
        )
        return min(by_gpu, by_demand, by_price)

    def _has_all(self) -> bool:
        return not self._required or self._required <= {
            name for (_, layout), count in zip(self._items, self._counts, strict=True) if count for name in layout
        }

    def _served(self, layout: Mapping[str, int], demand: Mapping[str, int], times: int) -> float:
        """Return the worth of what ``times`` GPUs of a layout serve of a demand."""
        return sum(
            self._worth[name] * min(count * times, demand.get(name, 0))
            for name, count in layout.items()
            if name in demand
        )


def _without(demand: Mapping[str, int], layout: Mapping[str, int], times: int) -> dict[str, int]:
    left = {name: count - layout.get(name, 0) * times for name, count in demand.items()}
    return {name: count for name, count in left.items() if count > 0}

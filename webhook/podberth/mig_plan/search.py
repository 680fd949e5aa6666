"""Finds which profiles a fleet should offer, and the layouts that offer them.

A need of memory gets the smallest profile on offer, so the profiles on offer decide what pods ask for, and with it what
layouts are worth. For one set of profiles that are all on offer, the best layouts are an integer program (``layouts``).
Few sets are all tried, those with the largest bound first, and of equal ones those first that are like today's; of
many, those that differ by one profile from the best so far.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import comb
from typing import Final

from ..devices import mig
from .demand import Demand
from .layouts import UNCUT, Choices, Layout, Solution, bound_of, is_whole, layouts_of, solve, whole
from .pools import Pool, sum_of
from .serving import Measures, Want, asked_for, wants_of

_MOST_PROFILES: Final = 6
"""The most profiles on offer; the number of layouts of a GPU grows with each."""
_MOST_SETS: Final = 256
"""The most sets of profiles that are all tried."""
_SHARES: Final = 20
"""A step from one set to the next takes a share of the time."""
_CLOSE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Found:
    """The best layouts that were found."""

    layouts: tuple[Mapping[Layout, int], ...]
    """The number of GPUs of each layout, for each pool."""
    bound_mib: float
    """No layouts serve more of the demand than so many MiB."""


def search(
    pools: Sequence[Pool], demand: Demand, measures: Measures, clock: Callable[[], float], seconds: float
) -> Found:
    """Return the layouts of all pools that serve the most memory of a demand; whole GPUs if nothing else was found.

    Args:
        pools: the pools.
        demand: the number of pods of each need.
        measures: the memory of what the pools' GPUs can be.
        clock: returns the time in seconds; only differences count.
        seconds: the time for the search. Each step that it has begun is brought to a result.
    """
    state = _State(pools, wants_of(demand, measures), measures, clock, seconds)
    names = _names(pools, demand, measures)
    # Each need asks for one profile, so more profiles than needs are asked for by nobody.
    most = min(len(names), sum(not want.need.gpus for want in state.wants))
    small = most <= _MOST_PROFILES and sum(comb(len(names), size) for size in range(most + 1)) <= _MOST_SETS
    bound = state.all_sets(names, most) if small else state.climb(names)
    return Found(state.layouts, bound)


def _names(pools: Sequence[Pool], demand: Demand, measures: Measures) -> frozenset[str]:
    """Return the profiles that a demand may ask for, without those that are never better than another one.

    Of profiles with equal memory, the one with the fewest compute slices has all places of the others. A known table
    has the names of several drivers for one profile (3g.40gb, 3g.39gb): the first counts, or one that is on offer.
    """
    named = {need.profile for need in demand if need.profile}
    least = min((need.memory_mib for need in demand if need.memory_mib), default=None)
    found = set()
    for pool in pools:
        by_memory: dict[int, str] = {}
        names: dict[tuple[int, int | str], str] = {}
        for name in sorted(pool.table.rows, key=lambda each: each not in pool.offer):
            profile = mig.parse(name)
            same = profile.slices, pool.table.rows[name].max_instances or name
            if profile.attributes or names.setdefault(same, name) != name:
                continue
            before = by_memory.get(profile.memory_gb)
            if before is None or mig.parse(before).slices > profile.slices:
                by_memory[profile.memory_gb] = name
        found |= named & pool.table.rows.keys()
        if least is not None:
            found |= {name for name in by_memory.values() if measures.profiles[name] >= least}
    return frozenset(found)


@dataclass(slots=True)
class _State:
    """The best layouts so far."""

    pools: Sequence[Pool]
    wants: Sequence[Want]
    measures: Measures
    clock: Callable[[], float]
    seconds: float
    end: float = 0.0
    layouts: tuple[Mapping[Layout, int], ...] = ()
    worth: float = -1.0
    limit: float = 0.0
    """No layouts of any set of profiles are worth more: all memory, or the whole demand."""
    _known: dict[tuple[int, frozenset[str]], tuple[Layout, ...]] = field(default_factory=dict)
    """The layouts of a GPU by the index of the pool and what is wanted of it."""

    def __post_init__(self) -> None:
        self.end = self.clock() + self.seconds
        memory = sum(pool.gpus for pool in self.pools) * max(self.measures.sizes, default=0)
        self.limit = float(min(memory, sum(want.needed_mib for want in self.wants)))
        self.attempt(frozenset(), self.end)

    def all_sets(self, names: frozenset[str], most: int) -> float:
        """Try all sets of up to ``most`` of the profiles; return the bound of all."""
        today = self._today()
        for each in (today, self._natural(names)):
            self.attempt(each, self.clock() + self.seconds / _SHARES)
            if self.worth >= self.limit - _CLOSE:
                return self.limit
        sets = [frozenset(each) for size in range(1, most + 1) for each in combinations(sorted(names), size)]
        bounded: list[tuple[float, frozenset[str]]] = []
        for each in sets:
            if self._is_over():
                return self.climb(names)
            bounded.append((bound_of(*self._problem(each)), each))
        bounded.sort(key=lambda pair: (-round(pair[0]), len(pair[1] ^ today), self._sizes(pair[1])))
        while bounded and not self._is_over():
            bounded = self._round(bounded)
        return min(self.limit, max([self.worth, *(bound for bound, _ in bounded)]))

    def _round(self, bounded: Sequence[tuple[float, frozenset[str]]]) -> list[tuple[float, frozenset[str]]]:
        """Try each set for its share of half of the time that is left; return those that may still be better."""
        later: list[tuple[float, frozenset[str]]] = []
        for at, (bound, each) in enumerate(bounded):
            if bound > self.worth + _CLOSE:
                now = self.clock()
                share = max((self.end - now) / 2 / (len(bounded) - at), self.seconds / _SHARES)
                solution = self.attempt(each, now + share)
                if not solution.exact:
                    later.append((min(bound, solution.bound), each))
        return later

    def climb(self, names: frozenset[str]) -> float:
        """Try a profile for each need, and today's set; then the best that differs by one profile, again and again.

        Returns the bound of all sets.
        """
        best = self._natural(names)
        share = (self.end - self.clock()) / _SHARES
        self.attempt(best, self.clock() + share)
        better = True
        while better and not self._is_over() and self.worth < self.limit - _CLOSE:
            better, around = False, best
            for each in chain([self._today()], _neighbours(around, names)):
                if self._is_over():
                    break
                before = self.worth
                self.attempt(each, self.clock() + share)
                if self.worth > before + _CLOSE:
                    better, best = True, each
        return self.limit

    def _natural(self, names: frozenset[str]) -> frozenset[str]:
        """Return the profiles that pods ask for if all parts of GPUs are on offer; at most six.

        A whole GPU without MIG does what one with a profile of its size does, and for more pods.
        """
        whole = {name for pool in self.pools for name in names if mig.parse(name).memory_gb == pool.table.whole_gb}
        units, needed = asked_for(self.wants, names - whole, self.measures)
        return frozenset(sorted(names & units.keys(), key=lambda name: (-needed[name], name))[:_MOST_PROFILES])

    def _today(self) -> frozenset[str]:
        """Return the profiles that pods ask for today."""
        offered = sum_of(pool.offer for pool in self.pools)
        units, _ = asked_for(self.wants, (+offered).keys(), self.measures)
        return frozenset(sorted(units.keys() & self.measures.profiles.keys())[:_MOST_PROFILES])

    def _sizes(self, names: frozenset[str]) -> list[tuple[int, str]]:
        return sorted((self.measures.profiles[name], name) for name in names)

    def attempt(self, names: frozenset[str], until: float) -> Solution:
        """Search the layouts that offer all of ``names``, and remember them if they are the best so far."""
        choices, wanted, worth = self._problem(names)
        required = names & wanted.keys()
        end = min(until, self.end)
        solution = solve(choices, wanted, worth, lambda: self.clock() > end, required, self.worth)
        if solution.layouts is not None and solution.worth > self.worth + _CLOSE:
            self.layouts, self.worth = tuple(map(_without_sizes, solution.layouts)), solution.worth
        return solution

    def _problem(self, names: frozenset[str]) -> tuple[list[Choices], dict[str, int], dict[str, float]]:
        """Return (what GPUs can be, what is wanted of it, the MiB of one) if exactly ``names`` are on offer."""
        units, needed = asked_for(self.wants, names, self.measures)
        wanted = {name: count for name, count in units.items() if is_whole(name) or name in names}
        choices = [
            Choices(gpus=pool.gpus, memory_mib=pool.memory_mib, layouts=self._layouts(at, wanted))
            for at, pool in enumerate(self.pools)
        ]
        return choices, wanted, {name: needed[name] / count for name, count in wanted.items()}

    def _layouts(self, at: int, wanted: Mapping[str, int]) -> tuple[Layout, ...]:
        pool = self.pools[at]
        smallest, *larger = [whole(size) for size in self.measures.sizes if size <= pool.memory_mib]
        profiles, sizes = wanted.keys() & pool.table.rows.keys(), wanted.keys() & set(larger)
        key = (at, frozenset(profiles | sizes))
        if key not in self._known:
            *cut, _ = layouts_of(sorted(profiles), pool.table)
            self._known[key] = (*cut, *(((name, 1),) for name in (*sorted(sizes), smallest)))
        return self._known[key]

    def _is_over(self) -> bool:
        return self.clock() > self.end


def _without_sizes(layouts: Mapping[Layout, int]) -> Counter[Layout]:
    """Return the number of GPUs of each layout, with all whole GPUs as one layout."""
    found: Counter[Layout] = Counter()
    for layout, count in layouts.items():
        found[UNCUT if is_whole(layout[0][0]) else layout] += count
    return found


def _neighbours(names: frozenset[str], among: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield the sets that have one profile less, one more, or another one."""
    for name in sorted(names):
        yield names - {name}
    if len(names) < _MOST_PROFILES:
        for name in sorted(among - names):
            yield names | {name}
    for name in sorted(names):
        for other in sorted(among - names):
            yield names - {name} | {other}

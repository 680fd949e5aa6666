"""Says how much of a demand instances and whole GPUs serve, if pods ask for them as ``mig-right-size`` does."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..devices import mig
from .demand import Demand, Need
from .layouts import WHOLE, is_whole, whole

NOWHERE: Final = "nowhere"
"""What pods ask for that no GPU can serve; nothing offers it."""

Offer = Mapping[str, int]
"""The number of instances by profile, and of whole GPUs by ``whole`` of their size, that nodes offer."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The memory of what the GPUs of a fleet can be."""

    profiles: Mapping[str, int]
    """MiB of each profile; the least, if models differ."""
    sizes: tuple[int, ...]
    """MiB of the whole GPUs of all models, ascending, each once."""

    def memory_mib(self, need: Need) -> int:
        """Return the MiB that one pod needs; several whole GPUs are counted with the memory of the smallest."""
        if need.profile:
            return self.profiles.get(need.profile) or mig.memory_mib(need.profile)
        return need.memory_mib or need.gpus * min(self.sizes, default=0)

    def asked_for(self, need: Need, offered: Iterable[str]) -> str:
        """Return the profile that a pod asks for of the profiles ``offered``; else a whole GPU (``whole``).

        A need of memory gets the smallest offered profile that is large enough. If no offered profile is, it gets a
        whole GPU of at least the smallest size that is large enough; if no GPU is, NOWHERE.
        """
        if need.profile:
            return need.profile
        sizes = {name: self.profiles[name] for name in offered if name in self.profiles}
        if need.memory_mib and (smallest := mig.smallest(need.memory_mib, sizes)):
            return smallest
        return next((whole(size) for size in self.sizes if size >= need.memory_mib), NOWHERE)


@dataclass(frozen=True, slots=True)
class Want:
    """Pods that ask for the same, whatever is on offer."""

    need: Need
    """What each of them asks for. Memory is rounded up to that of the next profile or whole GPU."""
    units: int
    """The number of instances or whole GPUs that they need together."""
    needed_mib: int
    """The MiB that they need together."""


@dataclass(frozen=True, slots=True)
class Served:
    """How much of a demand nodes serve."""

    memory_mib: float
    """The MiB that the pods that get a place need; a pod with whole GPUs needs all their memory."""
    waiting: tuple[tuple[Need, int], ...]
    """(need, number of pods without a place), sorted."""


def wants_of(demand: Demand, measures: Measures) -> tuple[Want, ...]:
    """Return the pods of a demand, those that ask for the same together. They are few, however many needs there are."""
    steps = sorted({*measures.profiles.values(), *measures.sizes})
    steps.append(steps[-1] + 1 if steps else 1)
    units: Counter[Need] = Counter()
    needed: Counter[Need] = Counter()
    for need, count in demand.items():
        same = need
        if need.gpus:
            same = Need(gpus=1)
        elif need.memory_mib:
            same = Need(memory_mib=steps[min(bisect_left(steps, need.memory_mib), len(steps) - 1)])
        units[same] += (need.gpus or 1) * count
        needed[same] += measures.memory_mib(need) * count
    return tuple(Want(need=need, units=count, needed_mib=needed[need]) for need, count in sorted(units.items()))


def asked_for(wants: Iterable[Want], offered: Iterable[str], measures: Measures) -> tuple[Counter[str], Counter[str]]:
    """Return (the number of instances, and of whole GPUs, that pods ask for; the MiB that they need of them)."""
    names = frozenset(offered)
    units: Counter[str] = Counter()
    needed: Counter[str] = Counter()
    for want in wants:
        name = measures.asked_for(want.need, names)
        units[name] += want.units
        needed[name] += want.needed_mib
    return units, needed


def sized(offer: Offer, memory_mib: int) -> Counter[str]:
    """Return what GPUs of one model offer, with the size of the whole ones in their name."""
    found = Counter(offer)
    if gpus := found.pop(WHOLE, 0):
        found[whole(memory_mib)] = gpus
    return found


def use_of(offer: Offer, wants: Sequence[Want], measures: Measures) -> dict[str, float]:
    """Return the MiB in use of each profile, and of the whole GPUs of each size, that nodes offer."""
    units, needed = asked_for(wants, _offered(offer), measures)
    found: defaultdict[str, float] = defaultdict(float)
    for name, taken in _places(offer, units, measures).items():
        for source, count in taken.items():
            found[source] += needed[name] / units[name] * count
    return found


def served(offer: Offer, demand: Demand, measures: Measures) -> Served:
    """Return how much of a demand nodes serve that offer so many instances and whole GPUs.

    Of the pods that ask for the same, those get a place that come first; here each need gets its share. Pods for which
    only larger whole GPUs are enough get theirs before the others.
    """
    names = _offered(offer)
    asking: defaultdict[str, list[tuple[Need, int]]] = defaultdict(list)
    units: Counter[str] = Counter()
    for need, count in sorted(demand.items()):
        name = measures.asked_for(need, names)
        asking[name].append((need, count))
        units[name] += (need.gpus or 1) * count
    places = _places(offer, units, measures)
    memory, waiting = 0.0, []
    for name, needs in asking.items():
        there = sum(places.get(name, {}).values())
        needed = sum(measures.memory_mib(need) * count for need, count in needs)
        memory += needed * there / units[name]
        waiting += [
            (need, count - placed) for (need, count), placed in _placed(needs, units[name], there) if placed < count
        ]
    return Served(memory, tuple(sorted(waiting)))


def _places(offer: Offer, units: Mapping[str, int], measures: Measures) -> dict[str, dict[str, int]]:
    """Return, for each name that pods ask for, the number of places by the name on offer."""
    found = {
        name: {name: min(count, offer.get(name, 0))} for name, count in units.items() if not is_whole(name) and count
    }
    free = {size: offer.get(whole(size), 0) for size in measures.sizes}
    for size in reversed(measures.sizes):
        missing = units.get(whole(size), 0)
        taken: dict[str, int] = {}
        for larger in measures.sizes:
            if larger >= size and (count := min(missing, free[larger])):
                taken[whole(larger)] = count
                free[larger] -= count
                missing -= count
        found[whole(size)] = taken
    return found


def _placed(needs: Sequence[tuple[Need, int]], units: int, places: int) -> list[tuple[tuple[Need, int], int]]:
    """Return ((need, number of pods), the number of them with a place): each its share, by the largest remainders."""
    left = places
    shares = []
    for need, count in needs:
        pods, remainder = divmod(count * places, units)
        shares.append([remainder, pods])
        left -= pods * (need.gpus or 1)
    for at in sorted(range(len(needs)), key=lambda at: -shares[at][0]):
        gpus = needs[at][0].gpus or 1
        if shares[at][0] and gpus <= left:
            shares[at][1] += 1
            left -= gpus
    return [(each, pods) for each, (_, pods) in zip(needs, shares, strict=True)]


def _offered(offer: Offer) -> frozenset[str]:
    return frozenset(name for name, count in offer.items() if count > 0)

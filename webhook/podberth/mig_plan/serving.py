"""Says how much of a demand instances and whole GPUs serve, if pods ask for them as ``mig-right-size`` does."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ..devices import mig
from .demand import Demand, Need
from .layouts import WHOLE

NOWHERE: Final = "nowhere"
"""What pods ask for that no GPU can serve; nothing offers it."""

Offer = Mapping[str, int]
"""A mapping from profile, and WHOLE, to the number of instances and of whole GPUs that nodes offer."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The memory of what the GPUs of a fleet can be."""

    profiles: Mapping[str, int]
    """MiB of each profile; the least, if models differ."""
    whole_mib: int
    """MiB of a whole GPU; the least, if models differ."""
    largest_mib: int
    """MiB of the largest whole GPU."""

    def memory_mib(self, need: Need) -> int:
        """Return the MiB that one pod needs; 0 if no GPU has its profile."""
        return need.memory_mib or self.profiles.get(need.profile, 0) or need.gpus * self.whole_mib

    def profile(self, need: Need, offered: Iterable[str]) -> str:
        """Return the profile that a pod asks for where ``offered`` are on offer, WHOLE for whole GPUs.

        A need of memory gets the smallest profile that is large enough, and a whole GPU if there is none. A need that
        is larger than every GPU gets NOWHERE.
        """
        if need.gpus:
            return WHOLE
        if need.memory_mib > self.largest_mib:
            return NOWHERE
        sizes = {name: self.profiles[name] for name in offered if name in self.profiles}
        return need.profile or mig.smallest(need.memory_mib, sizes) or WHOLE


@dataclass(frozen=True, slots=True)
class Served:
    """How much of a demand nodes serve."""

    memory_mib: float
    """The MiB that the pods that get a place need; a pod with whole GPUs needs all their memory."""
    waiting: tuple[tuple[Need, int], ...]
    """(need, number of pods without a place), sorted; a part of a pod is counted as a pod."""


def asked_for(demand: Demand, offered: Iterable[str], measures: Measures) -> tuple[Counter[str], Counter[str]]:
    """Return (the number of instances, and of whole GPUs, that a demand asks for; the MiB that is needed of them)."""
    names = frozenset(offered)
    units: Counter[str] = Counter()
    needed: Counter[str] = Counter()
    for need, count in demand.items():
        profile = measures.profile(need, names)
        units[profile] += (need.gpus or 1) * count
        needed[profile] += measures.memory_mib(need) * count
    return units, needed


def used_mib(offer: Offer, within: Offer, demand: Demand, measures: Measures) -> float:
    """Return the MiB in use of the nodes that have ``offer``, which is a part of what all nodes offer, ``within``."""
    units, needed = asked_for(demand, _offered(within), measures)
    return sum(
        needed[name] * min(1.0, within[name] / units[name]) * count / within[name]
        for name, count in offer.items()
        if units[name] and count
    )


def served(offer: Offer, demand: Demand, measures: Measures) -> Served:
    """Return how much of a demand nodes serve that offer so many instances and whole GPUs.

    Of the pods that ask for the same profile, those get a place that come first; here each need gets its share.
    """
    names = _offered(offer)
    asking: defaultdict[str, list[tuple[Need, int]]] = defaultdict(list)
    for need, count in sorted(demand.items()):
        asking[measures.profile(need, names)].append((need, count))
    memory, waiting = 0.0, []
    for profile, needs in asking.items():
        units = sum((need.gpus or 1) * count for need, count in needs)
        share = min(1.0, offer.get(profile, 0) / units)
        for need, count in needs:
            placed = count * share
            memory += placed * measures.memory_mib(need)
            if missing := count - int(placed + 1e-9):
                waiting.append((need, missing))
    return Served(memory, tuple(sorted(waiting)))


def _offered(offer: Offer) -> frozenset[str]:
    return frozenset(name for name, count in offer.items() if count > 0)

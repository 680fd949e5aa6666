"""Whether some pods have room together: on all machines, or on those of one domain of a level.

What is said to have no room has none, whoever places the pods. The reverse does not hold: two pods of five devices
and one of three are let through on two machines of seven, which would have to be packed to know.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .capability import Capability
from .index import TopologyIndex
from .need import Need, covers, pods_per_node, total


@dataclass(frozen=True, slots=True)
class Wanted:
    """Pods of one kind."""

    need: Need
    most: int
    """How many there are."""
    least: int
    """How many of them are wanted at the least."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What has no room: ``pods`` of these kinds (their places in the question), where ``room`` is all there is."""

    kinds: tuple[int, ...]
    pods: int
    room: int
    resource: str = ""
    """Empty: pods are counted. Else units of it, of which the pods want ``units``."""
    units: int = 0


_Machines = Mapping[str, Sequence[tuple[Capability, int]]]


def lacks(
    index: TopologyIndex, wanted: Sequence[Wanted], together: int, level: str = ""
) -> Mapping[str, Lack | None] | None:
    """Return by domain of a level what has no room in it, None for nothing; without a level there is one domain, "".

    ``together`` is how many pods of any kind are wanted in all. Counted are empty machines, transient ones included.
    None where no known node fits any of the pods: no room is then not what is wrong. Pods that ask for no device, and
    those that fit no node, are taken for placed.
    """
    kinds = _Kinds(wanted)
    machines: dict[int, _Machines] = {}
    for kind in kinds.largest_first:
        need = wanted[kind].need
        nodes = index.nodes(need) if need.requests else None
        if nodes is not None and nodes.exist:
            machines[kind] = nodes.machines(level)
    if not machines:
        return None
    domains = dict.fromkeys(domain for each in machines.values() for domain in each)
    found: dict[str, Lack | None] = {}
    alike: dict[tuple[object, ...], Lack | None] = {}  # a cluster has thousands of hosts, and few kinds of them
    for domain in domains:
        at_hand = {kind: each.get(domain, ()) for kind, each in machines.items()}
        key = tuple((id(capability), nodes) for each in at_hand.values() for capability, nodes in (*each, (None, 0)))
        if key not in alike:
            alike[key] = _lack(kinds, together, at_hand)
        found[domain] = alike[key]
    return found


class _Kinds:
    """What is wanted, with those that need the same looked up once; a kind is the place of its first."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self.wanted = wanted
        self._places: dict[int, list[int]] = {}
        first: dict[Need, int] = {}
        for place, each in enumerate(wanted):
            self._places.setdefault(first.setdefault(each.need, place), []).append(place)
        self.largest_first = sorted(self._places, key=lambda kind: total(wanted[kind].need), reverse=True)
        self._covered: dict[int, list[int]] = {}

    def covered(self, kind: int) -> list[int]:
        """Return the kinds of which each pod is room for one of this, the largest first."""
        if kind not in self._covered:
            need = self.wanted[kind].need
            self._covered[kind] = [each for each in self.largest_first if covers(need, self.wanted[each].need)]
        return self._covered[kind]

    def places(self, kinds: Iterable[int]) -> tuple[int, ...]:
        """Return all places of some kinds."""
        return tuple(place for kind in kinds for place in self._places[kind])


def _lack(kinds: _Kinds, together: int, machines: Mapping[int, Sequence[tuple[Capability, int]]]) -> Lack | None:
    """Return what has no room on the machines that each kind has; the largest kinds are the first."""
    wanted = kinds.wanted
    for kind, at_hand in machines.items():
        need = wanted[kind].need
        # Whatever runs one of these could run the pod: they are all on its machines.
        places = kinds.places(each for each in kinds.covered(kind) if each in machines)
        others = sum(each.most for each in wanted) - sum(wanted[place].most for place in places)
        pods = max(sum(wanted[place].least for place in places), together - others)
        if pods < 1:
            continue
        room = sum(pods_per_node(capability, need) * nodes for capability, nodes in at_hand)
        if pods > room:
            return Lack(places, pods, room)
        for resource, _ in need.requests:
            units = _units([wanted[place] for place in places], pods, resource)
            have = sum(capability.amount_of.get(resource, 0) * nodes for capability, nodes in at_hand)
            if units > have:
                return Lack(places, pods, have, resource, units)
    return None


def _units(wanted: Sequence[Wanted], pods: int, resource: str) -> int:
    """Return how many units that many of the pods want at the least: those that must come, and the smallest besides."""
    amounts = [(dict(each.need.requests).get(resource, 0), each.least, each.most) for each in wanted]
    units, left = sum(amount * least for amount, least, _ in amounts), pods - sum(least for _, least, _ in amounts)
    for amount, least, most in sorted(amounts):
        more = min(left, most - least)
        units, left = units + amount * more, left - more
    return units

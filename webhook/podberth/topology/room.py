"""Whether some pods have room together: on all machines, or on those of one domain of a level.

Pods that are reported as having no room have none, whoever places them. The reverse does not hold: two pods of five
devices and one of three pass on two machines of seven, because deciding that needs packing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .capability import Capability
from .index import TopologyIndex
from .need import Need, covers, pods_per_node, total


@dataclass(frozen=True, slots=True)
class PodsWanted:
    """Pods of one kind."""

    need: Need
    most: int
    """The number of pods."""
    least: int
    """The least number of pods that is wanted."""


@dataclass(frozen=True, slots=True)
class Lack:
    """The pods without room: ``pods`` of these kinds (their places in the question), where only ``room`` fit."""

    kinds: tuple[int, ...]
    pods: int
    room: int
    resource: str = ""
    """Empty: pods are counted. Else units of it, of which the pods want ``units``."""
    units: int = 0


_Machines = Mapping[str, Sequence[tuple[Capability, int]]]


def lacks(
    index: TopologyIndex, wanted: Sequence[PodsWanted], together: int, level: str = ""
) -> Mapping[str, Lack | None] | None:
    """Return by domain of a level the pods without room in it, None for none; without a level there is one domain, "".

    ``together`` is the wanted number of pods of any kind. Empty machines count, including transient ones. None where no
    known node fits any of the pods: room is then not the problem. Pods that ask for no device, and those that fit no
    node, count as placed.
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
    """The wanted pods, where equal needs are looked up once; a kind is the index of its first."""

    def __init__(self, wanted: Sequence[PodsWanted]) -> None:
        self.wanted = wanted
        self._places: dict[int, list[int]] = {}
        first: dict[Need, int] = {}
        for place, each in enumerate(wanted):
            self._places.setdefault(first.setdefault(each.need, place), []).append(place)
        self.largest_first = sorted(self._places, key=lambda kind: total(wanted[kind].need), reverse=True)
        self._covered: dict[int, list[int]] = {}

    def covered(self, kind: int) -> list[int]:
        """Return the kinds whose pods each take at least the room of one of this kind, the largest first."""
        if kind not in self._covered:
            need = self.wanted[kind].need
            self._covered[kind] = [each for each in self.largest_first if covers(need, self.wanted[each].need)]
        return self._covered[kind]

    def places(self, kinds: Iterable[int]) -> tuple[int, ...]:
        """Return all indexes of some kinds."""
        return tuple(place for kind in kinds for place in self._places[kind])


def _lack(kinds: _Kinds, together: int, machines: Mapping[int, Sequence[tuple[Capability, int]]]) -> Lack | None:
    """Return the pods without room on the machines of each kind; the largest kinds are the first."""
    wanted = kinds.wanted
    for kind, at_hand in machines.items():
        need = wanted[kind].need
        # A machine that runs one of these could run the pod: they are all on its machines.
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


def _units(wanted: Sequence[PodsWanted], pods: int, resource: str) -> int:
    """Return the least units that so many of the pods want: the required ones, and the smallest of the others."""
    amounts = [(dict(each.need.requests).get(resource, 0), each.least, each.most) for each in wanted]
    units, left = sum(amount * least for amount, least, _ in amounts), pods - sum(least for _, least, _ in amounts)
    for amount, least, most in sorted(amounts):
        more = min(left, most - least)
        units, left = units + amount * more, left - more
    return units

"""Checks whether pods fit together on all nodes, or on the nodes of one domain of a level.

If pods are reported as not fitting, no scheduler can place them. If no pods are reported, they may still not fit. For
example, two pods that need five devices and a pod that needs three do not fit on two nodes with seven devices each, but
only an exact packing shows that.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .capability import Capability
from .domains import domains, groups
from .index import TopologyIndex
from .need import Need, covers, pods_per_node, total


@dataclass(frozen=True, slots=True)
class PodsWanted:
    """A number of pods with equal needs, which are to be placed on the known nodes."""

    need: Need
    most: int
    """The number of pods with this need."""
    least: int
    """The least number of pods with this need that has to start."""


@dataclass(frozen=True, slots=True)
class Lack:
    """Pods that do not all fit into a domain: ``pods`` pods are wanted, and there is room for ``room`` pods.

    If ``resource`` is not empty, ``room`` counts units of the resource, and not pods. ``kinds`` are the indexes of the
    pods in the list of all wanted pods.
    """

    kinds: tuple[int, ...]
    pods: int
    room: int
    resource: str = ""
    """The resource that is short: ``units`` are wanted, and ``room`` exist; empty: pods are counted, not units."""
    units: int = 0


def lacks(
    index: TopologyIndex, wanted: Sequence[PodsWanted], together: int, level: str = ""
) -> Mapping[Lack | None, int] | None:
    """Return a mapping from the pods that do not fit into a domain of a level to the number of such domains.

    The key None stands for the domains into which all pods fit. Without a level, the only domain is the cluster.
    ``together`` is the number of all wanted pods, which start together. All nodes count as empty, and transient nodes
    are included. Pods that ask for no device, and pods that fit no node, count as placed. The result itself is None if
    no known node fits any of the pods, or if no pod asks for a device.
    """
    kinds = _Kinds(wanted)
    parts = {
        kind: nodes.parts
        for kind in kinds.largest_first
        if wanted[kind].need.requests and (nodes := index.nodes(wanted[kind].need)).exist
    }
    if not parts:
        return None
    found: Counter[Lack | None] = Counter()
    for machines, number in domains(list(groups(parts.values())), level, index.conventions):
        at_hand = {
            kind: [(capability, nodes) for (capability, fitting), nodes in machines.items() if place in fitting]
            for place, kind in enumerate(parts)
        }
        found[_lack(kinds, together, at_hand)] += number
    return found


class _Kinds:
    """The wanted pods, divided into sets of pods with equal needs.

    A set is identified by the index of its first item in ``wanted``.
    """

    def __init__(self, wanted: Sequence[PodsWanted]) -> None:
        self.wanted = wanted
        self._places: dict[int, list[int]] = {}
        first: dict[Need, int] = {}
        for place, each in enumerate(wanted):
            self._places.setdefault(first.setdefault(each.need, place), []).append(place)
        self.largest_first = sorted(self._places, key=lambda kind: total(wanted[kind].need), reverse=True)
        self._covered: dict[int, list[int]] = {}

    def covered(self, kind: int) -> list[int]:
        """Return the sets of pods whose needs are at least the need of the pods in the set ``kind``.

        The set ``kind`` itself is included. The set with the largest need is first.
        """
        if kind not in self._covered:
            need = self.wanted[kind].need
            self._covered[kind] = [each for each in self.largest_first if covers(need, self.wanted[each].need)]
        return self._covered[kind]

    def places(self, kinds: Iterable[int]) -> tuple[int, ...]:
        """Return the indexes in ``wanted`` of all items in the sets ``kinds``."""
        return tuple(place for kind in kinds for place in self._places[kind])


def _lack(kinds: _Kinds, together: int, machines: Mapping[int, Sequence[tuple[Capability, int]]]) -> Lack | None:
    """Return the first pods that do not fit on the nodes ``machines``; None if all pods fit.

    Pods with the largest needs come first. ``machines`` maps each set of pods with equal needs to the fitting nodes, as
    (offered accelerators, number of nodes). ``together`` is the number of all pods that start together.
    """
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
    """Return the least number of units of a resource that ``pods`` pods request together, whichever these pods are.

    The pods are taken from ``wanted``: at least ``PodsWanted.least`` pods of each item, and at most
    ``PodsWanted.most``. So the result counts the least numbers, and then the pods that request the fewest units.
    """
    amounts = [(dict(each.need.requests).get(resource, 0), each.least, each.most) for each in wanted]
    units, left = sum(amount * least for amount, least, _ in amounts), pods - sum(least for _, least, _ in amounts)
    for amount, least, most in sorted(amounts):
        more = min(left, most - least)
        units, left = units + amount * more, left - more
    return units

"""Checks whether pods fit together on all nodes, or on the nodes of one domain of a level.

If pods are reported as not fitting, no scheduler can place them. If no pods are reported, they may still not fit. For
example, two pods that need five devices and a pod that needs three do not fit on two nodes with seven devices each, but
only an exact packing shows that.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
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
    places: dict[Need, list[int]] = {}
    for place, each in enumerate(wanted):
        places.setdefault(each.need, []).append(place)
    largest_first = sorted(places, key=total, reverse=True)
    parts = {need: nodes.parts for need in largest_first if need.requests and (nodes := index.nodes(need)).exist}
    if not parts:
        return None
    # A machine that runs a pod with a larger need could run the pod: they are all on its machines.
    covering = {
        need: tuple(place for other in parts if covers(need, other) for place in places[other]) for need in parts
    }
    found: Counter[Lack | None] = Counter()
    for machines, number in domains(list(groups(parts.values())), level, index.conventions):
        at_hand = {
            need: [(capability, nodes) for (capability, fitting), nodes in machines.items() if kind in fitting]
            for kind, need in enumerate(parts)
        }
        found[_lack(wanted, together, covering, at_hand)] += number
    return found


def _lack(
    wanted: Sequence[PodsWanted],
    together: int,
    covering: Mapping[Need, tuple[int, ...]],
    machines: Mapping[Need, Sequence[tuple[Capability, int]]],
) -> Lack | None:
    """Return the first pods that do not fit on the nodes ``machines``; None if all pods fit.

    Pods with the largest needs come first. ``machines`` maps each need to the fitting nodes, as (offered accelerators,
    number of nodes), and ``covering`` to the indexes in ``wanted`` of the pods whose needs are at least this need.
    ``together`` is the number of all pods that start together.
    """
    for need, at_hand in machines.items():
        places = covering[need]
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

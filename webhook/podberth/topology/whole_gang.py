"""Checks whether the empty nodes of a domain can hold a whole gang with different roles.

Only durable nodes and their accelerators are used. All pods of the gang get one result.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..conventions import Conventions
from .domains import Fitting, Machines, domains, groups
from .need import Need, total
from .node_sets import NodeSet

Roles: TypeAlias = tuple[tuple[int, Need], ...]
"""The roles of a gang: (number of pods, need of one pod) for each role."""


def narrowest_levels(roles: Roles, found: Sequence[NodeSet], conventions: Conventions) -> tuple[str, str]:
    """Return (narrowest level with a domain that holds all pods, narrowest level with only such domains).

    ``found`` has, for each role, the nodes that fit a pod of the role. For the second level, each domain with a node
    that fits any role must hold all pods, because the scheduler may place any pod first. It must hold them in any order
    of placement and on any nodes: small pods that are spread leave fewer whole nodes for large pods. A level is empty
    if there is no such level, or if it is unknown how much of a node a role takes.
    """
    if not all(need.requests for _, need in roles):
        return "", ""
    nodes = list(groups(each.durable_parts for each in found))
    counts = _most_counts(roles)
    narrowest = safe = ""
    for level in reversed(conventions.levels):
        different = [machines for machines, _ in domains(nodes, level, conventions)]
        if not narrowest and any(_hold(each, roles) for each in different):
            narrowest = level
        if not safe and different and all(_always_hold(each, counts) for each in different):
            safe = level
        if narrowest and safe:
            break
    return narrowest, safe


def _hold(machines: Machines, roles: Roles) -> bool:
    """Return whether a greedy packing places all pods of all roles on the nodes ``machines`` at once.

    Roles with larger needs are placed first; smaller roles use what remains of a node.
    """
    names = sorted({name for _, need in roles for name, _ in need.requests})
    left: list[tuple[dict[str, int], Fitting, int]] = [
        ({name: capability.amount_of.get(name, 0) for name in names}, fitting, number)
        for (capability, fitting), number in machines.items()
    ]
    for place in sorted(range(len(roles)), key=lambda place: (-total(roles[place][1]), roles[place][1].requests)):
        count, need = roles[place]
        remaining: list[tuple[dict[str, int], Fitting, int]] = []
        # First the machine that fewest other roles fit, and with the least left.
        for amounts, fitting, number in sorted(left, key=lambda each: (len(each[1]), sum(each[0].values()))):
            room = _room(amounts, need) if place in fitting else 0
            if not (room and count):
                remaining.append((amounts, fitting, number))
                continue
            full = min(number, count // room)
            rest = min(count - full * room, room) if full < number else 0
            count -= full * room + rest
            for pods, used in ((room, full), (rest, int(rest > 0)), (0, number - full - int(rest > 0))):
                if used:
                    remaining.append((_without(amounts, need, pods), fitting, used))
        if count:
            return False
        left = remaining
    return True


def _most_counts(roles: Roles) -> list[tuple[Need, int]]:
    """Return (need, number of pods) for each role, for ``_always_hold``.

    The number has the role's pods and, for each pod of another role, the most pods of the role that this pod displaces
    (``_takes``). If empty nodes have room for this number, the role's pods fit wherever the other roles' pods are.
    """
    return [
        (need, count + sum(each * _takes(other, need) for at, (each, other) in enumerate(roles) if at != place))
        for place, (count, need) in enumerate(roles)
    ]


def _always_hold(machines: Machines, counts: Sequence[tuple[Need, int]]) -> bool:
    """Return whether the nodes ``machines`` hold all pods, wherever the scheduler places each pod.

    ``counts`` has (need, number of pods) for each role, as ``_most_counts`` returns them.
    """
    return all(
        sum(
            _room(capability.amount_of, need) * number
            for (capability, fitting), number in machines.items()
            if place in fitting
        )
        >= count
        for place, (need, count) in enumerate(counts)
    )


def _room(amounts: Mapping[str, int], need: Need) -> int:
    return min(amounts.get(name, 0) // amount for name, amount in need.requests)


def _takes(other: Need, need: Need) -> int:
    """Return the largest number of pods with ``need`` that one pod with ``other`` displaces from a node."""
    asked = dict(other.requests)
    return max(-(-asked.get(name, 0) // amount) for name, amount in need.requests)


def _without(amounts: dict[str, int], need: Need, pods: int) -> dict[str, int]:
    return {**amounts, **{name: amounts[name] - amount * pods for name, amount in need.requests}} if pods else amounts

"""The answer whether the empty nodes of a domain can hold a whole gang with different roles.

Only durable nodes and their accelerators count, as in ``nodes``. The answer is the same for every pod of the gang.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ..conventions import Conventions
from ..wellknown import HOSTNAME_LABEL
from .capability import Capability
from .need import Need, total
from .node_sets import NodeClass, NodeSet, OwnLabels

Roles: TypeAlias = tuple[tuple[int, Need], ...]
"""The roles of a gang: the number of pods of each role, and the need of one such pod."""

_ANYWHERE: Final = ""


def narrowest_levels(roles: Roles, found: Sequence[NodeSet], conventions: Conventions) -> tuple[str, str]:
    """Return the narrowest level with a domain that holds all pods, and the narrowest level with only such domains.

    ``found`` has, for each role, the nodes that fit one of its pods. For the second level, every domain with a node
    that fits any role counts, because the scheduler may place any pod first. Each of these domains must hold all pods
    in any order of placement and on any nodes: small pods that are spread leave fewer whole nodes for large ones. A
    level is empty if there is none, or if it is unknown how much of a node a role takes.
    """
    if not all(need.requests for _, need in roles):
        return "", ""
    machines = list(_machines(found))
    narrowest = safe = ""
    for level in reversed(conventions.levels):
        domains = _domains(machines, level, conventions)
        if not narrowest and any(_hold(each, roles) for each in domains):
            narrowest = level
        if not safe and domains and all(_always_hold(each, roles) for each in domains):
            safe = level
        if narrowest and safe:
            break
    return narrowest, safe


_Fitting: TypeAlias = frozenset[int]
"""The indexes of the roles that a node fits."""
_Machines: TypeAlias = Counter[tuple[Capability, _Fitting]]
"""The nodes of a domain: how many have the same capability and fit the same roles."""


def _machines(found: Sequence[NodeSet]) -> Iterator[tuple[NodeClass, _Fitting, list[OwnLabels]]]:
    """Yield the durable nodes that fit any role, grouped by class and by the roles that they fit."""
    classes: dict[int, tuple[NodeClass, dict[str, set[int]]]] = {}
    for place, nodes in enumerate(found):
        for part in nodes.durable_parts:
            _, fitting = classes.setdefault(id(part.node_class), (part.node_class, {}))
            for name in [_ANYWHERE] if part.names is None else part.names:
                fitting.setdefault(name, set()).add(place)
    for one, fitting in classes.values():
        everywhere = fitting.pop(_ANYWHERE, set())
        alike: dict[_Fitting, list[OwnLabels]] = {}
        if fitting or everywhere:
            for name, own in one.members.items():
                roles = frozenset(everywhere | fitting.get(name, set()))
                if roles:
                    alike.setdefault(roles, []).append(own)
        for roles, members in alike.items():
            yield one, roles, members


def _domains(
    machines: Sequence[tuple[NodeClass, _Fitting, list[OwnLabels]]], level: str, conventions: Conventions
) -> list[_Machines]:
    """Return the domains of a level that contain any of ``machines``, each as its nodes by capability and roles.

    For the hostname level, equal nodes are returned once.
    """
    if level == HOSTNAME_LABEL:
        alone = {(one.capability, roles) for one, roles, _ in machines}
        return [Counter({each: 1}) for each in alone]
    domains: dict[str, _Machines] = {}
    for one, roles, members in machines:
        if level in conventions.ignored_labels:
            values: Mapping[str | None, int] = Counter(dict(own).get(level) for own in members)
        else:
            values = {one.labels.get(level): len(members)}
        for value, number in values.items():
            if value:
                domains.setdefault(value, Counter())[one.capability, roles] += number
    return list(domains.values())


def _hold(machines: _Machines, roles: Roles) -> bool:
    """Return whether a greedy packing places all pods of all roles on these nodes at once.

    Roles with larger needs are placed first; the others use what remains of a node.
    """
    names = sorted({name for _, need in roles for name, _ in need.requests})
    left: list[tuple[dict[str, int], _Fitting, int]] = [
        ({name: capability.amount_of.get(name, 0) for name in names}, fitting, number)
        for (capability, fitting), number in machines.items()
    ]
    for place in sorted(range(len(roles)), key=lambda place: (-total(roles[place][1]), roles[place][1].requests)):
        count, need = roles[place]
        remaining: list[tuple[dict[str, int], _Fitting, int]] = []
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


def _always_hold(machines: _Machines, roles: Roles) -> bool:
    """Return whether these nodes hold all pods, wherever the scheduler places each of them.

    For each role: on any node, a pod of another role takes at most its need divided by this role's need, rounded up, in
    places. The remaining places must be enough for the role's own pods.
    """
    for place, (count, need) in enumerate(roles):
        places = sum(
            number * _room(capability.amount_of, need)
            for (capability, fitting), number in machines.items()
            if place in fitting
        )
        taken = sum(each * _takes(other, need) for at, (each, other) in enumerate(roles) if at != place)
        if places - taken < count:
            return False
    return True


def _room(amounts: Mapping[str, int], need: Need) -> int:
    return min(amounts.get(name, 0) // amount for name, amount in need.requests)


def _takes(other: Need, need: Need) -> int:
    """Return the most places for pods of ``need`` that one pod of ``other`` can take."""
    asked = dict(other.requests)
    return max(-(-asked.get(name, 0) // amount) for name, amount in need.requests)


def _without(amounts: dict[str, int], need: Need, pods: int) -> dict[str, int]:
    return {**amounts, **{name: amounts[name] - amount * pods for name, amount in need.requests}} if pods else amounts

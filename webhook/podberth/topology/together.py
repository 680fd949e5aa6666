"""Whether machines hold a whole gang with different roles: all of its pods at once, on empty machines.

Only durable nodes and their accelerators count, as in ``nodes``. The answer is the same for every member.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ..conventions import Conventions
from ..wellknown import HOSTNAME_LABEL
from .capability import Capability
from .need import Need, total
from .nodes import NodeClass, NodeSet, OwnLabels

Roles: TypeAlias = tuple[tuple[int, Need], ...]
"""The number of pods of each role, and the need of one of them."""

_ANYWHERE: Final = ""


def narrowest_levels(roles: Roles, found: Sequence[NodeSet], conventions: Conventions) -> tuple[str, str]:
    """Return the narrowest level with a domain that holds all pods, and the narrowest level with only such domains.

    ``found`` are the nodes that fit a pod of each role. The second level counts every domain with a node that fits any
    role, because any member may be placed first. Each of these domains must hold all pods in any order of placement,
    and on any nodes: small pods on several machines leave fewer whole machines for large ones. Empty: there is no such
    level, or a role's use of a node is unknown.
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
"""The roles that a machine fits, by their index."""
_Machines: TypeAlias = Counter[tuple[Capability, _Fitting]]
"""Equal machines of a domain, with their number."""


def _machines(found: Sequence[NodeSet]) -> Iterator[tuple[NodeClass, _Fitting, list[OwnLabels]]]:
    """Yield the durable nodes that fit some role: those of a class that fit the same ones together."""
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
    """Return the domains of a level that have such machines, equal ones once; a node is a domain of its own."""
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
    """Return whether the machines hold all pods of all roles at once, packed greedily.

    The largest need comes first, the smaller ones use the rest of a machine.
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
    """Return whether the machines hold all pods wherever each of them goes.

    A pod of a role takes one place of its own role, and of another role at most its need divided by that role's,
    rounded up, on any machine. The remainder must be enough for each role.
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
    """Return the most places for pods of one need that a pod of another takes."""
    asked = dict(other.requests)
    return max(-(-asked.get(name, 0) // amount) for name, amount in need.requests)


def _without(amounts: dict[str, int], need: Need, pods: int) -> dict[str, int]:
    return {**amounts, **{name: amounts[name] - amount * pods for name, amount in need.requests}} if pods else amounts

"""The check for gangs that are too large for every known domain of a required level, or for all known nodes together.

Every node on which a pod may run counts as empty and healthy. An autoscaler may add nodes, so the check only warns
about known nodes (docs/rules.md, rule 13).
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from ..kinds.starts import Start
from ..topology.room import Lack, PodsWanted, lacks
from .case import GroupCase, Pods, Wrong
from .least_pods import starts
from .levels import LevelDemand, affinity_levels, exclusive_levels, native_levels, pod_set_levels


def too_large_groups(case: GroupCase) -> Iterator[Wrong]:
    """Yield a problem for each gang that is too large for the domains of a required level, or for all known nodes.

    A level may be required for several gangs, each alone in a domain. Then it is a problem if the domains that can hold
    a gang are fewer than the gangs.
    """
    if not case.known.topology.known:
        return
    reported: set[tuple[object, ...]] = set()
    levels: dict[tuple[object, ...], LevelDemand] = {}
    for level in (*pod_set_levels(case), *exclusive_levels(case), *native_levels(case), *affinity_levels(case)):
        # Two roles that require each other's domain make one requirement.
        levels.setdefault((level.key, level.paths, level.start.least, level.domains), level)
    for level in levels.values():
        found = _of_level(case, level)
        if found is not None:
            reported |= level.paths
            yield found
    for start in starts(case):
        paths = {share.pods.template.path for share in start.shares}
        if reported.isdisjoint(paths) and (found := _of_cluster(case, start)):
            yield found


def _lacks(case: GroupCase, start: Start[Pods], level: str = "") -> Mapping[Lack | None, int] | None:
    wanted = [PodsWanted(share.pods.need, share.most, share.least) for share in start.shares]
    return lacks(case.known.topology, wanted, start.least, level) if start.least else None


def _of_level(case: GroupCase, level: LevelDemand) -> Wrong | None:
    found = _lacks(case, level.start, level.key)
    if found is None:
        return None
    if not found:
        return level.wrong(f"got {level.key}, a label that no known node has that fits; write one that nodes have")
    holding = found.get(None, 0)
    if not holding:
        pods, most = _counted(level.start, {lack: number for lack, number in found.items() if lack is not None})
        return level.wrong(
            f"{pods} in one {level.key}: no known domain holds {most}; write a wider level or fewer pods"
        )
    if holding < level.domains:
        return level.wrong(
            f"{level.domains} groups, each alone in one {level.key}: {holding} known hold one; "
            "write a narrower level or fewer groups"
        )
    return None


def _of_cluster(case: GroupCase, start: Start[Pods]) -> Wrong | None:
    [lack] = _lacks(case, start) or (None,)
    if lack is None:
        return None
    pods, _ = _counted(start, {lack: 1})
    largest = max((start.shares[place] for place in lack.kinds), key=lambda share: share.most)
    have = f"have {lack.room}" if lack.resource else f"hold {lack.room} such"
    return largest.pods.wrong(
        ("spec", "containers"),
        f"{pods} start together, and all known nodes {have}; write fewer, or they wait for nodes",
    )


def _counted(start: Start[Pods], found: Mapping[Lack, int]) -> tuple[str, str]:
    """Return PODS and MOST of the message ``PODS in one LEVEL: no known domain holds MOST``.

    ``start`` has the pods that start together, and ``found`` the number of domains with each lack. PODS, such as "8
    pods", are the pods for which the most domains lack room. MOST is "more than 6" if the best domain has room for 6 of
    these pods. If some domains lack room only for other pods, MOST is "them all".
    """
    often: Counter[tuple[int, ...]] = Counter()
    for lack, domains in found.items():
        often[lack.kinds] += domains
    first = max(found, key=lambda lack: (often[lack.kinds], lack.room))
    pods = f"{first.pods} pods{_of_roles(start, first)}"
    same = [each.room for each in found if (each.kinds, each.resource) == (first.kinds, first.resource)]
    if first.resource:
        pods += f" with {first.units} {first.resource}"
    return pods, f"more than {max(same)}" if len(same) == len(found) else "them all"


def _of_roles(start: Start[Pods], lack: Lack) -> str:
    """Return the text that names the roles of the pods that do not fit; empty if all of them have one role.

    ``lack.kinds`` has the indexes of these roles in ``start.shares``.
    """
    roles = [start.shares[place].pods.role for place in sorted(lack.kinds)]
    if len(roles) == 1:
        return ""
    return f" of {' and '.join(roles)}" if len(roles) == 2 and all(roles) else f" of {len(roles)} roles"  # noqa: PLR2004

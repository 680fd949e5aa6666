"""The check for a gang whose pods name several schedulers: no scheduler places all of the gang's pods."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ..workload.systems import SYSTEMS
from .case import GroupCase, Pods, Wrong

# These schedulers count only those pods of a group that they schedule themselves, never those of another scheduler.
_GROUPING: Final = frozenset(scheduler for row in SYSTEMS for scheduler in row.schedulers)
_BY_PLUGIN: Final = frozenset(row.name for row in SYSTEMS if row.by_plugin)


def mixed_schedulers(case: GroupCase) -> Iterator[Wrong]:
    """Yield a problem for each role that names another scheduler than most roles of its gang.

    If a role names a gang scheduler, the gang scheduler that most roles name counts as right. There is no problem if
    all schedulers place pod by pod, because no pod then waits for a gang. A role that ends before the other roles
    start, such as an initializer, is no problem either.
    """
    for pods in case.moments():
        schedulers = {each.scheduler for each in pods}
        if len(schedulers) == 1:
            continue
        grouping = schedulers & _GROUPING
        if not grouping and not any(each.gang.system in _BY_PLUGIN for each in pods):
            continue
        wanted = _wanted(pods, grouping)
        those = next(each for each in pods if each.scheduler == wanted)
        for each in pods:
            if each.scheduler != wanted:
                yield each.wrong(
                    ("spec", "schedulerName"),
                    f"got {each.scheduler}, but {those.role or 'the rest'} has {wanted}: "
                    f"{wanted} does not place this part of the group; write {wanted} in both",
                )


def _wanted(pods: tuple[Pods, ...], grouping: set[str]) -> str:
    """Return the scheduler that most templates name; if some name a gang scheduler, only those templates count.

    ``grouping`` are the gang schedulers among the named schedulers.
    """
    votes = Counter(each.scheduler for each in pods if not grouping or each.scheduler in grouping)
    return min(votes, key=lambda name: (-votes[name], name))

"""Mixed schedulers: one group without a single scheduler that sees all of it."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ..workload.systems import SYSTEMS
from .case import Case, Pods, Wrong
from .moments import moments

# These count a group's pods among the ones that they schedule themselves; they never see pods of another scheduler.
_GROUPING: Final = frozenset(scheduler for row in SYSTEMS for scheduler in row.schedulers)
# A plugin of a scheduler of any name, which must place the whole group (KEP-4671; scheduler-plugins pkg/coscheduling).
_BY_PLUGIN: Final = frozenset({"native", "coscheduling"})


def mixed_schedulers(case: Case) -> Iterator[Wrong]:
    """Find roles of one gang with another scheduler than most, where one of the schedulers schedules whole groups.

    Two plain schedulers place pod by pod, so no pod waits for a group: that is no finding. Nor is a role that ends
    before the others start, as an initializer does.
    """
    for pods in (each for gang in case.gangs() for each in moments(case, gang)):
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
                    f"no scheduler sees the whole group; write {wanted} in both",
                )


def _wanted(pods: tuple[Pods, ...], grouping: set[str]) -> str:
    """Return the scheduler of most templates; if some of them schedule groups, among those."""
    votes = Counter(each.scheduler for each in pods if not grouping or each.scheduler in grouping)
    return min(votes, key=lambda name: (-votes[name], name))

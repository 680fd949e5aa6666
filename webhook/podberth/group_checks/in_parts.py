"""The check for gangs that nothing starts as a whole, so that two of them may each hold a part of the GPUs and wait."""

from collections.abc import Iterator
from typing import Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.group_rules import StatedMinimum
from ..kube.unchecked import at
from ..wellknown import GANG_LABEL
from ..workload.systems import PLAIN, SYSTEMS
from .case import GroupCase, Pods, Wrong
from .least_pods import starts

_STATED: Final = tuple(each for row in DOSSIERS for each in row.stated_minimums if each.needed_at)
_OF_SCHEDULER: Final = {scheduler: row for row in SYSTEMS for scheduler in row.schedulers}
_DEFAULT: Final = "default-scheduler"


def started_in_parts(case: GroupCase) -> Iterator[Wrong]:
    """Yield one problem for an object with a gang that its scheduler starts pod by pod.

    There are three causes: the scheduler reads the gang's minimum from the workload, and the workload states none; the
    scheduler makes no group of bare pods; or the cluster has no group system. A stated minimum is never a problem.
    """
    if case.is_bare:
        yield from _bare(case)
        return
    for start in starts(case):
        pods = [share.pods for share in start.shares if share.pods.gpu.kind != "none"]
        many = min(start.least, sum(each.replicas for each in pods))
        found = _one_gang(case, pods, many) if many > 1 else None
        if found is not None:
            yield found
            return


def _bare(case: GroupCase) -> Iterator[Wrong]:
    for each in case.pods:
        if each.gang.alone and each.gpu.kind != "none":
            title = _OF_SCHEDULER[each.scheduler].title
            yield each.wrong(
                ("metadata", "labels", GANG_LABEL),
                f"got {each.gang.name}, of which {title} makes no group: it starts bare pods one by one; "
                "let one workload make them",
            )


def _one_gang(case: GroupCase, pods: list[Pods], many: int) -> Wrong | None:
    placed = {(each.scheduler, each.gang.system) for each in pods}
    for stated in _STATED:
        system, path = _OF_SCHEDULER[stated.needed_under], stated.needed_at.get(case.kind)
        if path is not None and placed == {(stated.needed_under, system.name)}:
            return None if _is_stated(case, pods, stated, path) else _unstated(case, stated, path, many)
    if placed != {(_DEFAULT, PLAIN)} or not case.known.facts.is_groupless:
        return None
    return pods[0].wrong(
        ("spec", "schedulerName"),
        f"got {_DEFAULT}, and nothing on this cluster starts the {many} pods of this gang together; "
        "ask its admins for gang scheduling",
    )


def _is_stated(case: GroupCase, pods: list[Pods], stated: StatedMinimum, path: tuple[str, ...]) -> bool:
    """Return whether the annotation is there, or the pods name a group, whose minimum counts instead."""
    return at(case.document, *path, stated.key) is not None or any(case.groups[each.template.path] for each in pods)


def _unstated(case: GroupCase, stated: StatedMinimum, path: tuple[str, ...], many: int) -> Wrong:
    title = _OF_SCHEDULER[stated.needed_under].title
    said = f"got none, so {title} starts the {many} pods of this gang one by one; write {many}"
    return case.wrong((*path, stated.key), said)

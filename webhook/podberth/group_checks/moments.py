"""Divides the roles of a gang into sets that run at the same time; some roles start only after others have ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..kinds.forms import find
from ..kinds.job_sets import JOB_LISTS, jobs_ended_before
from ..kube.paths import Path
from ..workload.stages import OF_ROLES

if TYPE_CHECKING:
    from .case import GroupCase, Pods

_OF_ROLES: Final = OF_ROLES | {""}
"""The sources of a gang (``Gang.source``) whose roles may wait for each other; "" stands for pods without a gang."""


def moments(case: "GroupCase", pods: Sequence["Pods"]) -> Iterator[tuple["Pods", ...]]:
    """Yield the pods of a gang that run at the same time, one tuple for each stage, in the order of their start.

    ``pods`` are all pods of the gang. If the pods name a group by a label or a field, all pods are in one tuple,
    because the scheduler counts all pods of the group.
    """
    found: dict[int, list[Pods]] = {}
    for each in pods:
        number = case.stages[each.template.path] if each.gang.source in _OF_ROLES else 0
        found.setdefault(number, []).append(each)
    yield from (tuple(found[number]) for number in sorted(found))


def stages(document: Mapping[str, Any], base: Path, paths: Iterable[Path]) -> Mapping[Path, int]:
    """Return a mapping from template path to the number of jobs that end, one after another, before the pods start.

    ``document`` is the object that has the jobs, and ``base`` the object's path in the whole document. ``paths`` are
    the paths of the templates in the whole document.
    """
    found = dict.fromkeys(paths, 0)
    for jobs in JOB_LISTS:
        by_place = jobs_ended_before(find(document, jobs))
        for path in found if by_place else ():
            inner = path[len(base) :]
            place = inner[len(jobs)] if inner[: len(jobs)] == jobs else None
            if isinstance(place, int):
                found[path] = by_place[place]
    return found

"""The roles of a gang that run at the same time; other roles may start only after these have ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..kinds.forms import find
from ..kinds.job_sets import JOB_LISTS
from ..kinds.places import Steps
from ..kube.unchecked import at, list_at, text_at
from ..workload.stages import OF_ROLES

if TYPE_CHECKING:
    from .case import GroupCase, Pods

# kubernetes-sigs/jobset pkg/controllers/depends_on.go: every Job of the other replicated job has succeeded. With Ready,
# the other status, the Jobs still run.
_ENDED: Final = "Complete"
_OF_ROLES: Final = OF_ROLES | {""}
"""The sources of gangs whose roles may wait for each other; "" stands for pods without a gang."""


def moments(case: "GroupCase", pods: Sequence["Pods"]) -> Iterator[tuple["Pods", ...]]:
    """Yield the pods of a gang in sets that run at the same time, in the order of their start.

    ``pods`` are the gang's. If the pods themselves name a group, by a label or a field, all are in one set, because the
    scheduler counts all pods of the group.
    """
    found: dict[int, list[Pods]] = {}
    for each in pods:
        number = case.stages[each.template.path] if each.gang.source in _OF_ROLES else 0
        found.setdefault(number, []).append(each)
    yield from (tuple(found[number]) for number in sorted(found))


def stages(document: Mapping[str, Any], base: Steps, paths: Iterable[Steps]) -> Mapping[Steps, int]:
    """Return, by a template's path, the number of jobs that end one after another before the template's pods start.

    ``document`` is the object that has the jobs, and ``base`` its path in the whole document. ``paths`` are the paths
    of the templates in the whole document.
    """
    found = dict.fromkeys(paths, 0)
    for jobs in JOB_LISTS:
        by_place = _stages(find(document, jobs))
        for path in found if by_place else ():
            inner = path[len(base) :]
            if inner[: len(jobs)] == jobs:
                found[path] = by_place[inner[len(jobs)]]
    return found


def _stages(jobs: object) -> Mapping[str | int, int]:
    """Return the number of jobs that have to end before each job starts, by the job's index or key.

    The numbers come from ``dependsOn``, which names earlier jobs only (jobset_webhook.go).
    """
    by_name: dict[str, int] = {}
    by_place: dict[str | int, int] = {}
    for place, job in enumerate(jobs if isinstance(jobs, list) else ()):
        waits = list_at(job, "dependsOn")
        before = [each for each in waits if text_at(each, "name") in by_name]
        number = max((by_name[text_at(each, "name")] + (at(each, "status") == _ENDED) for each in before), default=0)
        by_place[place] = by_name[text_at(job, "name")] = number
    return by_place

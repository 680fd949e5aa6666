"""Launchers, heads and drivers: counted in a stated size, or missing in it."""

from collections.abc import Iterator
from typing import Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.forms import find
from ..kinds.group_rules import RUN_POLICY_MINIMUM
from ..kinds.replica_specs import LAUNCHER_LAST
from ..kube.unchecked import at, count, number, text
from ..wellknown import GANG_SIZE_ANNOTATION
from .case import Case, Pods, Wrong, whole

_VOLCANO_JOB: Final = ("batch.volcano.sh", "Job")
_FRONTS: Final = {each.kind: each.fronts for row in DOSSIERS for each in row.group_rules if each.fronts}


def miscounted_launchers(case: Case) -> Iterator[Wrong]:
    """Find sizes that count the workers without the launcher, or with a launcher that starts after them."""
    fronts = _FRONTS.get(case.kind, frozenset())
    if not fronts or _counts_workers_alone(case):
        return
    minimum = ("spec", "minAvailable") if case.kind == _VOLCANO_JOB else RUN_POLICY_MINIMUM
    least = count(at(case.document, *minimum))
    for pods in case.gangs():
        front = [each for each in pods if each.role.lower() in fronts]
        workers, total = whole(each for each in pods if each not in front), whole(pods)
        if not (front and workers and total):
            continue
        role = front[0].role.lower()
        if why := _made_later(case, front[0]):
            if least > workers:
                yield case.wrong(
                    minimum,
                    f"got {least}, with the {role}, which waits for {workers} workers to be ready "
                    f"({why}); write {workers}",
                )
            continue
        if workers == 1:  # a group of one is the usual way to write that there is none
            continue
        also = " (as a worker)" if at(case.document, "spec", "runLauncherAsWorker") is True else ""
        message = f"got {workers}, the workers alone; the {role}{also} belongs to the group, too; write {total}"
        if least == workers:
            yield case.wrong(minimum, message)
        for each in pods:
            if number(text(each.annotations.get(GANG_SIZE_ANNOTATION))) == workers:
                yield each.wrong(("metadata", "annotations", GANG_SIZE_ANNOTATION), message)
        yield from _grouped(case, front[0], (workers, total))


def _counts_workers_alone(case: Case) -> bool:
    """Return whether a minimum may leave pods out on purpose.

    An elastic job starts with fewer, and its minimum is a choice. For Volcano's MPI plugin the manual counts the
    workers alone (volcano-sh/volcano docs/user-guide/how_to_use_mpi_plugin.md).
    """
    elastic = at(case.document, "spec", "elasticPolicy") is not None
    return elastic or (case.kind == _VOLCANO_JOB and at(case.document, "spec", "plugins", "mpi") is not None)


def _made_later(case: Case, front: Pods) -> str:
    """Return the field that delays a launcher until the workers run; empty: there is none.

    Volcano's dependsOn: pkg/controllers/job/job_controller_actions.go waitDependsOnTaskMeetCondition.
    """
    if at(case.document, "spec", "launcherCreationPolicy") == LAUNCHER_LAST:
        return "launcherCreationPolicy"
    task = find(case.document, front.template.path[len(case.base) : -1])
    return "dependsOn" if case.kind == _VOLCANO_JOB and at(task, "dependsOn", "name") else ""


def _grouped(case: Case, front: Pods, sizes: tuple[int, int]) -> Iterator[Wrong]:
    """Find a manual group that contains the launcher, and whose minimum leaves it out."""
    workers, total = sizes
    for row, member in case.groups[front.template.path]:
        if member.size == workers:
            role = front.role.lower()
            yield front.wrong(
                row.steps,
                f"got {member.name}, a group of {workers}, the workers alone; the {role} is in it; write {total}",
            )

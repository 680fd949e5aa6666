"""The check for gang sizes that leave out a launcher (also head or driver), or count a launcher that starts later."""

from collections.abc import Iterator

from ..kinds.forms import find
from ..kube.unchecked import at, count, number, text
from ..wellknown import GANG_SIZE_ANNOTATION
from .case import GroupCase, Pods, Wrong, whole


def miscounted_launchers(case: GroupCase) -> Iterator[Wrong]:
    """Yield a problem for each gang size without the launcher, or with a launcher that starts after the workers."""
    rules = case.rules
    if not rules.fronts or (rules.workers_alone is not None and rules.workers_alone(case.document)):
        return
    minimum = rules.minimum
    least = count(at(case.document, *minimum)) if minimum else 0
    for pods in case.gangs():
        front = [each for each in pods if each.role.lower() in rules.fronts]
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
        if workers == 1:  # a minimum of one usually means that there is no group
            continue
        works = rules.front_works and at(case.document, *rules.front_works) is True
        also = " (as a worker)" if works else ""
        message = f"got {workers}, the workers alone; the {role}{also} belongs to the group, too; write {total}"
        if least == workers:
            yield case.wrong(minimum, message)
        for each in pods:
            if number(text(each.annotations.get(GANG_SIZE_ANNOTATION))) == workers:
                yield each.wrong(("metadata", "annotations", GANG_SIZE_ANNOTATION), message)
        yield from _grouped(case, front[0], (workers, total))


def _made_later(case: GroupCase, front: Pods) -> str:
    """Return the name of the field that delays the launcher ``front`` until the workers run; empty if no field does."""
    part, waits = find(case.document, front.template.path[len(case.base) : -1]), case.rules.front_waits
    return waits(case.document, part) if waits is not None else ""


def _grouped(case: GroupCase, front: Pods, sizes: tuple[int, int]) -> Iterator[Wrong]:
    """Yield a problem for each PodGroup of the launcher whose minimum is only the number of workers.

    ``sizes`` is (the number of workers, the number of workers with the launcher).
    """
    workers, total = sizes
    for row, member in case.groups[front.template.path]:
        if member.size == workers:
            role = front.role.lower()
            yield front.wrong(
                row.steps,
                f"got {member.name}, a group of {workers}, the workers alone; the {role} is in it; write {total}",
            )

"""The check for gang minimums above the number of pods: such a gang never starts."""

from collections.abc import Iterator
from typing import Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.group_rules import above
from ..kube.unchecked import number, text
from ..wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
from ..workload.gangs import own_member_in
from .case import GroupCase, Pods, Wrong, whole

_STATED: Final = tuple(each for row in DOSSIERS for each in row.stated_minimums)


def too_large_minimums(case: GroupCase) -> Iterator[Wrong]:
    """Yield a problem for each gang minimum above the number of pods that the object makes.

    The minimums are in the object's fields, in the object's annotations, in annotations of pods, and in PodGroups.
    """
    find = case.rules.minimums
    for steps, message in find(case.document) if find is not None else ():
        yield case.wrong(steps, message)
    if not case.is_bare:
        yield from _by_annotation(case)
        for each in case.pods:
            yield from _declared(case, each)
            yield from _of_groups(case, each)


# ---- in annotations and PodGroups ------------------------------------------------------------------------------------
def _by_annotation(case: GroupCase) -> Iterator[Wrong]:
    """Yield a problem for each annotation of the pods' owner with a minimum above the number of pods.

    Only annotations that a group system reads count.
    """
    total = whole(case.pods)
    for stated in _STATED:
        if stated.kinds and case.kind not in stated.kinds:
            continue
        alone = (each for each in case.pods if not (stated.unless and each.annotations.get(stated.unless)))
        if not any(stated.scheduler in ("", each.scheduler) for each in alone):
            continue
        least = number(text(case.annotations.get(stated.key))) or 0
        if total and least > total:
            yield case.wrong(("metadata", "annotations", stated.key), above(least, total, "the pods of the workload"))


def _declared(case: GroupCase, pods: Pods) -> Iterator[Wrong]:
    """Yield a problem if the annotation ``podberth.io/gang-size`` is above the number of pods that the workload makes.

    Pods with the label ``podberth.io/gang`` are not checked, because their gang may have pods of several workloads.
    """
    size = number(text(pods.annotations.get(GANG_SIZE_ANNOTATION))) or 0
    if not size or GANG_LABEL in pods.labels:
        return
    member = own_member_in(pods.pod, case.namespace, pods.template.owners)
    most = pods.replicas if case.kind == ("apps", "StatefulSet") else member.size if member is not None else 0
    if most and size > most:
        steps = ("metadata", "annotations", GANG_SIZE_ANNOTATION)
        yield pods.wrong(steps, above(size, most, "the pods that the workload makes"))


def _of_groups(case: GroupCase, pods: Pods) -> Iterator[Wrong]:
    """Yield a problem if the minimum of a PodGroup of ``pods`` is above the number of the workload's pods in it.

    The minimum may be in an annotation of the pods instead of the PodGroup. Only the first template of a PodGroup has
    the problem: for the others, nothing is yielded. At most one problem is yielded.
    """
    groups = case.groups
    for row, member in groups[pods.template.path]:
        mates = [each for each in case.pods if any(same.name == member.name for _, same in groups[each.template.path])]
        total = whole(mates)
        if total and member.size > total and mates[0] is pods:
            yield pods.wrong(
                row.steps,
                f"got {member.name}, a group of {member.size} at the least, and this workload makes {total}: "
                "raise replicas or lower the minimum",
            )
            return

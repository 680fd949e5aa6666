"""The check for gangs that no scheduler starts as a whole, or that never start because no controller makes their group.

Two gangs that start pod by pod may each hold a part of the GPUs and wait for the GPUs that the other gang holds.
"""

from collections.abc import Iterator
from typing import Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.forms import find
from ..kinds.group_rules import StatedMinimum
from ..kube.paths import ELEMENT, Path
from ..kube.unchecked import at, count, text_at
from ..wellknown import APPLIED_ANNOTATION, GANG_LABEL
from ..workload.systems import JOINED, PLAIN, SYSTEMS
from .case import GroupCase, Pods, Wrong
from .least_pods import starts

_STATED: Final = tuple(each for row in DOSSIERS for each in row.stated_minimums if each.needed_at)
_OF_SCHEDULER: Final = {scheduler: row for row in SYSTEMS for scheduler in row.schedulers}
_UNMADE: Final = (
    "the pods wait for a PodGroup that nothing makes, for no podberth controller runs; ask the cluster's admins for it"
)
_DEFAULT: Final = "default-scheduler"


def started_in_parts(case: GroupCase) -> Iterator[Wrong]:
    """Yield one problem for an object with a gang that the gang's scheduler does not start as a whole.

    There are four causes: the pods wait for a group that nothing makes; the scheduler reads the gang's minimum from the
    workload, and the workload states no minimum; the scheduler makes no group for bare pods; or the cluster has no
    group system. A stated minimum is never a problem.
    """
    if unmade := _unmade(case):
        yield unmade
        return
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


def _unmade(case: GroupCase) -> Wrong | None:
    """Return the problem of pods that name a PodGroup which podberth's controller would make, but no controller runs.

    None if there is no such pod. The controller makes a group only for a policy: a pod has the group's name in
    podberth's label, and a policy wrote the name into a group system's reference, too. If the pod's author wrote the
    reference, the author makes the group, and there is no problem. If PodGroups were not read, the result is None,
    because the group may exist.
    """
    facts = case.known.facts
    for each in case.pods if facts.is_makerless else ():
        name = at(each.pod, "metadata", "labels", GANG_LABEL)
        for row in JOINED.values() if isinstance(name, str) else ():
            if (
                row.pod_groups in facts.served_groups
                and at(each.pod, *row.reference) == name
                and _is_of_policy(case, each, row.reference, name)
                and not case.known.has_group((row.pod_groups,), case.namespace, name)
            ):
                return each.wrong(row.reference, _UNMADE)
    return None


def _is_of_policy(case: GroupCase, pods: Pods, reference: tuple[str, ...], name: str) -> bool:
    """Return whether a policy, and not the author, wrote the reference to the group ``name``.

    A bare pod has been admitted already: the pod's record names the group if a policy wrote the reference.
    """
    if case.is_bare:
        return f'"{name}"' in text_at(pods.pod, "metadata", "annotations", APPLIED_ANNOTATION)
    return bool(at(pods.template.pod, *reference) != name)


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
            return _unstated(case, pods, stated, path, many)
    if all(each.gang.alone for each in pods):
        scheduler = pods[0].scheduler
        starts_so = f"which starts the {many} pods of this gang one by one, whatever the {case.kind[1]} states"
        return pods[0].wrong(("spec", "schedulerName"), f"got {scheduler}, {starts_so}; let another workload make them")
    if placed != {(_DEFAULT, PLAIN)} or not case.known.facts.is_groupless:
        return None
    return pods[0].wrong(
        ("spec", "schedulerName"),
        f"got {_DEFAULT}, and nothing on this cluster starts the {many} pods of this gang together; "
        "ask its admins for gang scheduling",
    )


def _unstated(
    case: GroupCase, pods: list[Pods], stated: StatedMinimum, path: tuple[str, ...], many: int
) -> Wrong | None:
    """Return the problem of a gang that does not state the minimum that its scheduler reads.

    ``stated`` is the annotation with the minimum, ``path`` the path of the annotations that the scheduler reads, with
    ELEMENT for the items of a list, and ``many`` the number of pods in the gang. None if the gang states the minimum.
    None as well if the pods name a group, because the group's minimum counts then.
    """
    where = _where(case, pods, path)
    stateless = [each for each in where if at(find(case.document, each), stated.key) is None]
    if not stateless or any(case.groups[each.template.path] for each in pods):
        return None
    title = _OF_SCHEDULER[stated.needed_under].title
    if sum(_jobs(case, each, path) for each in where) > 1:
        jobs = path[: path.index(ELEMENT)]
        parts = f"{title} makes a group for each Job, so the {many} pods of this gang start in parts"
        where_to = f"name it in annotation {stated.unless} of the pod templates"
        return case.wrong(jobs, f"{parts}; make a PodGroup of {many} pods, and {where_to}")
    said = f"got none, so {title} starts the {many} pods of this gang one by one; write {many}"
    return case.wrong((*stateless[0], stated.key), said)


def _where(case: GroupCase, pods: list[Pods], path: tuple[str, ...]) -> list[Path]:
    """Return the paths of the annotations in which the scheduler reads the minimum of the pods, without repetitions.

    In ``path``, ELEMENT stands for the index in a list; in the result, the indexes of the pods' templates replace it.
    """
    if ELEMENT not in path:
        return [path]
    place = path.index(ELEMENT)
    made_by = dict.fromkeys(each.template.path[len(case.base) + place] for each in pods)
    return [(*path[:place], each, *path[place + 1 :]) for each in made_by]


def _jobs(case: GroupCase, where: Path, path: tuple[str, ...]) -> int:
    """Return the number of Jobs that a controller makes with the annotations that are at the path ``where``.

    ``path`` is ``where`` with ELEMENT for the index of the replicated job; without ELEMENT, there is one Job.
    """
    if ELEMENT not in path:
        return 1
    return count(at(find(case.document, where[: path.index(ELEMENT) + 1]), "replicas"), 1)

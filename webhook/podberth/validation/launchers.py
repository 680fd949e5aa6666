"""Launchers, heads and drivers: counted in a size that somebody wrote, or forgotten there."""

from collections.abc import Iterator, Mapping
from typing import Final

from ..wellknown import GANG_SIZE_ANNOTATION
from ..workload.gangs import groups_in
from ..workload.stages import AFTER_WORKERS
from ..workload.subject import at, count, number, text
from .case import Case, Pods, Wrong, whole

# The roles that the operator's row counts beside its workers, as ``workload.operators`` has them.
_FRONTS: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("kubeflow.org", "MPIJob"): frozenset({"launcher"}),
    ("kubeflow.org", "PyTorchJob"): frozenset({"master"}),
    ("kubeflow.org", "TFJob"): frozenset({"chief", "master"}),
    ("kubeflow.org", "XGBoostJob"): frozenset({"master"}),
    ("kubeflow.org", "PaddleJob"): frozenset({"master"}),
    **{("ray.io", kind): frozenset({"head"}) for kind in ("RayCluster", "RayJob", "RayCronJob", "RayService")},
    ("sparkoperator.k8s.io", "SparkApplication"): frozenset({"driver"}),
}
_MINIMUM: Final = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")


def miscounted_launchers(case: Case) -> Iterator[Wrong]:
    """Find sizes that are those of the workers alone though the launcher is of the group, and the reverse."""
    fronts = _FRONTS.get(case.kind)
    if not fronts:
        return
    for pods in case.gangs():
        front = [each for each in pods if each.role.lower() in fronts]
        workers, total = whole(each for each in pods if each not in front), whole(pods)
        # An elastic job starts with fewer, and its minimum is somebody's choice.
        if not (front and workers and total) or at(case.document, "spec", "elasticPolicy") is not None:
            continue
        role = front[0].role.lower()
        if at(case.document, "spec", "launcherCreationPolicy") == AFTER_WORKERS:
            yield from _made_later(case, role, workers)
            continue
        also = " (as a worker)" if at(case.document, "spec", "runLauncherAsWorker") is True else ""
        message = f"got {workers}, the workers alone; the {role}{also} is of the group, too; write {total}"
        if count(at(case.document, *_MINIMUM)) == workers:
            yield case.wrong(_MINIMUM, message)
        for each in pods:
            if number(text(each.annotations.get(GANG_SIZE_ANNOTATION))) == workers:
                yield each.wrong(("metadata", "annotations", GANG_SIZE_ANNOTATION), message)
        yield from _grouped(case, front[0], (workers, total))


def _made_later(case: Case, role: str, workers: int) -> Iterator[Wrong]:
    least = count(at(case.document, *_MINIMUM))
    if least > workers:
        yield case.wrong(
            _MINIMUM,
            f"got {least}, with the {role}, which waits for {workers} workers to be ready "
            f"(launcherCreationPolicy); write {workers}",
        )


def _grouped(case: Case, front: Pods, sizes: tuple[int, int]) -> Iterator[Wrong]:
    """A group by hand that the launcher is in, too, and whose minimum leaves it out."""
    workers, total = sizes
    for row, member in groups_in(front.template.pod, case.namespace, case.known.group_sizes):
        if member.size == workers:
            role = front.role.lower()
            yield front.wrong(
                row.steps,
                f"got {member.name}, a group of {workers}, the workers alone; the {role} is in it; write {total}",
            )

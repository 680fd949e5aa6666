"""The roles of a gang that run at the same time: some start only after others have ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..kinds.forms import find
from ..kinds.places import Steps
from ..kube.unchecked import at, list_at, text_at

if TYPE_CHECKING:
    from .case import Case, Pods

# The paths from an object to the replicated jobs of a JobSet (kubeflow/trainer pkg/apis/trainer/v1alpha1
# JobSetTemplateSpec).
_JOBS: Final = (("spec", "replicatedJobs"), ("spec", "template", "spec", "replicatedJobs"))
# kubernetes-sigs/jobset pkg/controllers/depends_on.go: every Job of the other has succeeded. With Ready they go on
# running.
_ENDED: Final = "Complete"


def moments(case: "Case", pods: Sequence["Pods"]) -> Iterator[tuple["Pods", ...]]:
    """Yield the pods that run at the same time, in the order of their start.

    A group that the pods name themselves, by a label or a field, is counted whole by its scheduler.
    """
    found: dict[int, list[Pods]] = {}
    for each in pods:
        number = case.stages[each.template.path] if each.gang.source in ("", "JobSet") else 0
        found.setdefault(number, []).append(each)
    yield from (tuple(found[number]) for number in sorted(found))


def stages(document: Mapping[str, Any], base: Steps, paths: Iterable[Steps]) -> Mapping[Steps, int]:
    """Return by the place of each template how many jobs have to end, one after another, before its pods start."""
    found = dict.fromkeys(paths, 0)
    for jobs in _JOBS:
        by_place = _stages(find(document, jobs))
        for path in found if by_place else ():
            inner = path[len(base) :]
            if inner[: len(jobs)] == jobs:
                found[path] = by_place[inner[len(jobs)]]
    return found


def _stages(jobs: object) -> Mapping[str | int, int]:
    """Count along ``dependsOn``, which names earlier jobs (pkg/webhooks/jobset_webhook.go)."""
    by_name: dict[str, int] = {}
    by_place: dict[str | int, int] = {}
    for place, job in enumerate(jobs if isinstance(jobs, list) else ()):
        waits = list_at(job, "dependsOn")
        before = [each for each in waits if text_at(each, "name") in by_name]
        number = max((by_name[text_at(each, "name")] + (at(each, "status") == _ENDED) for each in before), default=0)
        by_place[place] = by_name[text_at(job, "name")] = number
    return by_place

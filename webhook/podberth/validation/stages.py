"""Which roles of a gang run at the same time: some begin only when others have ended."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..workload.forms import find
from ..workload.subject import at, text_at
from .case import Case, Pods

# From an object to the replicated jobs of a JobSet (kubeflow/trainer pkg/apis/trainer/v1alpha1 JobSetTemplateSpec).
_JOBS: Final = (("spec", "replicatedJobs"), ("spec", "template", "spec", "replicatedJobs"))
# kubernetes-sigs/jobset pkg/controllers/depends_on.go: every Job of the other has succeeded. With Ready they go on.
_ENDED: Final = "Complete"


def moments(case: Case, pods: Sequence[Pods]) -> Iterator[tuple[Pods, ...]]:
    """Yield those of the pods that run at the same time, the first to run first.

    A group that the pods name themselves, by a label or a field, is counted whole by whoever places it.
    """
    found: dict[int, list[Pods]] = {}
    for each in pods:
        found.setdefault(stage(case, each) if each.gang.source in ("", "JobSet") else 0, []).append(each)
    yield from (tuple(found[number]) for number in sorted(found))


def stage(case: Case, pods: Pods) -> int:
    """Return how many jobs have to end, one after another, before the pods come."""
    path = pods.template.path[len(case.base) :]
    for jobs in _JOBS:
        if path[: len(jobs)] == jobs:
            listed = find(case.document, jobs)
            by_name = {text_at(each, "name"): each for each in (listed if isinstance(listed, list) else ())}
            return _stage(by_name, text_at(find(case.document, path[: len(jobs) + 1]), "name"), frozenset())
    return 0


def _stage(jobs: Mapping[str, Any], name: str, seen: frozenset[str]) -> int:
    """Count along ``dependsOn`` (api/jobset/v1alpha2/jobset_types.go); a ring, which JobSet refuses, counts once."""
    waits = at(jobs.get(name), "dependsOn")
    before = [each for each in (waits if isinstance(waits, list) else ()) if text_at(each, "name") not in seen]
    return max(
        (
            _stage(jobs, text_at(each, "name"), seen | {name}) + (at(each, "status") == _ENDED)
            for each in before
            if text_at(each, "name") in jobs
        ),
        default=0,
    )

"""What a finished workload looks like, by its kind: it makes no more pods, whatever its template asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..kube.unchecked import at, list_at


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """Where in a kind's status a word stands that says so, and which words."""

    source: str
    field: tuple[str, ...]
    words: frozenset[str]


_WORDS: Final[Mapping[tuple[str, str], _Words]] = {
    ("", "Pod"): _Words(
        source="kubernetes/api core/v1/types.go PodPhase",
        field=("phase",),
        words=frozenset({"Succeeded", "Failed"}),
    ),
    ("argoproj.io", "Workflow"): _Words(
        source="argoproj/argo-workflows pkg/apis/workflow/v1alpha1/workflow_phase.go WorkflowPhase.Completed",
        field=("phase",),
        words=frozenset({"Succeeded", "Failed", "Error"}),
    ),
    # One that is Aborted may be resumed.
    ("batch.volcano.sh", "Job"): _Words(
        source="volcano-sh/volcano pkg/controllers/garbagecollector/garbagecollector.go isJobFinished",
        field=("state", "phase"),
        words=frozenset({"Completed", "Failed", "Terminated"}),
    ),
    ("ray.io", "RayJob"): _Words(
        source="ray-project/kuberay ray-operator/apis/ray/v1/rayjob_types.go IsJobDeploymentTerminal",
        field=("jobDeploymentStatus",),
        words=frozenset({"Complete", "Failed"}),
    ),
    # One that could not be submitted (SUBMISSION_FAILED) or is to run anew is tried again.
    ("sparkoperator.k8s.io", "SparkApplication"): _Words(
        source="kubeflow/spark-operator api/v1beta2/sparkapplication_types.go ApplicationStateType",
        field=("applicationState", "state"),
        words=frozenset({"COMPLETED", "FAILED"}),
    ),
    ("workload.codeflare.dev", "AppWrapper"): _Words(
        source="project-codeflare/appwrapper api/v1beta2/appwrapper_types.go AppWrapperPhase",
        field=("phase",),
        words=frozenset({"Succeeded", "Failed"}),
    ),
}
"""By group and kind."""

# Job: batch/v1 JobConditionType; JobSet: Completed; Kubeflow's: Succeeded; TrainJob: Complete
_CONDITIONS: Final = frozenset({"Complete", "Completed", "Failed", "Succeeded"})
# Of another kind, as a Deployment or a Pod, a condition of such a name would say something else.
_BY_CONDITION: Final = ("Job", "JobSet")


def is_finished(group: str, kind: str, document: Mapping[str, Any]) -> bool:
    """Tell whether an object's status says so; ``group`` and ``kind`` are apart, for items of a list lack theirs."""
    row = _WORDS.get((group, kind))
    if row is not None:
        return _is_one_of(at(document, "status", *row.field), row.words)
    conditions = list_at(document, "status", "conditions")
    return kind.endswith(_BY_CONDITION) and any(
        at(each, "status") == "True" and _is_one_of(at(each, "type"), _CONDITIONS) for each in conditions
    )


def _is_one_of(said: object, words: frozenset[str]) -> bool:
    return isinstance(said, str) and said in words

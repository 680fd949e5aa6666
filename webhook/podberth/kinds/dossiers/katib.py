"""Katib: Experiments, in which each Trial makes one workload of any kind from the same spec."""

from typing import Final

from ..dossier import Dossier, Finished
from ..places import WorkloadKind

DOSSIER: Final = Dossier(
    name="Katib",
    versions={"kubeflow/katib": "33c8ff4e, after v0.19.0"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"kubeflow.org/v1beta1"}),
            kind="Experiment",
            source="kubeflow/katib pkg/apis/controller/experiments/v1beta1/experiment_types.go TrialTemplate",
            nested=(("spec", "trialTemplate", "trialSpec"),),
        ),
    ),
    finished=(
        Finished(
            source="kubeflow/katib pkg/apis/controller/experiments/v1beta1/experiment_types.go ExperimentConditionType",
            group="kubeflow.org",
            kind="Experiment",
            words=frozenset({"Failed", "Succeeded"}),
        ),
    ),
    # kubeflow/katib pkg/controller.v1beta1/trial (SetControllerReference)
    links=frozenset({("kubeflow.org", "Trial")}),
    podless_kinds=frozenset({"kubeflow.org/v1beta1/Suggestion", "kubeflow.org/v1beta1/Trial"}),
)

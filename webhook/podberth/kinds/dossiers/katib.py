"""Facts about Katib: Experiments, whose Trials each make one workload of any kind from the Experiment's spec."""

from typing import Final

from ..dossier import Dossier, FilledIn, Finished
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
    filled_in=(
        FilledIn(
            source="kubeflow/katib pkg/controller.v1beta1/consts TrialTemplateParamReplaceFormat",
            is_own=lambda document, _path, text: document.get("kind") == "Experiment" and "${trialParameters." in text,
            later="Katib fills in this number for each Trial, so nothing of this template is checked",
        ),
    ),
    # kubeflow/katib pkg/controller.v1beta1/trial (SetControllerReference)
    links=frozenset({("kubeflow.org", "Trial")}),
    podless_kinds=frozenset({"kubeflow.org/v1beta1/Suggestion", "kubeflow.org/v1beta1/Trial"}),
)

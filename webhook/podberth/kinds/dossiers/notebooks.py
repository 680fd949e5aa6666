"""Kubeflow's Notebooks: each makes a StatefulSet with one pod."""

from typing import Any, Final

from ...kube.unchecked import mapping_at
from ..dossier import Dossier
from ..jobs import stamp_stateful_set
from ..places import PLACEHOLDER_UID, Form, Scene, TemplatePlace, WorkloadKind
from ..stamping import add_annotations, add_labels, own


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write on a pod what generateStatefulSet writes.

    Source: components/notebook-controller/controllers/notebook_controller.go.
    """
    for key, add in (("labels", add_labels), ("annotations", add_annotations)):
        said = mapping_at(scene.document, "metadata", key)
        kept = {name: value for name, value in said.items() if isinstance(value, str) and "kubectl" not in name}
        add(pod, kept)
    add_labels(pod, {"statefulset": scene.name, "notebook-name": scene.name})
    own(pod, "apps/v1", "StatefulSet", scene.name, PLACEHOLDER_UID)
    stamp_stateful_set(pod, scene.name, {})


_NOTEBOOK: Final = Form(seats=((("spec",), ("spec",)),))
"""The form of a NotebookTemplateSpec, which has a spec and no metadata."""


DOSSIER: Final = Dossier(
    name="Notebook",
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"kubeflow.org/v1", "kubeflow.org/v1beta1", "kubeflow.org/v1alpha1"}),
            kind="Notebook",
            source="kubeflow/kubeflow components/notebook-controller/api/v1/notebook_types.go",
            places=(TemplatePlace(path=("spec", "template"), form=_NOTEBOOK, stamp=_stamp),),
        ),
    ),
    # kubeflow/notebooks workspaces/controller: a Workspace chooses among the parts of pods in its WorkspaceKind
    podless_kinds=frozenset({"kubeflow.org/v1beta1/Workspace", "kubeflow.org/v1beta1/WorkspaceKind"}),
)

"""Facts about Kubeflow's Notebooks: each makes a StatefulSet with one pod."""

from typing import Any, Final

from ...kube.unchecked import mapping_at
from ..dossier import Dossier
from ..jobs import stamp_stateful_set
from ..places import PLACEHOLDER_UID, Form, Scene, TemplatePlace, WorkloadKind
from ..stamping import add_annotations, add_labels


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that generateStatefulSet writes.

    Source: components/notebook-controller/controllers/notebook_controller.go.
    """
    add_labels(pod, {"statefulset": scene.name, "notebook-name": scene.name, **_texts(scene, "labels")})
    annotations = _texts(scene, "annotations")
    add_annotations(
        pod, {key: value for key, value in annotations.items() if "kubectl" not in key and "notebook" not in key}
    )
    stamp_stateful_set(pod, scene.name, PLACEHOLDER_UID, {})


def _texts(scene: Scene, key: str) -> dict[str, str]:
    """Return the mapping ``key`` (labels or annotations) in the metadata of the Notebook object itself."""
    said = mapping_at(scene.document, "metadata", key)
    return {name: value for name, value in said.items() if isinstance(value, str)}


_NOTEBOOK: Final = Form(seats=((("spec",), ("spec",)),))
"""The ``Form`` of a NotebookTemplateSpec, which has a spec and no metadata."""


DOSSIER: Final = Dossier(
    name="Notebook",
    versions={"kubeflow/notebooks": "v1.11.0"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"kubeflow.org/v1", "kubeflow.org/v1beta1", "kubeflow.org/v1alpha1"}),
            kind="Notebook",
            source="kubeflow/notebooks components/notebook-controller/api/v1/notebook_types.go",
            places=(TemplatePlace(path=("spec", "template"), form=_NOTEBOOK, stamp=_stamp),),
        ),
    ),
    # kubeflow/notebooks workspaces/controller: a Workspace chooses among the parts of pods in its WorkspaceKind
    podless_kinds=frozenset({"kubeflow.org/v1beta1/Workspace", "kubeflow.org/v1beta1/WorkspaceKind"}),
)

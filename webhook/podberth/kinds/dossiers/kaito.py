"""Facts about KAITO: Workspaces and InferenceSets, whose pods are made from a preset or from the user's own template.

The pods of a preset have no template: KAITO sizes the pods for the model and the nodes' instance type.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from ...kube.paths import Path
from ...kube.unchecked import at, count, mapping_at, text
from ..dossier import Dossier
from ..jobs import stamp_stateful_set
from ..name_sets import under
from ..places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Scene, TemplatePlace, WorkloadKind, spec_replicas
from ..stamping import add_labels

_SOURCE: Final = "kaito-project/kaito api/{v1alpha1,v1beta1}"
_VERSIONS: Final = frozenset({"kaito.sh/v1alpha1", "kaito.sh/v1beta1"})


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that KAITO writes, except tolerations; the workspace's node labels replace all affinity.

    Source: pkg/workspace/manifests/manifests.go GenerateManifestWithPodTemplate.
    """
    of_set = scene.path[0] == "spec"
    name = f"{scene.name}-{PLACEHOLDER_HASH}" if of_set else scene.name
    labels = mapping_at(scene.document, "spec" if of_set else "resource", "labelSelector", "matchLabels")
    terms = [{"key": str(key), "operator": "In", "values": [text(value)]} for key, value in labels.items()]
    pod["spec"].pop("affinity", None)
    if terms:
        required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
        pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    add_labels(pod, {"kaito.sh/workspace": name})
    stamp_stateful_set(pod, name, PLACEHOLDER_UID, {})


def _affinity(scene: Scene) -> Iterator[tuple[Path, str]]:
    where = "spec" if scene.path[0] == "spec" else "resource"
    yield ("spec", "affinity"), f"KAITO makes it of {where}.labelSelector; change it there"


def _nodes(scene: Scene) -> int:
    return count(at(scene.document, "resource", "count"), 1)


def _place(*path: str, replicas: Callable[[Scene], int]) -> TemplatePlace:
    return TemplatePlace(path=path, stamp=_stamp, optional=True, replicas=replicas, fixed=_affinity)


DOSSIER: Final = Dossier(
    name="KAITO",
    versions={"kaito-project/kaito": "056b8280, after v0.12.0"},
    kinds=(
        WorkloadKind(
            api_versions=_VERSIONS,
            kind="Workspace",
            source=f"{_SOURCE}/workspace_types.go",
            places=(_place("inference", "template", replicas=_nodes),),
        ),
        WorkloadKind(
            api_versions=_VERSIONS,
            kind="InferenceSet",
            source=f"{_SOURCE}/inferenceset_types.go, pkg/utils/inferenceset/inferenceset.go",
            places=(_place("spec", "template", "inference", "template", replicas=spec_replicas),),
        ),
    ),
    # kaito-project/kaito pkg/ragengine/manifests: a RAGEngine has no template
    podless_kinds=frozenset(
        {
            *under("kaito.sh/v1alpha1", "ModelMirror MultiRoleInference RAGEngine"),
            *under("kaito.sh/v1beta1", "RAGEngine"),
        }
    ),
)

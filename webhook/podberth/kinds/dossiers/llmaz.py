"""Facts about llmaz: Services, each of which is a LeaderWorkerSet, and Playgrounds, from which llmaz makes Services.

The pods of a Playground have no template of the user: a BackendRuntime states the containers.
"""

from typing import Any, Final

from ...kube.unchecked import mapping_at
from ..dossier import Dossier
from ..leader_workers import group_places, group_size, predicted_group, stamp_group
from ..name_sets import under
from ..places import Found, Scene, WorkloadKind
from ..roles import Predicted, read_once


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    stamp_group(pod, scene.name, group_size(scene), leader=scene.path[-1] == "leaderTemplate")


def _group(scene: Scene) -> Found:
    return read_once(scene.document, _group_of)


def _group_of(service: Found) -> Predicted:
    return predicted_group(service, mapping_at(service, "spec", "workloadTemplate"), startupPolicy="LeaderReady")


DOSSIER: Final = Dossier(
    name="llmaz",
    versions={"InftyAI/llmaz": "3c13ff34, after v0.1.4"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"inference.llmaz.io/v1alpha1"}),
            kind="Service",
            source="InftyAI/llmaz api/inference/v1alpha1/service_types.go, "
            "pkg/controller/inference/service_controller.go buildWorkloadApplyConfiguration",
            places=tuple(group_places("spec", "workloadTemplate", stamp=_stamp, owner=_group)),
        ),
    ),
    podless_groups=frozenset({"llmaz.io"}),
    podless_kinds=under("inference.llmaz.io/v1alpha1", "BackendRuntime Playground"),
)

"""Kthena: ModelServings, whose groups have roles with an entry pod and workers."""

from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import count, text
from ..dossier import Dossier
from ..places import Place, Scene, WorkloadKind, item_replicas, spec_replicas
from ..stamping import add_labels, owned_by_workload, set_name


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Write what pods of the first group's first role get (volcano-sh/kthena pkg/apis/workload/v1alpha1/labels.go)."""
    group, role = f"{scene.name}-0", scene.key
    entry = scene.path[-1] == "entryTemplate"
    labels = {"name": scene.name, "group-name": group, "role": role, "role-id": f"{role}-0"}
    add_labels(pod, {f"modelserving.volcano.sh/{key}": value for key, value in labels.items()})
    if entry:
        add_labels(pod, {"modelserving.volcano.sh/entry": "true"})
    owned_by_workload(pod, scene)
    set_name(pod, f"{group}-{role}-0-{0 if entry else 1}")
    scheduler = text(scene.spec.get("schedulerName")) or "volcano"
    pod["spec"]["schedulerName"] = pod["spec"].get("schedulerName") or scheduler


def _entries(scene: Scene) -> int:
    return item_replicas(scene) * spec_replicas(scene)


def _entry_workers(scene: Scene) -> int:
    return _entries(scene) * count(scene.item.get("workerReplicas"), 0)


_ROLES: Final = ("spec", "template", "roles", ELEMENT)

DOSSIER: Final = Dossier(
    name="Kthena",
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"workload.serving.volcano.sh/v1alpha1"}),
            kind="ModelServing",
            source="volcano-sh/kthena pkg/apis/workload/v1alpha1/{model_serving,servinggroup}_types.go",
            places=(
                Place(path=(*_ROLES, "entryTemplate"), stamp=_stamp, replicas=_entries),
                Place(path=(*_ROLES, "workerTemplate"), stamp=_stamp, replicas=_entry_workers, optional=True),
            ),
        ),
    ),
    podless_groups=frozenset({"networking.serving.volcano.sh"}),
    podless_kinds=frozenset(
        {
            "workload.serving.volcano.sh/v1alpha1/AutoscalingPolicy",
            "workload.serving.volcano.sh/v1alpha1/AutoscalingPolicyBinding",
        }
    ),
)

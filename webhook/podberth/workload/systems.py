"""Group systems: who places a pod's group as a whole, recognised by what the pod itself carries.

One row for a system, the most decisive first. Recognising one too many costs the pod a preference of ours; one too few
puts affinity into a group that its own system has to place (docs/rules.md, rule 2). So a row has every key that speaks
for its system. What podberth does for a system's pods is decided elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

NATIVE: Final = "native"
PLAIN: Final = "plain"
"""No group system: whatever the scheduler is called, it places pod by pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A group system and what a pod of it carries; one sign is enough.

    ``owner_labels`` are labels of the pod's owners, ``fields`` of its spec.
    """

    name: str
    source: str
    schedulers: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    owner_labels: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()


def _under(domain: str, *names: str) -> frozenset[str]:
    return frozenset(f"{domain}/{name}" for name in names)


_KUEUE_PLACEMENT: Final = _under(
    "kueue.x-k8s.io",
    "podset-required-topology",
    "podset-preferred-topology",
    "podset-unconstrained-topology",
    "podset-slice-required-topology",
    "podset-slice-size",
    "podset-group-name",
)

SYSTEMS: Final[tuple[System, ...]] = (
    System(
        name=NATIVE,
        # workloadRef is 1.35's field, schedulingGroup that of 1.36 and later
        source="kubernetes/api core/v1/types.go PodSpec.SchedulingGroup; KEP-4671",
        fields=frozenset({"schedulingGroup", "workloadRef"}),
    ),
    System(
        name="kueue",
        source="kubernetes-sigs/kueue pkg/controller/constants, pkg/controller/jobs/pod/constants",
        labels=_under("kueue.x-k8s.io", "queue-name", "managed", "pod-group-name", "podset", "tas"),
        annotations=_under(
            "kueue.x-k8s.io", "queue-name", "pod-group-name", "pod-group-total-count", "workload", "role-hash"
        )
        | _KUEUE_PLACEMENT,
        owner_labels=_under("kueue.x-k8s.io", "queue-name"),
    ),
    System(
        name="volcano",
        source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/{scheduling/v1beta1,batch/v1alpha1}/labels.go",
        schedulers=frozenset({"volcano"}),
        labels=_under("volcano.sh", "job-name"),
        annotations=_under("scheduling.volcano.sh", "group-name", "group-min-member")
        | _under("volcano.sh", "job-name", "network-topology-mode", "network-topology-highest-tier")
        | {"scheduling.k8s.io/group-name"},
    ),
    System(
        name="kai",
        source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go",
        schedulers=frozenset({"kai-scheduler"}),
        labels=_under("kai.scheduler", "queue", "subgroup-name"),
        annotations=_under("kai.scheduler", "skip-podgrouper", "topology", "batch-min-member"),
    ),
    System(
        name="koordinator",
        source="koordinator-sh/koordinator apis/extension/coscheduling.go",
        schedulers=frozenset({"koord-scheduler"}),
        annotations=_under("gang.scheduling.koordinator.sh", "name"),
        labels=_under("pod-group.scheduling.sigs.k8s.io", "name"),
    ),
    System(
        # Koordinator reads the same label: its scheduler's name stands above.
        name="coscheduling",
        source="kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go PodGroupLabel",
        labels=_under("scheduling.x-k8s.io", "pod-group"),
    ),
    System(
        name="yunikorn",
        source="apache/yunikorn-k8shim pkg/common/constants/constants.go",
        schedulers=frozenset({"yunikorn"}),
        labels=_under("yunikorn.apache.org", "app-id", "queue"),
        annotations=_under("yunikorn.apache.org", "task-group-name", "task-groups"),
    ),
)

# The rows turned over, so that the cost is the number of keys on the pod: key -> rank of its system.
_BY_SCHEDULER: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.schedulers}
_BY_LABEL: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.labels}
_BY_ANNOTATION: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.annotations}
_BY_OWNER_LABEL: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.owner_labels}
_BY_FIELD: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.fields}


def system_of(
    spec: Mapping[str, Any],
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    owner_labels: Iterable[str] = (),
) -> str:
    """Return the system that places the pod's group; ``owner_labels`` are the label keys of the pod's owners."""
    ranks = [_BY_LABEL[key] for key in labels if key in _BY_LABEL]
    ranks += [_BY_ANNOTATION[key] for key in annotations if key in _BY_ANNOTATION]
    ranks += [_BY_OWNER_LABEL[key] for key in owner_labels if key in _BY_OWNER_LABEL]
    ranks += [rank for field, rank in _BY_FIELD.items() if spec.get(field)]
    scheduler = spec.get("schedulerName")
    if scheduler in _BY_SCHEDULER:
        ranks.append(_BY_SCHEDULER[scheduler])
    return SYSTEMS[min(ranks)].name if ranks else PLAIN

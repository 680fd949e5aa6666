"""Group systems: who places a pod's group as a whole, recognised by what the pod itself carries.

Recognising one too many costs the pod a preference of ours; one too few puts affinity into a group that its own system
has to place (docs/rules.md, rule 2). So a dossier has every key that speaks for its system. What podberth does for a
system's pods is decided elsewhere.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.systems import System

SYSTEMS: Final[tuple[System, ...]] = tuple(
    sorted((row.system for row in DOSSIERS if row.system is not None), key=lambda each: each.precedence)
)
"""The most decisive first."""
NATIVE: Final = "native"
NO_SYSTEM: Final = System(
    name="plain",
    precedence=len(SYSTEMS) + 1,
    title="kube-scheduler, or any other that places pod by pod",
    source="kubernetes/api core/v1/types.go Affinity; kubernetes pkg/scheduler/framework/plugins/interpodaffinity",
    reads=("`spec.affinity`", "`spec.nodeSelector`", "`spec.tolerations`"),
    writes="label `podberth.io/gang`, annotation `podberth.io/gang-size`; of members with GPUs `spec.affinity`",
    elsewhere=(),
    topology="nothing: it is written on the pod",
)
"""What is true of pods of none of ``SYSTEMS``: whoever the scheduler is, it places them one by one."""
PLAIN: Final = NO_SYSTEM.name

ACCOUNTING: Final = frozenset(row.name for row in SYSTEMS if row.keeps)
"""These hash, copy or account pod specs before podberth's next answer: what differs between two snapshots would split
the group."""
JOINED: Final = {row.name: row for row in SYSTEMS if row.pod_groups}
"""Those whose group a policy may choose for a gang, by name."""

# The systems turned over, so that the cost is the number of keys on the pod: key -> rank of its system.
_BY_SCHEDULER: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.schedulers}
_BY_LABEL: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.labels}
_BY_ANNOTATION: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.annotations}
_BY_OWNER_LABEL: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.owner_labels}
OWNER_LABELS: Final = frozenset(_BY_OWNER_LABEL)
"""The label keys of owners that tell a system."""
_BY_FIELD: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.fields}
_RANKS: Final = {row.name: rank for rank, row in enumerate(SYSTEMS)}


def more_decisive(system: str, other: str) -> str:
    """Return which of two systems, or of one and none, has a pod's group."""
    return min(system, other, key=lambda each: _RANKS.get(each, len(SYSTEMS)))


def system_of(
    spec: Mapping[str, Any], labels: Mapping[str, str], annotations: Mapping[str, str], owner_labels: Iterable[str] = ()
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

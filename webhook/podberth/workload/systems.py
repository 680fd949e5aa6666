"""Recognises the group system of a pod: the scheduler or queue that places the pod's group as a whole.

A pod that is wrongly assigned to a system only lacks a preference that podberth would have written. To miss a pod's
system is worse: podberth writes affinity on the pod, although the system has to place it (docs/rules.md, rule 2). So a
dossier lists every key by which the pods of its system are recognised.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.systems import System

SYSTEMS: Final[tuple[System, ...]] = tuple(
    sorted((row.system for row in DOSSIERS if row.system is not None), key=lambda each: each.precedence)
)
"""The group systems of all dossiers. If a pod has signs of several systems, the first in this order places the pod."""
NATIVE: Final = "native"
NO_SYSTEM: Final = System(
    name="plain",
    precedence=len(SYSTEMS) + 1,
    title="kube-scheduler, or any other that places pod by pod",
    source="kubernetes/api core/v1/types.go Affinity; "
    "kubernetes/kubernetes pkg/scheduler/framework/plugins/interpodaffinity",
    reads=("`spec.affinity`", "`spec.nodeSelector`", "`spec.tolerations`"),
    writes="label `podberth.io/gang`, annotation `podberth.io/gang-size`; of members with GPUs `spec.affinity`",
    elsewhere=(),
    topology="nothing: it is written on the pod",
)
"""The facts for pods that belong to none of ``SYSTEMS``: a scheduler places such pods one by one."""
PLAIN: Final = NO_SYSTEM.name

ACCOUNTING: Final = frozenset(row.name for row in SYSTEMS if row.keeps)
"""The names of the systems that hash, copy or account pod specs.

A system of this set needs equal pods in a group, although podberth's snapshot may change between two pods.
"""
BY_NAME: Final = {row.name: row for row in SYSTEMS}
"""The group systems by name."""
JOINED: Final = {row.name: row for row in SYSTEMS if row.pod_groups}
"""The group systems that a policy may choose for a gang, by name."""

AFFINITY_KEYS: Final = tuple(sorted(each for row in DOSSIERS for each in row.affinity_keys))
"""Annotations by which an operator's webhook keeps pods in one domain; some of the webhooks run after podberth's
webhook.
"""

# The rank of a key's system in SYSTEMS. With these tables, the cost of a look-up depends on the pod's keys alone.
_BY_SCHEDULER: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.schedulers}
_BY_LABEL: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.labels}
_BY_ANNOTATION: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.annotations}
_BY_OWNER_LABEL: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.owner_labels}
OWNER_LABELS: Final = frozenset(_BY_OWNER_LABEL)
"""The keys of owner labels that are a sign of a system."""
_BY_FIELD: Final = {key: rank for rank, row in enumerate(SYSTEMS) for key in row.fields}
_RANKS: Final = {row.name: rank for rank, row in enumerate(SYSTEMS)}


def is_accounted(system: str, pod: Mapping[str, Any]) -> bool:
    """Return whether a group system hashes, copies or counts fields of ``pod`` before the pod is created.

    The pods of a group have to be equal in these fields.
    """
    return system in ACCOUNTING and BY_NAME[system].keeps_of(pod)


def more_decisive(system: str, other: str) -> str:
    """Return which of two recognised systems places a pod's group: the first of both in SYSTEMS.

    The name for "no system", which both arguments may have, comes last.
    """
    return min(system, other, key=lambda each: _RANKS.get(each, len(SYSTEMS)))


def system_of(
    spec: Mapping[str, Any], labels: Mapping[str, str], annotations: Mapping[str, str], owner_labels: Iterable[str] = ()
) -> str:
    """Return the name of the group system that places a pod's group; ``plain`` if no group system is recognised.

    If several are recognised, the first in SYSTEMS is used. ``owner_labels`` are the label keys of the pod's owners.
    """
    ranks = [_BY_LABEL[key] for key in labels if key in _BY_LABEL]
    ranks += [_BY_ANNOTATION[key] for key in annotations if key in _BY_ANNOTATION]
    ranks += [_BY_OWNER_LABEL[key] for key in owner_labels if key in _BY_OWNER_LABEL]
    ranks += [rank for field, rank in _BY_FIELD.items() if spec.get(field)]
    scheduler = spec.get("schedulerName")
    if scheduler in _BY_SCHEDULER:
        ranks.append(_BY_SCHEDULER[scheduler])
    return SYSTEMS[min(ranks)].name if ranks else PLAIN

"""The pod fields that make a pod a member of a gang or a PodGroup, and the known facts about gang and PodGroup."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..kube.patch import Draft
from ..kube.paths import Path
from ..topology.pod_groups import GroupKey
from ..wellknown import COLOCATED_LABEL, GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from ..workload.gangs import NO_GANG, Gang
from ..workload.systems import JOINED, NATIVE

SCHEDULING_GROUP = ("spec", "schedulingGroup")
LABEL = ("metadata", "labels", GANG_LABEL)
SIZE = ("metadata", "annotations", GANG_SIZE_ANNOTATION)
ACCELERATED = ("metadata", "annotations", GANG_ACCELERATED_ANNOTATION)
REFERENCES: Final[Mapping[str, tuple[str, ...]]] = {name: row.reference for name, row in JOINED.items()}
"""The field in which a pod names its PodGroup, by group system (``workload.systems``), the system with the highest
precedence first."""
GROUPED: Final[tuple[tuple[str, ...], ...]] = (
    *REFERENCES.values(),
    *(path for row in JOINED.values() for path in row.other_references),
)
"""All fields in which a pod names a group of a system in REFERENCES."""
MEMBERSHIP: Mapping[str, Path] = {
    "label": LABEL,
    "size": SIZE,
    "accelerated": ACCELERATED,
    "schedulingGroup": REFERENCES[NATIVE],
    **{name: path for name, path in REFERENCES.items() if name != NATIVE},
}
"""The pod fields that the mutation ``gang`` may write, by the fields' names in the record."""
REQUIRED_AFFINITY = ("spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
VISITS = (SCHEDULING_GROUP, LABEL, SIZE, ACCELERATED, *GROUPED[1:], REQUIRED_AFFINITY)
"""The pod fields that the mutation ``gang`` reads or writes for any policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangFacts:
    """The known facts about a pod's gang, and about the groups that the gang may join."""

    gang: Gang = NO_GANG
    is_accelerated: bool = True
    """Whether the pod itself asks for accelerators."""
    namespace: str = ""
    native: frozenset[str] = frozenset()
    """The names of the native PodGroups in the pod's namespace."""
    groups: Collection[GroupKey] = field(default=frozenset())
    """The known PodGroups of all group systems."""
    minimum: int = 0
    """The minimum size of the native PodGroup with the gang's name; 0 if there is no such group, or no minimum."""
    served: frozenset[str] = frozenset()
    """The API groups whose PodGroup kind the cluster serves."""
    sized_by_owner: str = ""
    """The gang's name if an owner states the gang's size and ``controller`` reads that owner; else empty."""

    def group_of(self, name: str) -> str:
        """Return the group system that has a PodGroup called ``name`` in the pod's namespace; else empty."""
        if name in self.native:
            return NATIVE
        own = (system for system, row in JOINED.items() if (row.pod_groups, self.namespace, name) in self.groups)
        return next(own, "")


NOTHING_KNOWN: Final = GangFacts()


def draws(term: Mapping[str, Any]) -> bool:
    """Return whether a pod affinity term is podberth's own: it attracts the pod to other members of the pod's gang."""
    return COLOCATED_LABEL in ((term.get("labelSelector") or {}).get("matchLabels") or {})


def is_made_of_members(draft: Draft, known: GangFacts) -> bool:
    """Return whether ``podberth controller`` creates the pod's native PodGroup from the fields of the group's members.

    True even if the group exists: it may belong to a deleted workload, and be deleted with that workload.
    """
    group = draft.get(REFERENCES[NATIVE])
    sized = draft.get(SIZE) is not None or known.sized_by_owner == group
    return bool(group) and draft.get(LABEL) == group and sized

"""The fields that make a pod a member of a gang and of a group, and the known facts about both."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..kube.patch import Draft, Path
from ..topology.pod_groups import GroupKey
from ..wellknown import COLOCATED_LABEL, GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from ..workload.gangs import NO_GANG, Gang
from ..workload.systems import JOINED, NATIVE

SCHEDULING_GROUP = ("spec", "schedulingGroup")
LABEL = ("metadata", "labels", GANG_LABEL)
SIZE = ("metadata", "annotations", GANG_SIZE_ANNOTATION)
ACCELERATED = ("metadata", "annotations", GANG_ACCELERATED_ANNOTATION)
REFERENCES: Final[Mapping[str, tuple[str, ...]]] = {name: row.reference for name, row in JOINED.items()}
"""The field in which a pod names its PodGroup, by group system (``workload.systems``), the most decisive first."""
GROUPED: Final[tuple[tuple[str, ...], ...]] = (
    *REFERENCES.values(),
    *(path for row in JOINED.values() for path in row.other_references),
)
"""All fields in which a pod names a group of such a system."""
MEMBERSHIP: Mapping[str, Path] = {
    "label": LABEL,
    "size": SIZE,
    "accelerated": ACCELERATED,
    "schedulingGroup": REFERENCES[NATIVE],
    **{name: path for name, path in REFERENCES.items() if name != NATIVE},
}
"""The fields that a membership may write, by their names in the record."""
REQUIRED_AFFINITY = ("spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
VISITS = (SCHEDULING_GROUP, LABEL, SIZE, ACCELERATED, *GROUPED[1:], REQUIRED_AFFINITY)
"""The fields that a membership reads and writes for any policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangFacts:
    """The known facts about a pod's gang, and about the groups that the gang may join."""

    gang: Gang = NO_GANG
    is_accelerated: bool = True
    """Whether the pod itself asks for accelerators."""
    namespace: str = ""
    native: frozenset[str] = frozenset()
    """Names of the native PodGroups in the namespace."""
    groups: Collection[GroupKey] = field(default=frozenset())
    """PodGroups of all systems."""
    minimum: int = 0
    """The minimum of the native PodGroup with the gang's name; 0 if there is no such group, or it has no minimum."""
    served: frozenset[str] = frozenset()
    """API groups whose PodGroups the cluster serves."""
    sized_by_owner: str = ""
    """The gang's name if an owner states its size and the maker of the group looks up that owner; else empty."""

    def group_of(self, name: str) -> str:
        """Return the system that has a PodGroup with this name in the namespace; empty if none has."""
        if name in self.native:
            return NATIVE
        own = (system for system, row in JOINED.items() if (row.pod_groups, self.namespace, name) in self.groups)
        return next(own, "")


NOTHING_KNOWN: Final = GangFacts()


def draws(term: Mapping[str, Any]) -> bool:
    """Tell whether a term of pod affinity is podberth's, which attracts the pod to its gang."""
    return COLOCATED_LABEL in ((term.get("labelSelector") or {}).get("matchLabels") or {})


def is_made_of_members(draft: Draft, known: GangFacts) -> bool:
    """Tell whether the pod is in a native PodGroup that podberth makes from its members' fields.

    The group need not exist yet. An existing group counts, too: if its owner was deleted, it will be deleted, and a
    workload that starts again under the same name needs a new one.
    """
    group = draft.get(REFERENCES[NATIVE])
    sized = draft.get(SIZE) is not None or known.sized_by_owner == group
    return bool(group) and draft.get(LABEL) == group and sized

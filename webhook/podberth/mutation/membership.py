"""The fields by which a pod is a member of a gang and of a group, and the facts that are known of both."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..kube.patch import Draft, Path
from ..topology.pod_groups import GroupKey
from ..wellknown import COLOCATED_LABEL, GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from ..workload.systems import JOINED, NATIVE, PLAIN

SCHEDULING_GROUP = ("spec", "schedulingGroup")
LABEL = ("metadata", "labels", GANG_LABEL)
SIZE = ("metadata", "annotations", GANG_SIZE_ANNOTATION)
ACCELERATED = ("metadata", "annotations", GANG_ACCELERATED_ANNOTATION)
REFERENCES: Mapping[str, tuple[str, ...]] = {
    NATIVE: (*SCHEDULING_GROUP, "podGroupName"),
    "coscheduling": ("metadata", "labels", "scheduling.x-k8s.io/pod-group"),
    "koordinator": ("metadata", "labels", "pod-group.scheduling.sigs.k8s.io"),
}
"""The field in which a pod names its PodGroup, by group system (``workload.systems``)."""
# Koordinator's own ways of naming a gang without a PodGroup (its apis/extension/coscheduling.go).
GROUPED = (
    *REFERENCES.values(),
    ("spec", "workloadRef"),  # what schedulingGroup was in 1.35 (kubernetes/api core/v1/types.go WorkloadReference)
    ("metadata", "labels", "pod-group.scheduling.sigs.k8s.io/name"),
    ("metadata", "annotations", "gang.scheduling.koordinator.sh/name"),
)
MEMBERSHIP: Mapping[str, Path] = {
    "label": LABEL,
    "size": SIZE,
    "accelerated": ACCELERATED,
    "schedulingGroup": REFERENCES[NATIVE],
    "coscheduling": REFERENCES["coscheduling"],
    "koordinator": REFERENCES["koordinator"],
}
"""The fields that a membership may write, by their names in the record."""
REQUIRED_AFFINITY = ("spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
VISITS = (SCHEDULING_GROUP, LABEL, SIZE, ACCELERATED, *GROUPED[1:], REQUIRED_AFFINITY)
"""The fields that a membership reads and writes for any policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangFacts:
    """The facts that are known of a pod's gang, and of the groups that it may join."""

    name: str = ""
    size: int = 0
    apart: int = 0
    """How many of ``size`` ask for accelerators, if it is known that not all do; else 0."""
    is_accelerated: bool = True
    """Whether the pod itself asks for accelerators."""
    system: str = PLAIN
    """The group system that places the pod."""
    index: int = -1
    """The pod's number within its role; -1: unknown."""
    role: str = ""
    namespace: str = ""
    native: frozenset[str] = frozenset()
    """Names of the native PodGroups in the namespace."""
    groups: Collection[GroupKey] = field(default=frozenset())
    """PodGroups of all systems."""
    by_role: bool = False
    """Whether an owner says what each role asks for; the owner may be known, or yet to be looked up."""
    minimum: int = 0
    """How many pods the native PodGroup of the gang's name wants; 0: there is none, or it does not say."""
    served: frozenset[str] = frozenset()
    """API groups whose PodGroups the cluster serves."""
    staged: str = ""
    """The field because of which some members are made only when others run; empty if none is known."""
    sized_by_owner: str = ""
    """The gang's name if an owner says its size, and the maker of the group looks that owner up; else empty."""

    def group_of(self, name: str) -> str:
        """Return the system that has a PodGroup of that name in the namespace; empty: none has."""
        if name in self.native:
            return NATIVE
        own = (system for system, row in JOINED.items() if (row.pod_groups, self.namespace, name) in self.groups)
        return next(own, "")


NOTHING_KNOWN: Final = GangFacts()


def draws(term: Mapping[str, Any]) -> bool:
    """Tell whether podberth wrote a term of pod affinity, to attract the pod to its gang."""
    return COLOCATED_LABEL in ((term.get("labelSelector") or {}).get("matchLabels") or {})


def is_made_of_members(draft: Draft, known: GangFacts) -> bool:
    """Tell whether the pod is in a native PodGroup that is made from its members' fields, whether it exists or not.

    An existing one may be about to go, if its owner was deleted: a workload that starts again under the same name
    needs the next one.
    """
    group = draft.get(REFERENCES[NATIVE])
    sized = draft.get(SIZE) is not None or known.sized_by_owner == group
    return bool(group) and draft.get(LABEL) == group and sized

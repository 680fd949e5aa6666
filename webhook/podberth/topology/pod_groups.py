"""Reads the PodGroups of all group systems, and the smallest number of pods that each PodGroup starts together.

The PodGroups of different systems have only the name of the kind in common. This module does not read which pods are in
a PodGroup.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ..devices.claims import ClaimNames
from ..kinds.dossiers import DOSSIERS
from ..kinds.systems import NATIVE_GROUP, POD_GROUPS, PodGroupKind
from ..kube.unchecked import at, list_at, mapping_at, text_at

GroupKey: TypeAlias = tuple[str, str, str]
"""API group, namespace and name of a PodGroup."""

POD_GROUP_KINDS: Final[tuple[PodGroupKind, ...]] = tuple(
    row.pod_groups for row in DOSSIERS if row.pod_groups is not None
)
POD_GROUP_GROUPS: Final = frozenset(each.api_groups[0] for each in POD_GROUP_KINDS)
"""The API groups whose PodGroups podberth reads."""


class PodGroup(NamedTuple):
    """The facts of a PodGroup that podberth keeps."""

    size: int
    """The smallest number of pods that the group starts together; 0: the group states none."""
    claims: ClaimNames = frozenset()
    """The claims that the pods of a native PodGroup share."""
    asks_topology: bool = False
    """Whether the PodGroup, or a part of it, asks the group system for topology."""


# int32 throughout.
_LARGEST: Final = 2**31 - 1


def min_member(api_group: str, document: Mapping[str, Any]) -> int:
    """Return the smallest number of pods that a PodGroup starts together; 0 if absent or invalid.

    The result for a minimum of 1 is 0, too, because a minimum of 1 does not show how many pods there are.
    """
    native = api_group == NATIVE_GROUP
    found = at(document, "spec", *(("schedulingPolicy", "gang", "minCount") if native else ("minMember",)))
    return found if type(found) is int and 1 < found <= _LARGEST else 0


def asks_topology(api_group: str, document: Mapping[str, Any]) -> bool:
    """Return whether a PodGroup, or a group inside it, requests topology-aware placement by the group system."""
    spec = mapping_at(document, "spec")
    for kind in POD_GROUP_KINDS:
        if api_group in kind.api_groups and kind.asked:
            return any(bool(at(each, kind.asked)) for each in (spec, *list_at(spec, kind.parts)))
    return False


def served_pod_groups(discovery: Mapping[str, Any]) -> str:
    """Return the API group of an APIResourceList if it lists a PodGroup kind that podberth reads; else empty.

    ``kubectl get --raw /apis/scheduling.k8s.io/v1beta1`` prints an APIResourceList (meta/v1).
    """
    group = text_at(discovery, "groupVersion").rpartition("/")[0]
    served = any(at(each, "name") == POD_GROUPS for each in list_at(discovery, "resources"))
    return group if served and group in POD_GROUP_GROUPS else ""

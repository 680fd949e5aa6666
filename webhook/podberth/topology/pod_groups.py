"""PodGroups of the systems that have them: which there are, and how many pods each lets start at the least.

The groups of different systems have nothing in common but the kind's name. Which pods are in one is
``workload.groups``' to say.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ..devices.claims import ClaimNames

NATIVE_GROUP: Final = "scheduling.k8s.io"

GroupKey: TypeAlias = tuple[str, str, str]
"""API group, namespace and name of a PodGroup."""

POD_GROUP_GROUPS: Final = frozenset(
    {
        # An object of its own since 1.36: v1alpha2, then v1alpha3 and v1beta1 in 1.37 (kubernetes/api scheduling).
        NATIVE_GROUP,
        # volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1/types.go
        "scheduling.volcano.sh",
        # kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go
        "scheduling.x-k8s.io",
        # koordinator-sh/koordinator apis/thirdparty/scheduler-plugins/pkg/apis/scheduling/v1alpha1/types.go
        "scheduling.sigs.k8s.io",
        # kai-scheduler/KAI-Scheduler pkg/apis/scheduling/v2alpha2/podgroup_types.go
        "scheduling.run.ai",
    }
)
"""API groups whose PodGroups are read."""

PLURAL: Final = "podgroups"
"""What all of them call it in discovery."""


class PodGroup(NamedTuple):
    """What is known of a PodGroup."""

    size: int
    """As ``min_member`` says."""
    claims: ClaimNames = frozenset()
    """What its pods share, of a native one."""


# int32 throughout.
_LARGEST: Final = 2**31 - 1


def min_member(api_group: str, document: Mapping[str, Any]) -> int:
    """Return how many pods a PodGroup lets start together at the least; 0 where it does not say.

    A minimum of one says nothing of how many pods there are, and counts as none.
    """
    spec = _object(document.get("spec"))
    if api_group == NATIVE_GROUP:
        found = _object(_object(spec.get("schedulingPolicy")).get("gang")).get("minCount")
    else:
        found = spec.get("minMember")
    return found if type(found) is int and 1 < found <= _LARGEST else 0


def served_pod_groups(discovery: Mapping[str, Any]) -> frozenset[str]:
    """Return the API group that an APIResourceList is of, where its resources have PodGroups that are read.

    It is what ``kubectl get --raw /apis/scheduling.k8s.io/v1beta1`` prints (meta/v1 APIResourceList).
    """
    group_version, resources = discovery.get("groupVersion"), discovery.get("resources")
    group = group_version.rpartition("/")[0] if isinstance(group_version, str) else ""
    listed = resources if isinstance(resources, list) else []
    served = any(_object(each).get("name") == PLURAL for each in listed)
    return frozenset({group}) if served and group in POD_GROUP_GROUPS else frozenset()


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

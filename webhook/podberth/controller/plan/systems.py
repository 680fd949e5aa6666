"""The systems whose PodGroups podberth makes, and all fields by which a pod names a PodGroup. One row for each.

``mutation.gang`` writes the fields of a row at admission; a row here reads the same ones.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ...kube.pod import annotations, labels, spec
from ...topology.pod_groups import NATIVE_GROUP, PLURAL
from .model import Reference

# apimachinery pkg/api/validation: a PodGroup's name is a DNS subdomain.
_LONGEST_NAME: Final = 253


def kind_of(api_group: str) -> str:
    """Return the kind of an API group's PodGroups, as kubectl names it."""
    return f"{PLURAL}.{api_group}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSystem:
    """A system that has PodGroups, and whose pods name theirs."""

    name: str
    """Its name in ``workload.systems``."""
    source: str
    api_groups: tuple[str, ...]
    """The API groups of its PodGroups; podberth makes them in the first."""
    said_by: str
    """The pod's field with the group's name, as messages name it."""
    read: Callable[[Mapping[str, Any]], object]
    """Returns the value of that field."""
    minimum: tuple[str, ...] = ()
    """The field with the minimum number of members; empty: others make its groups."""
    without: Mapping[str, Any] = field(default_factory=dict)
    """The spec of a group whose pods start one by one."""
    topology: Callable[[str], Mapping[str, Any]] | None = None
    """Returns the fields of a spec that require one domain of a level for the whole group; None: it has no such
    field."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its groups."""
        return tuple(map(kind_of, self.api_groups))


def _label(key: str) -> Callable[[Mapping[str, Any]], object]:
    return lambda pod: labels(pod).get(key)


def _annotation(*keys: str) -> Callable[[Mapping[str, Any]], object]:
    return lambda pod: next((found for key in keys if (found := annotations(pod).get(key))), None)


def _native(pod: Mapping[str, Any]) -> object:
    group = spec(pod).get("schedulingGroup")
    return group.get("podGroupName") if isinstance(group, Mapping) else None


def _native_topology(level: str) -> Mapping[str, Any]:
    return {"schedulingConstraints": {"topology": [{"key": level}]}}


def _kai(pod: Mapping[str, Any]) -> object:
    # The key has no domain, so it counts only under KAI's own scheduler.
    return annotations(pod).get("pod-group-name") if spec(pod).get("schedulerName") == "kai-scheduler" else None


_MIN_MEMBER: Final = ("spec", "minMember")
_ONE: Final[Mapping[str, Any]] = {"minMember": 1}
_COSCHEDULING, _KOORDINATOR = "scheduling.x-k8s.io", "scheduling.sigs.k8s.io"

GROUP_SYSTEMS: Final[tuple[GroupSystem, ...]] = (
    GroupSystem(
        name="native",
        source="kubernetes/api scheduling/{v1alpha2,v1alpha3,v1beta1}/types.go PodGroupSpec: topology has no "
        "preferred mode, and minCount is immutable in v1alpha2",
        api_groups=(NATIVE_GROUP,),
        said_by="spec.schedulingGroup.podGroupName",
        read=_native,
        minimum=("spec", "schedulingPolicy", "gang", "minCount"),
        # Neither becomes the other later: in v1alpha2 the whole field is immutable, later the choice between the two.
        without={"schedulingPolicy": {"basic": {}}},
        topology=_native_topology,
    ),
    GroupSystem(
        name="coscheduling",
        source="kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go PodGroupLabel, PodGroupSpec",
        # Koordinator's scheduler reads the same label.
        api_groups=(_COSCHEDULING, _KOORDINATOR),
        said_by="label scheduling.x-k8s.io/pod-group",
        read=_label("scheduling.x-k8s.io/pod-group"),
        minimum=_MIN_MEMBER,
        without=_ONE,
    ),
    GroupSystem(
        name="koordinator",
        source="koordinator-sh/koordinator apis/thirdparty/scheduler-plugins/pkg/apis/scheduling/v1alpha1/types.go",
        api_groups=(_KOORDINATOR,),
        said_by="label pod-group.scheduling.sigs.k8s.io",
        read=_label("pod-group.scheduling.sigs.k8s.io"),
        minimum=_MIN_MEMBER,
        without=_ONE,
    ),
    GroupSystem(
        name="volcano",
        source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1/labels.go",
        api_groups=("scheduling.volcano.sh",),
        said_by="annotation scheduling.k8s.io/group-name",
        read=_annotation("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"),
    ),
    GroupSystem(
        name="kai",
        source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go PodGroupAnnotationForPod",
        api_groups=("scheduling.run.ai",),
        said_by="annotation pod-group-name",
        read=_kai,
    ),
)
BY_NAME: Final[Mapping[str, GroupSystem]] = {each.name: each for each in GROUP_SYSTEMS}
BY_API_GROUP: Final[Mapping[str, GroupSystem]] = {each.api_groups[0]: each for each in GROUP_SYSTEMS}


def references(pod: Mapping[str, Any]) -> Iterator[Reference]:
    """Yield every group that a pod names."""
    for system in GROUP_SYSTEMS:
        name = system.read(pod)
        if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME:
            yield Reference(system=system.name, kinds=system.kinds, name=name, said_by=system.said_by)


def nested(path: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return a document with a value at a path and nothing else."""
    for step in reversed(path):
        value = {step: value}
    assert isinstance(value, dict)  # noqa: S101 - no path is empty
    return value

"""Group systems, which place gangs as a whole, and dialects for sharing GPUs: the fields by which pods use them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..kube.pod import labels
from .members import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system that places the pods of a group as a whole, with the signs by which the system's pods are recognised.

    One sign is enough: one of ``schedulers``, ``labels``, ``annotations``, ``owner_labels`` (labels of the pod's
    owners) or ``fields`` (of the pod's spec). The other attributes limit the mutations of the system's pods
    (docs/rules.md, rules 2 and 3). If the system hashes or copies fields of a group's first pods (``keeps``), a
    mutation that depends on the snapshot does not apply, because it could make later pods differ. docs/systems.md
    prints the attributes.
    """

    name: str
    precedence: int
    """The precedence of the system: if a pod has signs of several systems, the system with the lowest number places the
    pod.
    """
    title: str
    """The name that users know the system by."""
    source: str
    schedulers: frozenset[str] = frozenset()
    by_plugin: bool = False
    """Whether the system is a plugin of a scheduler of any name; all pods of a group need the same scheduler."""
    names_scheduler: bool = False
    """Whether a policy may name the scheduler on the pods of a group, because the administrator chose the name."""
    labels: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    owner_labels: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    reads: tuple[str, ...]
    """The fields of a pod from which the system reads group, queue and topology; a policy may write these fields."""
    writes: str = ""
    """The fields among ``reads`` that a ``gang`` mutation writes; empty if the pod already names its group."""
    pod_groups: str = ""
    """The API group of the PodGroups, if a policy may choose the system for a plain gang; else empty."""
    reference: tuple[str, ...] = ()
    """The path of the field in which a pod names the PodGroup, if a policy may choose the system."""
    other_references: tuple[tuple[str, ...], ...] = ()
    """The paths of other fields in which a pod names a group: older fields, and fields of groups without a PodGroup."""
    elsewhere: tuple[str, ...]
    """The fields of other objects that the system reads, each with the object's kind."""
    topology: str = ""
    """The field and the object by which authors ask the system for topology; a warning prints the text after ``for
    topology``.

    Empty: the warning leaves the field out, because it depends on objects that podberth does not follow.
    """
    asked: frozenset[str] = frozenset()
    """The annotations by which a pod's author asks the system for topology."""
    keeps: str = ""
    """The fields of a group's first pods that the system hashes or copies before the group's later pods are created;
    empty if there are none.
    """
    keeps_of: Callable[[Mapping[str, Any]], bool] = lambda _pod: True
    """The function that returns whether the system has read the fields ``keeps`` before the pod is created; False if
    the system makes the pod's group only from created pods.
    """
    tolerates: str = ""
    """The text that says why a policy may write tolerations on pods of a group even if they depend on the cluster's
    state, and when not; empty: a policy never may, because the system compares or copies tolerations.
    """
    starts_alone: Callable[[Subject], bool] = lambda _pod: False
    """The function that returns whether the system certainly starts a member of a gang alone, as a group of one."""
    run: str = ""
    """The version of the system's own programs that podberth was once run beside, and the names of the programs; empty:
    only the system's source was read, unless the tests run the system.
    """
    asked_above: tuple[tuple[str, ...], ...] = ()
    """The paths, in an owner of the pod, of the fields by which the owner's author asks the system for topology."""
    starts_with_fewer: Callable[[Subject], bool] = lambda _pod: False
    """The function that returns whether the pod's owner starts with fewer pods than one of its roles has. Such pods do
    without each other, so nobody is sent to the field for topology.
    """
    topology_needs: Callable[[Subject], str] = lambda _pod: ""
    """The function that returns what a pod or the pod's owners need so that the author's PodGroup counts; empty:
    nothing.
    """
    alone_topology: str = ""
    """The advice in place of ``topology`` for a pod that names no group; empty: the same."""

    @property
    def asked_at(self) -> tuple[tuple[str, ...], ...]:
        """The paths, in a pod, of the annotations by which a pod's author asks the system for topology, sorted."""
        return tuple(("metadata", "annotations", key) for key in sorted(self.asked))

    def places(self, topology: str | None = None) -> str:
        """Return the message that the system places a pod's group, with the field that asks the system for topology.

        ``topology`` replaces the system's own text about the field; None keeps the own text. If the text is empty, the
        message leaves the field out.
        """
        where = self.topology if topology is None else topology
        advice = f"; for topology {where}" if where else ""
        return f"{self.name} places this pod's group{advice}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodGroupKind:
    """The PodGroups of a group system: how a pod names a group, and how podberth makes a group, if it makes any."""

    name: str
    """The name of the group system that has the PodGroups."""
    source: str
    api_groups: tuple[str, ...]
    """The API groups of the system's PodGroups; podberth makes PodGroups in the first."""
    versions: tuple[str, ...]
    """The versions of the first API group that podberth can read, the newest first."""
    named_by: str
    """The name of the field in which a pod names the group, for messages."""
    read: Callable[[Mapping[str, Any]], object]
    """The function that returns the name of the group from a pod."""
    minimum: tuple[str, ...] = ()
    """The path of the minimum number of members in a PodGroup; empty if podberth does not make the system's groups."""
    without: Mapping[str, Any] = field(default_factory=dict)
    """The spec of a PodGroup whose pods start one by one."""
    topology: Callable[[str], Mapping[str, Any]] | None = None
    """The function that returns the fields of a PodGroup's spec that keep the whole group in one domain of a level.

    None: the spec has no field for topology.
    """

    required_level: Callable[[Mapping[str, Any]], str] = lambda _: ""
    """The function that returns the node label key of the level in one domain of which a whole group has to be.

    It reads the spec of a PodGroup. Empty: the spec requires no level, or the system's levels are no node labels.
    """

    asked: str = ""
    """The field of a PodGroup's spec that asks the system for topology; empty if there is no such field."""
    parts: str = ""
    """The list in a PodGroup's spec whose elements have the field ``asked``, too; empty if there is no such list."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names by which kubectl knows the system's PodGroups, such as ``podgroups.scheduling.volcano.sh``."""
        return tuple(f"{POD_GROUPS}.{group}" for group in self.api_groups)


POD_GROUPS: Final = "podgroups"
"""The plural of all PodGroup kinds in API discovery."""

NATIVE_GROUP: Final = "scheduling.k8s.io"
"""The API group of Kubernetes' own PodGroups."""
MIN_MEMBER: Final = ("spec", "minMember")
ONE_MEMBER: Final[Mapping[str, Any]] = {"minMember": 1}
"""The spec of a PodGroup whose pods start one by one, in scheduler-plugins' API and in Koordinator's copy of that API.
"""


def by_label(key: str) -> Callable[[Mapping[str, Any]], object]:
    """Return a function that returns the value of the label ``key`` of a Pod manifest; None if the label is absent."""
    return lambda pod: labels(pod).get(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The resources, annotations and schedulers by which a pod uses one system for sharing GPUs. One sign is enough.

    If ``only_under`` names a scheduler, the annotations count only for pods of that scheduler, because other systems
    use the same keys.
    """

    name: str
    source: str
    resources: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    schedulers: frozenset[str] = frozenset()
    only_under: str = ""

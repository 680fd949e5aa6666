"""Group systems and sharing dialects: the signs of their pods, and the fields that they read, write and keep."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..kube.pod import labels


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system that places the pods of a group as a whole, with the signs of its pods; one sign is enough.

    ``owner_labels`` are labels of the pod's owners, ``fields`` are fields of its spec. The other fields are for
    docs/rules.md, rules 2 and 3, and for the text of docs/systems.md.
    """

    name: str
    precedence: int
    """If a pod has signs of several systems, the one with the lowest number has its group."""
    title: str
    """The name that its users use."""
    source: str
    schedulers: frozenset[str] = frozenset()
    by_plugin: bool = False
    """Whether it is a plugin of a scheduler, which may have any name and has to place the whole group."""
    labels: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    owner_labels: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    reads: tuple[str, ...]
    """The fields of the pod that it reads for group, queue and topology: a policy may write them."""
    writes: str = ""
    """Those of these fields that a mutation ``gang`` writes; empty if none, because the pod already names its group."""
    pod_groups: str = ""
    """The API group of its PodGroups, if a policy may choose the system for a plain gang; empty if it may not."""
    reference: tuple[str, ...] = ()
    """The field in which a pod names its PodGroup, if a policy may choose the system."""
    other_references: tuple[tuple[str, ...], ...] = ()
    """Other fields of a pod that name a group of the system: older ones, and those that need no PodGroup."""
    elsewhere: tuple[str, ...]
    """The fields that it reads of other objects, each with the object."""
    topology: str = ""
    """How the author of a workload asks it for topology, behind ``for topology`` in a warning: the field and object.

    Empty: no warning says it, because it depends on objects that podberth does not follow."""
    asked: frozenset[str] = frozenset()
    """Annotations of a pod that ask it for topology already."""
    keeps: str = ""
    """The fields of a pod that it hashes or copies before the next pod comes; empty if none."""

    @property
    def asked_at(self) -> tuple[tuple[str, ...], ...]:
        """The paths of these annotations in a pod."""
        return tuple(("metadata", "annotations", key) for key in sorted(self.asked))

    def places(self, topology: str | None = None) -> str:
        """Return why podberth places no pod of its groups, and where its author may ask for topology."""
        where = self.topology if topology is None else topology
        advice = f"; for topology {where}" if where else ""
        return f"{self.name} places this pod's group{advice}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodGroupKind:
    """The PodGroups of a system: the field by which a pod names its group, and how podberth makes one, if it does."""

    name: str
    """The system's name."""
    source: str
    api_groups: tuple[str, ...]
    """The API groups of its PodGroups; podberth makes PodGroups in the first one."""
    versions: tuple[str, ...]
    """The versions of the first API group that can be read, the newest first."""
    named_by: str
    """The pod's field with the name, as a message has it."""
    read: Callable[[Mapping[str, Any]], object]
    """Returns the value of that field of a pod."""
    minimum: tuple[str, ...] = ()
    """The field with the minimum number of members; empty if podberth does not make its groups."""
    without: Mapping[str, Any] = field(default_factory=dict)
    """The spec of a group whose pods start one by one."""
    topology: Callable[[str], Mapping[str, Any]] | None = None
    """Returns the fields of a spec that keep the whole group in one domain of a level; None: it has no such field."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its groups, as kubectl names them."""
        return tuple(f"{POD_GROUPS}.{group}" for group in self.api_groups)


POD_GROUPS: Final = "podgroups"
"""The plural of all PodGroup kinds in API discovery."""

NATIVE_GROUP: Final = "scheduling.k8s.io"
"""The API group of Kubernetes' own PodGroups."""
MIN_MEMBER: Final = ("spec", "minMember")
ONE_MEMBER: Final[Mapping[str, Any]] = {"minMember": 1}
"""The spec of a group whose pods start one by one, in scheduler-plugins' API and Koordinator's copy of it."""


def by_label(key: str) -> Callable[[Mapping[str, Any]], object]:
    """Return a reader of a label."""
    return lambda pod: labels(pod).get(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The keys of one system for parts of GPUs: a resource, an annotation or a scheduler shows that a pod uses it.

    With ``only_under`` the annotations count under that scheduler only, because other systems use the same keys.
    """

    name: str
    source: str
    resources: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    schedulers: frozenset[str] = frozenset()
    only_under: str = ""

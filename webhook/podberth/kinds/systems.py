"""Group systems and sharing dialects: by what pods of one are known, what it reads and where, what it keeps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..kube.pod import labels


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system that places the pods of a group as a whole, and what its pods carry; one sign is enough.

    ``owner_labels`` are labels of the pod's owners, ``fields`` of its spec. The rest is what podberth keeps to
    (docs/rules.md, rules 2 and 3), and what docs/systems.md tells.
    """

    name: str
    precedence: int
    """If a pod has signs of several systems, the one with the lowest number has its group."""
    title: str
    """Its name among its users."""
    source: str
    schedulers: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    owner_labels: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    reads: tuple[str, ...]
    """The fields of the pod that it reads for group, queue and topology: a policy may write them."""
    writes: str = ""
    """The fields of these that a mutation ``gang`` writes; empty if none, for the pod says already whose it is."""
    pod_groups: str = ""
    """The API group of its PodGroups, where a policy may choose it for a so far plain gang; empty: it may not."""
    elsewhere: tuple[str, ...]
    """The fields that it reads of other objects, each with the object."""
    topology: str
    """How the author of a workload asks it for topology, behind ``for topology`` in a warning: the field and object."""
    slices: str = ""
    """The same for every so many members in one domain; empty: as ``topology``."""
    keeps: str = ""
    """The fields of pods that it hashes or copies before podberth sees the next pod; empty if none."""

    def places(self, *, slices: bool = False) -> str:
        """Return why podberth places no pod of its groups, and where its author may ask for it."""
        asked = (slices and self.slices) or self.topology
        return f"{self.name} places this pod's group; for topology {asked}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodGroupKind:
    """The PodGroups of a system: how a pod names its own, and how podberth makes one, where it does."""

    name: str
    """The system's."""
    source: str
    api_groups: tuple[str, ...]
    """The API groups that its groups are in; podberth makes them in the first."""
    versions: tuple[str, ...]
    """Those of the first API group that can be read, the newest first."""
    named_by: str
    """The pod's field with the name, as a message has it."""
    read: Callable[[Mapping[str, Any]], object]
    """Returns what stands there."""
    minimum: tuple[str, ...] = ()
    """The field with the least number of members; empty: its groups are made by others."""
    without: Mapping[str, Any] = field(default_factory=dict)
    """The spec of a group whose pods start one by one."""
    topology: Callable[[str], Mapping[str, Any]] | None = None
    """Returns what a spec has where the whole group must be in one domain of a level; None: it has no such field."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its groups, as kubectl names them."""
        return tuple(f"{POD_GROUPS}.{group}" for group in self.api_groups)


POD_GROUPS: Final = "podgroups"
"""The plural of all of them in discovery."""

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
    """One way to ask for a part of a GPU in words of its own: a resource, an annotation or a scheduler is enough.

    With ``only_under`` the annotations count under that scheduler only, because others use the same words.
    """

    name: str
    source: str
    resources: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    schedulers: frozenset[str] = frozenset()
    only_under: str = ""

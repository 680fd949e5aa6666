"""The form of a dossier: the facts about one foreign controller, scheduler, queue or kind, each with its source.

The default of a field means that there is no such fact. A plain module of this room has the facts that two dossiers
need. Every table of the product is a comprehension over ``dossiers.DOSSIERS``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from .group_rules import GroupRules, StatedMinimum
from .members import Membership
from .places import WorkloadKind
from .queues import QueueForm
from .systems import Dialect, PodGroupKind, System

Fields: TypeAlias = "Mapping[str, Fields] | None"
"""Fields to keep, each with the fields to keep below it; None keeps the whole field. ELEMENT is every element of a list
or a map.

In the place of a pod template, or of a PodSpec, the demands of its pods on a node are kept (``roles``).
"""
TEMPLATE_ASKS: Final[Fields] = {"template": None}
POD_SPEC_ASKS: Final[Fields] = {"podSpec": None}
"""TEMPLATE_ASKS and POD_SPEC_ASKS mark a template and a PodSpec; they do not list fields to keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerKind:
    """A kind of objects that own pods, or that own such owners, with the fields of an object that are read and kept."""

    source: str
    group: str
    versions: tuple[str, ...]
    """The versions that have the fields at the paths that are read, the preferred version first."""
    kind: str
    spec: Fields = field(default_factory=dict)
    """The fields of the spec that are read; none if the kind only links a pod to the owner that is read."""
    followed: bool = True
    """Whether a webhook follows the kind. If not, it has many objects: they are looked up one by one, and their pods
    state their own number."""
    by_name: bool = False
    """Whether pods that it does not own name it; then it is found by its name, too."""
    stages: Callable[[Mapping[str, Any]], str] | None = None
    """Returns the field of an object that makes some of its pods come only when others run; empty if there is none.
    None: the kind has no such field. A group of all these pods would wait for ever, because some of them are made only
    after others have started."""
    stages_of_roles: bool = False
    """Whether its roles wait for each other, while the pods of one role come together."""

    @property
    def plural(self) -> str:
        """The plural of the kind, as API discovery has it."""
        return f"{self.kind.lower()}s"

    @property
    def api_versions(self) -> tuple[str, ...]:
        """The apiVersions of the kind, as owner references have them."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The field of a kind's status, and its values, for an object that makes no more pods.

    In a list of conditions the values are the types of those that are true.
    """

    source: str
    group: str
    kind: str
    field: tuple[str, ...] = ("conditions",)
    words: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindNote:
    """The text of docs/systems.md about a kind whose controller makes pods. No decision depends on it."""

    key: str = ""
    """The label or annotation of the membership that its pods have; empty if its pods are no gang."""
    kind: str
    """The kind as "group/Kind", the key in the table of kinds; empty if podberth sees only the pods of the kind."""
    title: str = ""
    """The name that its users use, if that is not the kind."""
    keeps: str
    """In words, the fields that podberth leaves alone, because the kind's controller writes, hashes or copies them."""
    source: str
    """The source of ``keeps``."""
    sign: str = ""
    """In words, the sign by which its pods are recognized, if that is not the key of a membership."""
    size: str = ""
    """In words, the source of the size, if it is not that of the membership."""
    templates: str = ""
    """In words, the place where a warning asks the author to write; empty: the path in the table of kinds."""

    @property
    def name(self) -> str:
        """The name that its users use."""
        return self.title or self.kind.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """All facts about one foreign controller, scheduler, queue or kind."""

    name: str
    """The name that its users use."""
    kinds: tuple[WorkloadKind, ...] = ()
    """Its kinds that hold pod templates: the places of these, and the stamps of its controllers and webhooks."""
    memberships: tuple[Membership, ...] = ()
    """The ways in which its pods name the gang that they belong to."""
    last_memberships: tuple[Membership, ...] = ()
    """Memberships that are tried only after the groups that the pod names."""
    groups: tuple[Membership, ...] = ()
    """The ways in which any pod names a group of the system."""
    pod_keys: frozenset[str] = frozenset()
    """Labels and annotations of a pod that the readers of memberships need, besides the memberships' own keys."""
    notes: tuple[KindNote, ...] = ()
    owners: tuple[OwnerKind, ...] = ()
    """The kinds of its objects that are read as owners."""
    finished: tuple[Finished, ...] = ()
    group_rules: tuple[GroupRules, ...] = ()
    stated_minimums: tuple[StatedMinimum, ...] = ()
    elastic_keys: frozenset[str] = frozenset()
    """Annotations that are `true` on an object that grows and shrinks: then its pods do not have to start together."""
    system: System | None = None
    """The signs by which its pods are recognized, if it places groups as a whole."""
    pod_groups: PodGroupKind | None = None
    queues: tuple[QueueForm, ...] = ()
    dialects: tuple[Dialect, ...] = ()
    """Its keys for a part of a GPU."""
    own_topology: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By group system and source of the gang, where an operator makes the group: the field of the author's own object
    that asks the system for topology, in place of the system's advice; empty if there is no such field."""
    affinity_keys: frozenset[str] = frozenset()
    """Annotations of a pod that make its operator's webhook write pod affinity for a domain of its own, after podberth.
    """
    parent_groups: frozenset[str] = frozenset()
    """API groups of workloads that are not read themselves, but whose objects make owners that are read."""
    links: frozenset[tuple[str, str]] = frozenset()
    """API groups and kinds of objects between a workload and its pods that have no pod template of the user."""
    podless_groups: frozenset[str] = frozenset()
    """API groups without a kind that has a pod template of the user."""
    podless_kinds: frozenset[str] = frozenset()
    """Single kinds without such a template, as "apiVersion/Kind", in API groups in which other kinds have one."""

"""The form of a dossier: what podberth knows of one foreign thing, each fact with its source.

A field that is left out means that the thing has none of it. A fact that two dossiers need stands in a plain module of
this room; a table that the product reads is a comprehension over ``dossiers.DOSSIERS``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from .group_rules import GroupRules
from .members import Membership
from .places import WorkloadKind
from .queues import QueueForm
from .systems import Dialect, PodGroupKind, System

Fields: TypeAlias = "Mapping[str, Fields] | None"
"""Fields to keep, each with those below it, None for all of it; ELEMENT is every element of a list or a map.

Of a pod template, or a PodSpec, what its pods ask of a node is kept (``roles``), in its place.
"""
TEMPLATE_ASKS: Final[Fields] = {"template": None}
POD_SPEC_ASKS: Final[Fields] = {"podSpec": None}
"""These two stand for themselves, and no field is kept of them by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerKind:
    """A kind of objects that own pods, or own such owners: what is read of one, and so what is kept of it."""

    source: str
    group: str
    versions: tuple[str, ...]
    """Those in which the fields are where they are read, the one to ask for first."""
    kind: str
    spec: Fields = field(default_factory=dict)
    """The fields of its spec that are read; none of a kind that only leads from a pod to the object that counts."""
    followed: bool = True
    """Whether a webhook follows it; else it is looked up alone, for there are many, and its pods say how many they are.
    """
    by_name: bool = False
    """Whether pods name it that it does not own: then it is found by its name, too."""
    stages: Callable[[Mapping[str, Any]], str] | None = None
    """Returns the field by which some of its pods are made only when others run, empty for none; None: there is no such
    field. A group of all these pods would wait for those that are not made before the first ones run."""
    stages_of_roles: bool = False
    """Whether its roles wait for each other, while the pods of one role come together."""

    @property
    def plural(self) -> str:
        """The name that discovery has for it."""
        return f"{self.kind.lower()}s"

    @property
    def api_versions(self) -> tuple[str, ...]:
        """Its versions as owner references have them."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The field of a kind's status, and the words there, that say that an object makes no more pods."""

    source: str
    group: str
    kind: str
    field: tuple[str, ...]
    words: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindNote:
    """The words of docs/systems.md on a kind whose controller makes pods. They decide nothing."""

    key: str = ""
    """The label or annotation of the membership that its pods have; empty: each of its pods is by itself."""
    kind: str
    """The kind as "group/Kind", by which the table of kinds has its templates; empty if only its pods are ever seen."""
    title: str = ""
    """Its name among its users, if that is not its kind."""
    keeps: str
    """In words, what of it and its pods podberth leaves alone, because its controller writes, hashes or copies it."""
    source: str
    """The source of ``keeps``."""
    sign: str = ""
    """In words, by what its pods are known, where no membership's key says it."""
    size: str = ""
    """In words, where the size is from, if not from where the membership has it."""
    templates: str = ""
    """In words, where a warning says that its author may write; empty: as the table of kinds has it."""

    @property
    def name(self) -> str:
        """Its name among its users."""
        return self.title or self.kind.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """All that podberth knows of one foreign thing."""

    name: str
    """Its name among its users."""
    kinds: tuple[WorkloadKind, ...] = ()
    """Its kinds that hold pod templates: where these stand, and what its controllers and webhooks write on the pods."""
    memberships: tuple[Membership, ...] = ()
    """How its pods say which gang they belong to."""
    last_memberships: tuple[Membership, ...] = ()
    """The same, asked after the groups that the pod names."""
    groups: tuple[Membership, ...] = ()
    """How any pod names a group of the system."""
    pod_keys: frozenset[str] = frozenset()
    """Labels and annotations that the readers of memberships ask a pod for, besides the memberships' own."""
    notes: tuple[KindNote, ...] = ()
    owners: tuple[OwnerKind, ...] = ()
    """The kinds of its objects that are read as owners."""
    finished: tuple[Finished, ...] = ()
    group_rules: tuple[GroupRules, ...] = ()
    system: System | None = None
    """The signs of its pods, if it places groups as a whole."""
    pod_groups: PodGroupKind | None = None
    queues: tuple[QueueForm, ...] = ()
    dialects: tuple[Dialect, ...] = ()
    """Its words for a part of a GPU."""
    links: frozenset[tuple[str, str]] = frozenset()
    """Groups and kinds that stand between a workload and what it has made, and have no template of a user's."""
    podless_groups: frozenset[str] = frozenset()
    """API groups of which no kind has a pod template of its user's."""
    podless_kinds: frozenset[str] = frozenset()
    """Single kinds without one, as "apiVersion/Kind", of groups of which others have one."""

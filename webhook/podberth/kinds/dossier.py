"""The classes of a dossier: the facts about one controller, scheduler, queue or kind of another project, with sources.

A field that has its default value states that there is no such fact. Facts that two dossiers need are in a module of
this room that is no dossier. All tables of podberth about foreign systems are made from the list of dossiers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ..kube.paths import Path
from ..kube.pod_limits import Bound
from .group_rules import GroupRules, StatedMinimum
from .members import Membership
from .places import WorkloadKind
from .pod_sets import PodSets
from .queues import QueuedKind, QueueForm
from .systems import Dialect, PodGroupKind, System

Fields: TypeAlias = "Mapping[str, Fields] | None"
"""The fields of an object that podberth keeps: a mapping from each field's name to the kept fields below it; None keeps
the whole field.

ELEMENT stands for every element of a list or map. TEMPLATE_ASKS and POD_SPEC_ASKS mark pod templates and PodSpecs.
"""
TEMPLATE_ASKS: Final[Fields] = {"template": None}
POD_SPEC_ASKS: Final[Fields] = {"podSpec": None}
"""The mark of a PodSpec; TEMPLATE_ASKS is the mark of a pod template.

Of a marked PodSpec or template, only the pods' requirements on a node are kept.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerKind:
    """A Kubernetes kind whose objects own pods, directly or through other owners, with the fields that are kept."""

    source: str
    group: str
    versions: tuple[str, ...]
    """The versions in which the fields are at the paths that are read, the preferred version first."""
    kind: str
    spec: Fields = field(default_factory=dict)
    """The fields of the spec that are read; empty if the object is only a link between a pod and another owner."""
    followed: bool = True
    """Whether a webhook follows the kind with a watch.

    If False, the kind has too many objects to follow: podberth looks up single objects, and the pods themselves state
    the size of their gang.
    """
    by_name: bool = False
    """Whether pods refer by name to an object that does not own them; the object can then be looked up by name, too."""
    stages: Callable[[Mapping[str, Any]], str] | None = None
    """The function that returns the field of an object that makes some of the object's pods wait until others run.

    The function returns "" for an object without such a field; None: no object of the kind has such a field. A group of
    all the object's pods would wait forever, because some of the pods are made only after others have started.
    """
    stages_of_roles: bool = False
    """Whether the roles of an object wait for each other, while the pods of one role start together."""

    @property
    def plural(self) -> str:
        """The plural name of the kind in API discovery, such as ``jobsets``."""
        return f"{self.kind.lower()}s"

    @property
    def api_versions(self) -> tuple[str, ...]:
        """The values of apiVersion that an owner reference to an object of the kind has."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The status field that shows that an object makes no more pods, and the values that show this."""

    source: str
    group: str
    kind: str
    field: tuple[str, ...] = ("conditions",)
    words: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledIn:
    """The placeholders that an operator replaces with numbers.

    A manifest may have such a placeholder in a number's place.
    """

    source: str
    is_own: Callable[[Mapping[str, Any], Path, str], bool]
    """The function that returns whether the operator fills in a placeholder. Its arguments are the document, the path
    of the placeholder in the document, and the placeholder's text.
    """
    later: str = ""
    """The message that says what cannot be checked without the number; empty: no decision depends on the number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindNote:
    """The text of docs/systems.md about a Kubernetes kind whose controller makes pods.

    No decision depends on the text.
    """

    key: str = ""
    """The label or annotation by which the kind's pods name their gang; empty if the pods are no gang."""
    kind: str
    """The kind as "group/Kind", the key in the table of kinds; empty if podberth sees only the pods of the kind."""
    title: str = ""
    """The name by which users know the kind; empty: the kind's own name."""
    keeps: str
    """The text that lists the fields that podberth leaves alone: the controller writes, hashes or copies them."""
    source: str
    """The source of the facts in ``keeps``."""
    sign: str = ""
    """The text that says how the kind's pods are recognised; empty: by the key of the kind's ``Membership``."""
    size: str = ""
    """The text that says where the gang's size is stated; empty: the text of the membership (``Membership.size``)."""
    templates: str = ""
    """The text with the paths at which warnings ask the author to write; empty: the paths in the table of kinds."""

    @property
    def name(self) -> str:
        """The name by which users know the kind, such as JobSet."""
        return self.title or self.kind.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """All facts about another project's controller, scheduler, queue or Kubernetes kind."""

    name: str
    """The name by which users know the system."""
    versions: Mapping[str, str]
    """The version of each repository in which the facts were read: a tag or a commit, by the repository's owner/name.

    A commit is followed by the newest release of its time: ``ff69552e, after v0.19.2``. Each ``source`` cites
    repositories of this mapping, with paths in them.
    """
    kinds: tuple[WorkloadKind, ...] = ()
    """The system's kinds with pod templates: the templates' paths, and what controllers write on the pods."""
    memberships: tuple[Membership, ...] = ()
    """The ways in which the system's pods name their gang, each with the function that reads the membership."""
    last_memberships: tuple[Membership, ...] = ()
    """Memberships that apply only if the pod names no group; the attributes are the same as in ``memberships``."""
    groups: tuple[Membership, ...] = ()
    """The ways in which any pod can name a group of the system."""
    pod_keys: frozenset[str] = frozenset()
    """Labels and annotations of a pod that the functions of memberships read, besides the memberships' own keys."""
    notes: tuple[KindNote, ...] = ()
    owners: tuple[OwnerKind, ...] = ()
    """The kinds of the system's objects that podberth reads as owners."""
    finished: tuple[Finished, ...] = ()
    group_rules: tuple[GroupRules, ...] = ()
    stated_minimums: tuple[StatedMinimum, ...] = ()
    elastic_keys: frozenset[str] = frozenset()
    """Annotations whose value `true` marks a workload that grows and shrinks; its pods need not start together then."""
    system: System | None = None
    """The signs by which the system's pods are recognised, if the system places groups as a whole; else None."""
    pod_groups: PodGroupKind | None = None
    queues: tuple[QueueForm, ...] = ()
    queued: QueuedKind | None = None
    """The kind of objects in which the system says whether a queue has admitted a workload or a pod."""
    pod_sets: PodSets | None = None
    """The annotations by which a template asks the system for topology, if the system places a template's pods
    together.
    """
    filled_in: tuple[FilledIn, ...] = ()
    gates: frozenset[str] = frozenset()
    """The domains of the scheduling gates by which the system holds pods."""
    parsed: tuple[Bound, ...] = ()
    """The bounds of the annotations that the functions of memberships parse."""
    dialects: tuple[Dialect, ...] = ()
    """The keys by which pods ask the system for a part of a GPU."""
    own_topology: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The field of the author's object that asks a group system for topology, if an operator makes the group.

    Each key is (name of the group system, source of a gang (``Gang.source``)). The field replaces the system's own
    advice in a warning; empty: the author's object has no such field.
    """
    affinity_keys: frozenset[str] = frozenset()
    """Annotations of a pod because of which an operator's webhook writes pod affinity after podberth."""
    parent_groups: frozenset[str] = frozenset()
    """API groups of workloads that podberth does not read, but whose objects make objects that podberth reads as
    owners.
    """
    links: frozenset[tuple[str, str]] = frozenset()
    """(API group, kind) of objects between a workload and its pods that have no pod template written by the user."""
    replica_sets: Mapping[str, str] = field(default_factory=dict)
    """The kinds whose objects make ReplicaSets named after the object and a hash: the label of the pods that has the
    hash, and the kind.
    """
    refusals: frozenset[str] = frozenset()
    """The reasons of the Events about a workload whose pod the API server refused, besides ``FailedCreate``, which
    Kubernetes' own controllers write.
    """
    podless_groups: frozenset[str] = frozenset()
    """API groups in which no kind has a pod template of the user."""
    podless_kinds: frozenset[str] = frozenset()
    """Kinds without a pod template of the user, as "apiVersion/Kind", in API groups in which other kinds have one."""

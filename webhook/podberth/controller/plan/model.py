"""What a maker is given and what it answers: the waiting pods, the objects that there are, and what is to be done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...admission.notices import Notice, Regarding
from ...kube.pod import OwnerReference

Place: TypeAlias = tuple[str, str]
"""Namespace and name of an object."""
Owned: TypeAlias = tuple[str, OwnerReference]
"""A namespace, and an owner as an object there refers to it. Not the uid alone: whoever makes a pod may write any uid
beside any name, and what is found of that is no word on the object that has the uid.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """That a pod names a group."""

    system: str
    """Whose group it is (workload.systems)."""
    kinds: tuple[str, ...]
    """The kinds that it may be of, as kubectl names them; the first is the one to make."""
    name: str
    said_by: str
    """The pod's field that names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPod:
    """What is kept of a pod that is on no node yet."""

    namespace: str
    name: str
    uid: str
    created: float
    """In seconds since the epoch; 0 where it does not say."""
    owner: OwnerReference | None
    """Its controller."""
    groups: tuple[Reference, ...]
    gang: str = ""
    size: int = 0
    """How many pods the gang's group is of; 0: nobody says."""
    level: str = ""
    """The node label key of the domain that the gang is to be in, where admission left that to the group."""
    required: bool = False
    """Whether it must be."""
    gated: bool = False
    """Whether it has scheduling gates: whoever has put them there has not let it wait for a scheduler yet."""
    templates: tuple[str, ...] = ()
    """The ResourceClaimTemplates that it names."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """The pod as far as it tells of its gang (``workload.gang_keys``); empty where its label names none."""
    sized_by_owner: bool = False
    """Whether it is a member of an operator's gang of which an owner of its says how many pods there are."""

    def itself(self) -> OwnerReference:
        """Return the reference that an object has which this pod owns."""
        return OwnerReference("v1", "Pod", self.name, self.uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What is kept of an object of a kind that podberth makes."""

    uid: str
    version: str
    """Its resourceVersion."""
    ours: bool
    """Whether podberth has made it: nothing else is ever written."""
    deleting: bool = False
    owners: tuple[OwnerReference, ...] = ()
    minimum: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All that a maker may go by."""

    pods: Mapping[str, WaitingPod]
    known: Mapping[str, Mapping[Place, Made]]
    """Objects by kind; a kind is here once all its objects were listed."""
    served: Mapping[str, str]
    """The apiVersion of each kind of ``known``."""
    absent: frozenset[str]
    """Kinds that the API server does not serve. Of a kind that is in neither nothing is known, and nothing said."""
    owners: Mapping[Owned, OwnerReference | None]
    """Of owners that were looked up: their controller; None: they have none, or may not be read."""
    gone: frozenset[Owned]
    """Those that were looked up and are not there."""
    fixed: Mapping[str, int]
    """By the uid of an object: the minimum that the API server did not let it have."""
    patience_seconds: float
    """How long a pod may wait for its group until it is told of."""
    failed: Mapping[Owned | tuple[str, Place], str] = field(default_factory=dict)
    """What the last try met: of an owner to look up, or by the kind and place of an object to make."""
    documents: Mapping[Owned, Mapping[str, Any]] = field(default_factory=dict)
    """Of owners that were looked up: what ``workload.owners`` keeps of them; nothing of one that may not be read."""
    declared: Mapping[str, Mapping[str, Any]] | None = None
    """The specs of the claim templates that policies declare, by the names that they write on pods; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Make an object. Where one of its name has come meanwhile, that one stays as it is."""

    kind: str
    noun: str
    """As its documents name the kind."""
    refused: str
    """The reason of the Event where the API server refuses it."""
    document: Mapping[str, Any]
    about: Regarding
    """Whom to tell where it cannot be made."""

    @property
    def place(self) -> Place:
        """Where it is to be."""
        metadata = self.document["metadata"]
        return metadata["namespace"], metadata["name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Merge something into an object of podberth's, if it is still what is known of it."""

    kind: str
    noun: str
    """As its documents name the kind."""
    refused: str
    """The reason of the Event where the API server refuses it."""
    place: Place
    uid: str
    patch: Mapping[str, Any]
    about: Regarding
    minimum: int = 0
    """What a PodGroup's is then; 0: it stays. Where the API server does not let it change, ``World.fixed`` says so."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """Find out whose an owner is, and what it says of its pods."""

    namespace: str
    owner: OwnerReference


Action: TypeAlias = Create | Change | LookUp


@dataclass(slots=True)
class Plan:
    """What is to be done now. ``notices`` stand for as long as a plan has them: each is told once in that time."""

    actions: list[Action] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    again_at: float = float("inf")
    """When there may be more to tell, in seconds since the epoch."""

    def add(self, other: "Plan") -> None:
        """Take in what another maker wants."""
        self.actions += other.actions
        self.notices += other.notices
        self.again_at = min(self.again_at, other.again_at)


Maker: TypeAlias = Callable[[World, float], Plan]
"""Answers for one sort of objects; the number is the time in seconds since the epoch."""

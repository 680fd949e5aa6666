"""The input and the output of makers: the waiting pods, the present objects, and the actions to take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...admission.notices import Notice, Regarding
from ...kube.pod import OwnerReference

Place: TypeAlias = tuple[str, str]
"""Namespace and name of an object."""
Owned: TypeAlias = tuple[str, OwnerReference]
"""A namespace, and an owner as an object there refers to it. Not the uid alone: the author of a pod may write any uid
beside any name, and a result for that pair says nothing about the real object with the uid.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The name of a group in a pod."""

    system: str
    """The group system (workload.systems)."""
    kinds: tuple[str, ...]
    """The possible kinds of the group, as kubectl names them; the first is the one to make."""
    name: str
    said_by: str
    """The pod's field with the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPod:
    """The facts of a pod that is on no node yet."""

    namespace: str
    name: str
    uid: str
    created: float
    """Seconds since the epoch; 0 if the pod has no time."""
    owner: OwnerReference | None
    """The controller of the pod."""
    groups: tuple[Reference, ...]
    gang: str = ""
    size: int = 0
    """The number of pods in the gang's group; 0: unknown."""
    level: str = ""
    """The node label key of the domain for the gang, if admission left that to the group."""
    required: bool = False
    """Whether that domain is required."""
    gated: bool = False
    """Whether it has scheduling gates: then it does not wait for a scheduler yet."""
    templates: tuple[str, ...] = ()
    """The ResourceClaimTemplates that it names."""
    gang_keys: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the pod that describe its gang (``workload.gang_keys``); empty if its label names none."""
    sized_by_owner: bool = False
    """Whether it is a member of an operator's gang whose size one of its owners has."""

    def itself(self) -> OwnerReference:
        """Return the reference that an object owned by this pod has."""
        return OwnerReference("v1", "Pod", self.name, self.uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The facts of an object of a kind that podberth makes."""

    uid: str
    version: str
    """The resourceVersion of the object."""
    ours: bool
    """Whether podberth has made it: no other object is ever changed."""
    deleting: bool = False
    owners: tuple[OwnerReference, ...] = ()
    minimum: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All facts that a maker may use."""

    pods: Mapping[str, WaitingPod]
    known: Mapping[str, Mapping[Place, Made]]
    """Objects by kind; a kind is here once all its objects are listed."""
    served: Mapping[str, str]
    """The apiVersion of each kind of ``known``."""
    absent: frozenset[str]
    """Kinds that the API server does not serve. A kind that is in neither is unknown, and nothing is reported about
    it."""
    owners: Mapping[Owned, OwnerReference | None]
    """The controllers of owners that were looked up; None: an owner has none, or may not be read."""
    gone: frozenset[Owned]
    """Owners that were looked up and do not exist."""
    fixed: Mapping[str, int]
    """By the uid of an object: the minimum that the API server refused."""
    patience_seconds: float
    """How long a pod may wait for its group until that is reported."""
    failed: Mapping[Owned | tuple[str, Place], str] = field(default_factory=dict)
    """The error of the last try, by the owner to look up, or by the kind and place of the object to make."""
    documents: Mapping[Owned, Mapping[str, Any]] = field(default_factory=dict)
    """The facts that ``workload.owners`` keeps of owners that were looked up; none of an unreadable one."""
    declared: Mapping[str, Mapping[str, Any]] | None = None
    """The specs of the claim templates that policies declare, by their names on pods; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    """A write of an object."""

    kind: str
    noun: str
    """The kind's name in its documentation."""
    refused: str
    """The reason of the Event if the API server refuses it."""
    about: Regarding
    """The object that gets that Event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Create(_Write):
    """Make an object. If one of its name exists by then, it stays as it is."""

    document: Mapping[str, Any]

    @property
    def place(self) -> Place:
        """The place of the new object."""
        metadata = self.document["metadata"]
        return metadata["namespace"], metadata["name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(_Write):
    """Merge fields into an object of podberth's, if it has not changed since it was read."""

    place: Place
    uid: str
    patch: Mapping[str, Any]
    minimum: int = 0
    """The new minimum of a PodGroup; 0: no change. ``World.fixed`` has the groups whose minimum cannot change."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """Read an owner's controller, and its facts about its pods."""

    namespace: str
    owner: OwnerReference


Action: TypeAlias = Create | Change | LookUp


@dataclass(slots=True)
class Plan:
    """The actions to take now. ``notices`` stand for as long as a plan has them: each is sent once in that time."""

    actions: list[Action] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    again_at: float = float("inf")
    """The time at which there may be more notices, in seconds since the epoch."""

    def add(self, other: "Plan") -> None:
        """Add another maker's plan."""
        self.actions += other.actions
        self.notices += other.notices
        self.again_at = min(self.again_at, other.again_at)


Maker: TypeAlias = Callable[[World, float], Plan]
"""A maker for one sort of objects; the number is the time in seconds since the epoch."""

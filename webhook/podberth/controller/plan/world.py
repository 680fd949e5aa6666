"""The input and the output of planning: the waiting pods and the present objects, and the actions to take."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...admission.notices import Notice, Regarding
from ...kinds.systems import PodGroupKind
from ...kube.object_names import NamespacedName
from ...kube.pod import OwnerReference

Owned: TypeAlias = tuple[str, OwnerReference]
"""A namespace, and an owner reference of an object in that namespace.

The uid alone would not be enough. The author of a pod may write any uid beside any name, and the result of a look-up
for a wrong pair says nothing about the real object with the uid.
"""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference from a pod to its group: the possible kinds of the group, and the name of the group."""

    system: PodGroupKind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPod:
    """The facts that are kept about a pod that has no node yet."""

    namespace: str
    name: str
    uid: str
    created: float
    """The creation time of the pod, in seconds since the epoch; 0 if the pod has none."""
    owner: OwnerReference | None
    """The owner reference of the pod's controller."""
    groups: tuple[Reference, ...]
    gang: str = ""
    size: int = 0
    """The number of pods in the gang's group; 0 if unknown."""
    level: str = ""
    """The node label key of the topology level in one domain of which the group is to place the gang.

    Empty if admission has not left that to the group."""
    required: bool = False
    """Whether the gang requires one domain of ``level``; if not, the gang only prefers one."""
    gated: bool = False
    """Whether the pod has scheduling gates: a gated pod does not wait for a scheduler yet."""
    templates: tuple[str, ...] = ()
    """The names of the ResourceClaimTemplates that the pod uses."""
    gang_keys: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the pod that describe the pod's gang (``workload.gang_keys``); empty if no label names a gang."""
    sized_by_owner: bool = False
    """Whether the pod belongs to an operator's gang whose size is stated by an owner."""

    def itself(self) -> OwnerReference:
        """Return an owner reference to the pod."""
        return OwnerReference("v1", "Pod", self.name, self.uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The facts that are kept about an object of a kind that podberth makes, such as a PodGroup."""

    uid: str
    version: str
    """The resourceVersion of the object."""
    ours: bool
    """Whether podberth has made the object; podberth does not change other objects."""
    deleting: bool = False
    owners: tuple[OwnerReference, ...] = ()
    minimum: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All facts that planning may use, at one moment."""

    pods: Mapping[str, WaitingPod]
    known: Mapping[str, Mapping[NamespacedName, Made]]
    """The known objects by kind and place; a kind is a key as soon as all objects of the kind are listed."""
    served: Mapping[str, str]
    """The API version of each kind in ``known``."""
    absent: frozenset[str]
    """The kinds that the API server does not serve.

    A kind that is neither in ``known`` nor in ``absent`` is unknown, and nothing is reported about the kind.
    """
    owners: Mapping[Owned, OwnerReference | None] = field(default_factory=dict)
    """The controller of each owner that was looked up; None if the owner has none or cannot be read."""
    gone: AbstractSet[Owned] = frozenset()
    """The owners that were looked up and no longer exist."""
    fixed: Mapping[str, int] = field(default_factory=dict)
    """The minimum of each group whose minimum the API server refused to change, by the uid of the group."""
    patience_seconds: float = 0.0
    """The seconds for which a pod may wait for the pod's group before a notice reports the wait."""
    failed: Mapping[Owned | tuple[str, NamespacedName], str] = field(default_factory=dict)
    """The error of the last try that failed, by the owner to look up, or by the kind and place of the object to
    make."""
    documents: Mapping[Owned, Mapping[str, Any]] = field(default_factory=dict)
    """The fields that ``workload.owners`` keeps of each owner that was looked up and could be read."""
    declared: Mapping[str, Mapping[str, Any]] | None = None
    """The specs of the claim templates that policies declare, by the names on pods; None if not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    """An action of the controller that writes an object."""

    kind: str
    noun: str
    """The name of the object's kind in messages, such as ``PodGroup``."""
    refused: str
    """The reason of the Event that is published if the API server refuses the object."""
    about: Regarding
    """The object that the Event is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Create(_Write):
    """An action that creates an object. An existing object with an equal name stays unchanged."""

    document: Mapping[str, Any]

    @property
    def place(self) -> NamespacedName:
        """The namespace and the name of the new object."""
        metadata = self.document["metadata"]
        return metadata["namespace"], metadata["name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange(_Write):
    """An action that changes fields of an object that podberth made, unless the object has changed in between."""

    place: NamespacedName
    uid: str
    patch: Mapping[str, Any]
    minimum: int = 0
    """The new minimum of a PodGroup, the number of pods that the group waits for; 0 leaves the minimum unchanged.

    ``World.fixed`` has the groups whose minimum cannot change.
    """


@dataclass(frozen=True, slots=True)
class LookUp:
    """An action that reads an owner of a pod, to learn its controller and the fields that determine gangs."""

    namespace: str
    owner: OwnerReference


Action: TypeAlias = Create | GroupChange | LookUp


@dataclass(slots=True)
class ActionPlan:
    """The actions that the controller takes now, and the notices that the controller publishes.

    A notice is sent once, and stays in each plan until the problem in the notice is solved.
    """

    actions: list[Action] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    again_at: float = float("inf")
    """The time at which to plan again, because notices may become due then; in seconds since the epoch."""

    def add(self, other: "ActionPlan") -> None:
        """Add the actions and notices of another plan; ``again_at`` becomes the earlier of the two times."""
        self.actions += other.actions
        self.notices += other.notices
        self.again_at = min(self.again_at, other.again_at)

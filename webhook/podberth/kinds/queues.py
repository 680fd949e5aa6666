"""The queues of batch systems: the known facts about a queue, and the kinds of queues that podberth reads."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

QueueKind: TypeAlias = tuple[str, str]
"""The API group and the kind of a queue."""

LOCAL_QUEUE: Final[QueueKind] = ("kueue.x-k8s.io", "LocalQueue")
CLUSTER_QUEUE: Final[QueueKind] = ("kueue.x-k8s.io", "ClusterQueue")
VOLCANO_QUEUE: Final[QueueKind] = ("scheduling.volcano.sh", "Queue")
KAI_QUEUE: Final[QueueKind] = ("scheduling.run.ai", "Queue")


@dataclass(frozen=True, slots=True)
class Queue:
    """The known facts about one queue: the name of its parent, and the reason why the workloads of the queue wait."""

    leads_to: str = ""
    """The name of the parent queue: a LocalQueue's ClusterQueue, a KAI Queue's parent; empty if there is none."""
    halted: str = ""
    """The field, with its value, because of which the queue's workloads wait; empty if no such field is known."""
    covers: frozenset[str] = frozenset()
    """The resources of which the queue has quotas; empty if none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FullQueue:
    """A message with which a scheduler says that a queue has no room for a pod, whatever is free on nodes."""

    source: str
    message: re.Pattern[str]
    """The pattern of the message. The group ``queue`` is the name of the queue; without this group, the spec of the
    PodGroup has the name. The group ``said`` is the part that says how much is used.
    """
    in_events: bool = False
    """Whether the message is in an Event about the PodGroup, and not in the pod's condition PodScheduled."""
    phase: str = ""
    """The phase of a PodGroup that the Event counts for; empty if the message is not in an Event."""
    title: str
    """The fact for the user, after the name of the queue."""
    do: tuple[str, ...]
    """The user's options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueForm:
    """The queues of one Kubernetes kind, such as LocalQueue.

    The fields say how a workload names a queue, and which facts podberth reads from a queue.
    """

    source: str
    kind: QueueKind
    title: str
    """The name that users know the kind by."""
    versions: tuple[str, ...]
    """The versions that podberth can read, the newest first."""
    read: Callable[[Mapping[str, Any]], Queue]
    """The function that returns the facts of a queue; missing and invalid fields count as unknown."""
    of_cluster: bool = True
    """Whether the kind is cluster-scoped."""
    label: str = ""
    """The label that names a queue, on a workload, an object around the workload, or its pods; empty if there is no
    label.
    """
    annotation: str = ""
    """The annotation of a pod that names a queue; empty if there is none."""
    scheduler: str = ""
    """The scheduler that a pod must have for ``annotation`` to count; empty: any."""
    stopped: str = ""
    """The message about a halted queue, with the remedy; ``{}`` stands for the field."""
    parent: QueueKind | None = None
    """The kind of the parent that ``Queue.leads_to`` names; None if queues of the kind have no parent."""
    only_leaves: bool = False
    """Whether a queue with children takes no pods."""
    root: str = ""
    """The name of the queue above all others, which takes no pods; empty if there is none."""
    of_its_own: frozenset[str] = frozenset()
    """The names of the queues that the system makes by itself."""
    full: tuple[FullQueue, ...] = ()
    """The messages with which the system's scheduler says that a queue has no room for a pod."""

    @property
    def plural(self) -> str:
        """The plural name of the queue's kind in API discovery, such as ``localqueues``."""
        return f"{self.kind[1].lower()}s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The facts in an object's status about whether a queue has admitted the object's pods."""

    queue: str
    """The name of the queue; empty if the object names none."""
    is_admitted: bool
    has_ended: bool
    state: str
    """The condition and the reason of the condition, as text."""
    message: str
    """The system's own message about the condition; empty if there is none."""
    others: tuple[str, ...] = ()
    """Other facts because of which the object may wait, as texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedKind:
    """The Kubernetes kind of the objects that a queueing system makes.

    There is one object for each workload, or for each group of pods, in a queue.
    """

    source: str
    kind: QueueKind
    versions: tuple[str, ...]
    """The versions that podberth can read, the newest first."""
    named_by: str
    """The annotation of a pod or an owner that names the object of this kind for the pod."""
    gate: str
    """The start of the names of scheduling gates by which the system holds pods."""
    queues: QueueKind
    """The kind of the queues that the objects name."""
    read: Callable[[Mapping[str, Any]], Admission]
    """The function that returns the facts of an object; missing and invalid fields count as unknown."""

    @property
    def plural(self) -> str:
        """The plural name of the object's kind in API discovery, such as ``workloads``."""
        return f"{self.kind[1].lower()}s"

    @property
    def resource(self) -> str:
        """The name by which kubectl knows the kind, such as ``workloads.kueue.x-k8s.io``."""
        return f"{self.plural}.{self.kind[0]}"

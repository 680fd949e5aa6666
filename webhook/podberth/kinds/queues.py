"""Queues: the known facts of one queue, and the kinds of queues that are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

QueueKind: TypeAlias = tuple[str, str]
"""API group and kind."""

LOCAL_QUEUE: Final[QueueKind] = ("kueue.x-k8s.io", "LocalQueue")
CLUSTER_QUEUE: Final[QueueKind] = ("kueue.x-k8s.io", "ClusterQueue")
VOLCANO_QUEUE: Final[QueueKind] = ("scheduling.volcano.sh", "Queue")
KAI_QUEUE: Final[QueueKind] = ("scheduling.run.ai", "Queue")


@dataclass(frozen=True, slots=True)
class Queue:
    """The known facts of one queue."""

    leads_to: str = ""
    """The name of the queue above: a LocalQueue's ClusterQueue, a KAI Queue's parent; empty if there is none."""
    halted: str = ""
    """The field, and its value, that keeps its workloads waiting; empty if none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueForm:
    """A kind of queues, and the way a queue of it is read."""

    source: str
    kind: QueueKind
    title: str
    """The name that its users use."""
    versions: tuple[str, ...]
    """The versions that can be read, the newest first."""
    read: Callable[[Mapping[str, Any]], Queue]
    """Reads the facts of a queue; missing and invalid fields count as unknown."""
    of_cluster: bool = True
    """Whether its objects are in no namespace."""
    label: str = ""
    """The label that names a queue; a workload, the object that wraps it, or its pods may have it."""
    annotation: str = ""
    """The annotation of a pod that names a queue."""
    scheduler: str = ""
    """The scheduler of pods whose annotation counts; empty: any."""
    stopped: str = ""
    """The text for a halted queue in a message, with the remedy; ``{}`` stands for the field."""
    parent: QueueKind | None = None
    """The kind of the queue that ``Queue.leads_to`` names."""
    only_leaves: bool = False
    """Whether queues with children take no pods."""
    of_its_own: frozenset[str] = frozenset()
    """Queues that the system makes itself."""

    @property
    def plural(self) -> str:
        """The plural of the kind, as API discovery has it."""
        return f"{self.kind[1].lower()}s"

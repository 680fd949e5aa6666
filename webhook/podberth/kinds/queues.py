"""Queues: what is known of one, and the kinds of queues that are read."""

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
    """A LocalQueue's ClusterQueue, a KAI Queue's parent; empty for none."""
    halted: str = ""
    """The field, and its value, that keeps its workloads waiting; empty if none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueForm:
    """A kind of queues, and how one is read."""

    source: str
    kind: QueueKind
    title: str
    """Its name among its users."""
    versions: tuple[str, ...]
    """Those that can be read, the newest first."""
    read: Callable[[Mapping[str, Any]], Queue]
    """Reads a queue; what it does not say, or says wrongly, counts as not said."""
    of_cluster: bool = True
    """Whether its objects are in no namespace."""

    @property
    def plural(self) -> str:
        """The name that discovery has for it."""
        return f"{self.kind[1].lower()}s"

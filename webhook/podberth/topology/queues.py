"""The queues of all queueing systems: which queues exist, the parent of each, and why the workloads of a queue wait.

Kueue's LocalQueues and ClusterQueues, and the Queues of Volcano and KAI, are read. YuniKorn's queues are a tree in the
text of a ConfigMap, and placement rules create more queues, so podberth cannot say that a queue of YuniKorn does not
exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from typing import Final, TypeAlias

from ..kinds.dossiers import DOSSIERS
from ..kinds.queues import Queue, QueueForm, QueueKind

QueueKey: TypeAlias = tuple[str, str, str, str]
"""API group, kind, namespace (empty for a cluster-scoped kind) and name of a queue."""

QUEUE_FORMS: Final[Mapping[QueueKind, QueueForm]] = {each.kind: each for row in DOSSIERS for each in row.queues}
QUEUE_KINDS: Final = frozenset(QUEUE_FORMS)
"""The kinds of queues that podberth reads."""

_MOST_NAMED: Final = 3  # a line for people has room for no more


@dataclass(frozen=True)
class Queues:
    """The known queues, and the Kubernetes kinds of queues, such as LocalQueue, of which not all queues are known."""

    by_key: Mapping[QueueKey, Queue] = field(default_factory=dict)
    cut: frozenset[QueueKind] = frozenset()
    """The kinds of which only some queues are known."""
    listed: bool = True
    """Whether the API server listed all queues; if False, the queues come from files, which may lack queues.

    If the files have no queue of a namespace, nothing is reported about the queues of that namespace.
    """

    @cached_property
    def whole(self) -> frozenset[QueueKind]:
        """The kinds of which all queues are known: a queue of such a kind that is unknown does not exist.

        At least one queue of each of these kinds is known.
        """
        return frozenset(key[:2] for key in self.by_key) - self.cut

    def get(self, kind: QueueKind, name: str, namespace: str = "") -> Queue | None:
        """Return the queue called ``name``; None if the queue is unknown."""
        return self.by_key.get((*kind, namespace, name))

    def lacks(self, kind: QueueKind, name: str, namespace: str = "") -> bool:
        """Return whether the cluster certainly has no queue called ``name``."""
        if kind not in self.whole or self.get(kind, name, namespace) is not None:
            return False
        return self.listed or not namespace or bool(self.names(kind, namespace))

    def names(self, kind: QueueKind, namespace: str = "") -> tuple[str, ...]:
        """Return the names of the queues of a Kubernetes kind in a namespace, sorted: three at most, then "…"."""
        return self._first_names.get((*kind, namespace), ())

    def has_children(self, kind: QueueKind, name: str) -> bool:
        """Return whether any known queue has the queue called ``name`` as its parent."""
        return (*kind, name) in self._parents

    @cached_property
    def _first_names(self) -> Mapping[tuple[str, str, str], tuple[str, ...]]:
        """A mapping from (API group, kind, namespace) of queues to the first ``_MOST_NAMED`` names, sorted, then "…".

        The mapping is cached, because a workload may name a queue for each of its roles.
        """
        found: dict[tuple[str, str, str], list[str]] = {}
        for group, kind, namespace, name in self.by_key:
            found.setdefault((group, kind, namespace), []).append(name)
        return {
            key: (*nsmallest(_MOST_NAMED, names), "…") if len(names) > _MOST_NAMED else tuple(sorted(names))
            for key, names in found.items()
        }

    @cached_property
    def _parents(self) -> frozenset[tuple[str, str, str]]:
        """(API group, kind, name) of each queue that is the parent of another queue."""
        return frozenset((*key[:2], queue.leads_to) for key, queue in self.by_key.items())

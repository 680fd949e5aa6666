"""Queues of the systems that have them: which there are, where each leads, and what keeps its workloads waiting.

Read are Kueue's LocalQueues and ClusterQueues, and the Queues of Volcano and KAI. YuniKorn's stand in the text of a
ConfigMap, as a tree that its placement rules add to: nobody can tell from outside which do not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from typing import Any, Final, TypeAlias

from ..kinds.dossiers import DOSSIERS
from ..kinds.queues import Queue, QueueForm, QueueKind

QueueKey: TypeAlias = tuple[str, str, str, str]
"""API group, kind, namespace (empty for a kind of the cluster) and name."""

QUEUE_FORMS: Final[Mapping[QueueKind, QueueForm]] = {each.kind: each for row in DOSSIERS for each in row.queues}
QUEUE_KINDS: Final = frozenset(QUEUE_FORMS)
"""The kinds that are read."""

_MOST_NAMED: Final = 3  # a line for people has room for no more


@dataclass(frozen=True)
class Queues:
    """The queues that are known, and of which kinds these are all."""

    by_key: Mapping[QueueKey, Queue] = field(default_factory=dict)
    whole: frozenset[QueueKind] = frozenset()
    """Kinds of which a queue that is not known does not exist: those that the cluster is known to have any of."""
    listed: bool = True
    """Whether the API server was asked for all of them. Files hold what somebody has put there: of those is said no
    more than that a queue is not among them, and of a namespace that has none there nothing.
    """

    @classmethod
    def of(
        cls, by_key: Mapping[QueueKey, Queue], cut: frozenset[QueueKind] = frozenset(), *, listed: bool = True
    ) -> "Queues":
        """Return the queues of a cluster; of the kinds in ``cut`` some that it has are left out."""
        return cls(by_key, frozenset(key[:2] for key in by_key) - cut, listed)

    def get(self, kind: QueueKind, name: str, namespace: str = "") -> Queue | None:
        """Return a queue; None where it is not known."""
        return self.by_key.get((*kind, namespace, name))

    def lacks(self, kind: QueueKind, name: str, namespace: str = "") -> bool:
        """Tell whether there is no such queue, as far as anybody can know."""
        if kind not in self.whole or self.get(kind, name, namespace) is not None:
            return False
        return self.listed or not namespace or bool(self.names(kind, namespace))

    def names(self, kind: QueueKind, namespace: str = "") -> tuple[str, ...]:
        """Name the queues of a kind and namespace, sorted; three at the most, and then an ellipsis."""
        return self._first_names.get((*kind, namespace), ())

    def has_children(self, kind: QueueKind, name: str) -> bool:
        """Tell whether a queue is known that leads to that one."""
        return (*kind, name) in self._parents

    @cached_property
    def _first_names(self) -> Mapping[tuple[str, str, str], tuple[str, ...]]:
        """What ``names`` returns, by kind and namespace: a workload may name a queue for each of its roles."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for group, kind, namespace, name in self.by_key:
            found.setdefault((group, kind, namespace), []).append(name)
        return {
            key: (*nsmallest(_MOST_NAMED, names), "…") if len(names) > _MOST_NAMED else tuple(sorted(names))
            for key, names in found.items()
        }

    @cached_property
    def _parents(self) -> frozenset[tuple[str, str, str]]:
        """API group, kind and name of what some queue leads to."""
        return frozenset((*key[:2], queue.leads_to) for key, queue in self.by_key.items())


def read_queue(kind: QueueKind, document: Mapping[str, Any]) -> Queue:
    """Read a queue; what it does not say, or says wrongly, counts as not said."""
    return QUEUE_FORMS[kind].read(document)

"""The condition of policies that ask for nodes: whether the nodes' agents are heard.

It does not follow from the object, and replicas receive heartbeats at different moments. So it is written only after
the state has stayed the same for a while, and by each replica once for each change that it has seen itself: replicas do
not answer each other, and a short interruption writes nothing.
"""

from collections.abc import Callable, Collection
from typing import Any, Final

from ..api.protocol import Document
from ..files.source import Verdict

CONDITION: Final = "TopologyFresh"
# Without names and numbers, which change with every node: podberth status has them.
_SILENT: Final = (
    "heartbeats of agents have run out: policies count on none of these nodes, and deny nothing for it; "
    "podberth status names them"
)


class Settled:
    """A fact that counts once it has stayed the same for so long; until then ``value`` is None."""

    def __init__(self, seconds: float) -> None:
        """Start without a fact."""
        self._seconds = seconds
        self._seen: bool | None = None
        self._since = 0.0
        self.value: bool | None = None

    def see(self, seen: bool, at: float) -> None:
        """Note the present state at a time in seconds."""
        if seen != self._seen:
            self._seen, self._since = seen, at
        if at - self._since >= self._seconds:
            self.value = seen


class Freshness:
    """The condition as one replica writes it, and has written it."""

    def __init__(self, stale_nodes: Callable[[], int], settle_seconds: float) -> None:
        """Start without conditions. ``stale_nodes`` returns the number of nodes whose agent is silent."""
        self._stale_nodes = stale_nodes
        self._fresh = Settled(settle_seconds)
        self._said: dict[str, object] = {}
        self.readers: Collection[str] = ()
        """The policies that ask for nodes, by name."""

    def look(self, at: float) -> None:
        """Note the present state at a time in seconds."""
        self._fresh.see(not self._stale_nodes(), at)

    def keep(self, names: Collection[str]) -> None:
        """Forget the conditions of policies that no longer exist."""
        self._said = {name: each for name, each in self._said.items() if name in names}

    def due(self, document: Document, verdict: Verdict) -> dict[str, Any] | None:
        """Return the condition that a policy should have; its present one if this replica has nothing new to write."""
        if verdict.problems or verdict.name not in self.readers:
            return None
        if self._fresh.value is None or self._said.get(verdict.name) == self._turn(document, verdict):
            known = (document.get("status") or {}).get("conditions") or ()
            return next((dict(each) for each in known if each.get("type") == CONDITION), None)
        fresh = self._fresh.value
        return {
            "type": CONDITION,
            "status": "True" if fresh else "False",
            "observedGeneration": verdict.generation,
            "reason": "NoneSilent" if fresh else "AgentsSilent",
            "message": "" if fresh else _SILENT,
        }

    def said(self, document: Document, verdict: Verdict) -> None:
        """Note that the object has the condition that was due, whoever wrote it."""
        if self._fresh.value is not None:
            self._said[verdict.name] = self._turn(document, verdict)

    def _turn(self, document: Document, verdict: Verdict) -> object:
        return document["metadata"]["uid"], verdict.generation, self._fresh.value

"""Whether the nodes' agents are heard, as a condition of the policies that ask for nodes.

It does not follow from the object, and replicas hear of heartbeats at different moments. So it is said only of what has
stayed the same for a while, and by each replica once for each turn that it has seen itself: nobody answers another, and
a flap writes nothing.
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
    """A fact that counts once it has stayed the same for so long; ``value`` is None until it ever has."""

    def __init__(self, seconds: float) -> None:
        """Nothing has been seen yet."""
        self._seconds = seconds
        self._seen: bool | None = None
        self._since = 0.0
        self.value: bool | None = None

    def see(self, seen: bool, at: float) -> None:
        """Take in how it is at a time in seconds."""
        if seen != self._seen:
            self._seen, self._since = seen, at
        if at - self._since >= self._seconds:
            self.value = seen


class Freshness:
    """What one replica says of it, and has said."""

    def __init__(self, stale_nodes: Callable[[], int], settle_seconds: float) -> None:
        """Have said nothing. ``stale_nodes`` is how many nodes are known by an agent that is silent."""
        self._stale_nodes = stale_nodes
        self._fresh = Settled(settle_seconds)
        self._said: dict[str, object] = {}
        self.readers: Collection[str] = ()
        """The policies that ask for nodes, by name."""

    def look(self, at: float) -> None:
        """Take in how it is at a time in seconds."""
        self._fresh.see(not self._stale_nodes(), at)

    def keep(self, names: Collection[str]) -> None:
        """Forget what was said of policies that are no longer there."""
        self._said = {name: each for name, each in self._said.items() if name in names}

    def due(self, document: Document, verdict: Verdict) -> dict[str, Any] | None:
        """Return the condition that a policy should have; what it has where this replica has nothing new to say."""
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
        """Take in that the condition which was due stands in the object, whoever wrote it."""
        if self._fresh.value is not None:
            self._said[verdict.name] = self._turn(document, verdict)

    def _turn(self, document: Document, verdict: Verdict) -> object:
        return document["metadata"]["uid"], verdict.generation, self._fresh.value

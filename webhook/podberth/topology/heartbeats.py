"""The heartbeats of node agents: a Lease each, which runs out when it is not renewed.

Agents and watchers have clocks of their own. So, as the node lifecycle controller does (pkg/controller/nodelifecycle),
a Lease is judged by when its change was seen and not by the time that it names: however wrong an agent's clock, a Lease
that keeps changing is fresh, and one that stops runs out. Only of a Lease that is seen for the first time its own time
is all there is to go by.

Whoever watches passes the time, in seconds of a clock that never goes back and stands still while nothing can be seen
(``Sight``).
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_MOST_SECONDS = 2**31 - 1  # LeaseSpec.leaseDurationSeconds is an int32 (k8s.io/api coordination/v1)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a Lease says."""

    renewed: datetime
    """By its holder's clock, with a time zone."""
    seconds: int
    """How long it lasts from then."""


def read_heartbeat(lease: Mapping[str, Any]) -> Heartbeat | None:
    """Read a Lease; None where it says no time, or not for how long."""
    spec = lease.get("spec")
    if not isinstance(spec, dict):
        return None
    renewed, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds > _MOST_SECONDS:
        return None
    try:
        # A YAML reader may have made a time of it already.
        moment = renewed if isinstance(renewed, datetime) else datetime.fromisoformat(str(renewed))
    except ValueError:
        return None
    return Heartbeat(moment, seconds) if moment.tzinfo else None


class Heartbeats:
    """Which nodes' heartbeats have run out."""

    def __init__(self) -> None:
        """Know none."""
        self._beats: dict[str, Heartbeat] = {}
        self._due: dict[str, float] = {}
        # When to look at a name: at the latest when it runs out, and often earlier, for renewing moves nothing.
        self._queue: list[tuple[float, str]] = []
        self._queued: dict[str, float] = {}

    def renew(self, name: str, lease: Mapping[str, Any], *, now: datetime, at: float) -> bool:
        """Take in a Lease as it is now; return whether it is one that can be read.

        Args:
            name: the node's.
            lease: the object.
            now: the time by the watcher's own clock, for a Lease that was not known.
            at: the same moment by the clock that runs out.
        """
        beat, before = read_heartbeat(lease), self._beats.get(name)
        if beat is None:
            self._beats.pop(name, None)
            self._due[name] = float("-inf")
        elif beat != before:
            left = float(beat.seconds)
            if before is None and name not in self._due:
                left = min(left, (beat.renewed - now).total_seconds() + beat.seconds)
            self._beats[name] = beat
            self._due[name] = at + left
        self._look(name, self._due[name])
        return beat is not None

    def forget(self, name: str) -> None:
        """Take a Lease away; a node without one is not stale, as ``objects.is_stale`` says."""
        self._beats.pop(name, None)
        self._due.pop(name, None)

    def run_out(self, at: float) -> list[str]:
        """Return the names that have run out since this was last asked; each is named again once it was renewed."""
        found = []
        while self._queue and self._queue[0][0] < at:
            queued, name = heapq.heappop(self._queue)
            if self._queued.get(name) != queued:
                continue  # it was queued for an earlier moment since
            del self._queued[name]
            due = self._due.get(name)
            if due is not None and due < at:
                found.append(name)
            elif due is not None:
                self._look(name, due)
        return found

    def _look(self, name: str, due: float) -> None:
        if due < self._queued.get(name, float("inf")):
            self._queued[name] = due
            heapq.heappush(self._queue, (due, name))

    def stale(self, name: str, at: float) -> bool:
        """Return whether a node's heartbeat has run out."""
        due = self._due.get(name)
        return due is not None and due < at

    @property
    def next_at(self) -> float | None:
        """When ``run_out`` is to be asked at the latest; None where nothing can run out."""
        return self._queue[0][0] if self._queue else None


class Sight:
    """A clock that stands still while Leases cannot be seen: who is not watched must not run out.

    From the last sign of life before the loss, which is noticed later, to the first after it. Heartbeats then have left
    what they had, which is what agents need to reach an API server that has just come back.
    """

    def __init__(self) -> None:
        """See, and have missed nothing."""
        self._blind_seconds = 0.0
        self._lost_at: float | None = None

    def read(self, at: float) -> float:
        """Return the time of this clock at a moment of a clock that never stands still."""
        return (at if self._lost_at is None else self._lost_at) - self._blind_seconds

    def lose(self, at: float) -> None:
        """Stand still from that moment; nothing where it stands already."""
        if self._lost_at is None:
            self._lost_at = at

    def regain(self, at: float) -> None:
        """Go on; nothing where it goes."""
        if self._lost_at is not None:
            self._blind_seconds += max(0.0, at - self._lost_at)
            self._lost_at = None

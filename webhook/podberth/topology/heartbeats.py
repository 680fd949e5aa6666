"""The heartbeats of node agents: one Lease each, which expires when it is not renewed.

Agents and watchers have their own clocks. So, as in the node lifecycle controller (pkg/controller/nodelifecycle), a
Lease is judged by the time when its change was seen, and not by the time in it: however wrong an agent's clock is, a
Lease that keeps changing is fresh, and one that stops expires. Only a Lease that is seen for the first time is judged
by its own time.

The watcher passes the time, in seconds of a monotonic clock that stops while nothing can be seen (``WatchClock``).
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_MOST_SECONDS = 2**31 - 1  # LeaseSpec.leaseDurationSeconds is an int32 (k8s.io/api coordination/v1)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The content of a Lease."""

    renewed: datetime
    """The time of the holder's clock, with a time zone."""
    seconds: int
    """The number of seconds until it expires."""


def read_heartbeat(lease: Mapping[str, Any]) -> Heartbeat | None:
    """Read a Lease; None where it has no time or no duration."""
    spec = lease.get("spec")
    if not isinstance(spec, dict):
        return None
    renewed, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds > _MOST_SECONDS:
        return None
    try:
        # A YAML reader may have parsed the time already.
        moment = renewed if isinstance(renewed, datetime) else datetime.fromisoformat(str(renewed))
    except ValueError:
        return None
    return Heartbeat(moment, seconds) if moment.tzinfo else None


def has_run_out(beat: Heartbeat, now: datetime) -> bool:
    """Tell whether a heartbeat was last renewed longer ago than it lasts."""
    return (now - beat.renewed).total_seconds() > beat.seconds


def is_stale(lease: Mapping[str, Any] | None, now: datetime) -> bool:
    """Tell whether a heartbeat Lease has run out.

    No Lease is no proof (the document may come from a file). One that cannot be read is as good as none renewed.
    """
    if lease is None:
        return False
    beat = read_heartbeat(lease)
    return beat is None or has_run_out(beat, now)


class Heartbeats:
    """The nodes whose heartbeats have expired."""

    def __init__(self) -> None:
        """Start without any Lease."""
        self._beats: dict[str, Heartbeat] = {}
        self._due: dict[str, float] = {}
        # When to check a name: at the latest when it expires, and often earlier, because a renewal moves no entry.
        self._queue: list[tuple[float, str]] = []
        self._queued: dict[str, float] = {}

    def renew(self, name: str, lease: Mapping[str, Any], *, now: datetime, at: float) -> bool:
        """Add or update a Lease; return whether it is readable.

        Args:
            name: the node's.
            lease: the object.
            now: the time by the watcher's own clock, for a Lease that was not known.
            at: the same moment by the clock that decides expiry.
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
        """Remove a Lease; a node without one is not stale, as in ``is_stale``."""
        self._beats.pop(name, None)
        self._due.pop(name, None)

    def run_out(self, at: float) -> list[str]:
        """Return the names that have expired since the last call; a renewed name can expire again."""
        found = []
        while self._queue and self._queue[0][0] < at:
            queued, name = heapq.heappop(self._queue)
            if self._queued.get(name) != queued:
                continue  # it was queued for an earlier moment
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
        """Return whether a node's heartbeat has expired."""
        due = self._due.get(name)
        return due is not None and due < at

    @property
    def next_at(self) -> float | None:
        """The latest time for the next call of ``run_out``; None where nothing can expire."""
        return self._queue[0][0] if self._queue else None


class WatchClock:
    """A clock that stops while Leases cannot be seen: an unwatched Lease must not expire.

    It stops from the last sign of life before the loss, which is noticed later, to the first one after it. Heartbeats
    then keep the time they had left, which agents need to reach an API server that has just come back.
    """

    def __init__(self) -> None:
        """Start with a working watch and no lost time."""
        self._blind_seconds = 0.0
        self._lost_at: float | None = None

    def read(self, at: float) -> float:
        """Return this clock's time at a moment of a clock that never stops."""
        return (at if self._lost_at is None else self._lost_at) - self._blind_seconds

    def lose(self, at: float) -> None:
        """Stop at that moment; no effect where it is stopped already."""
        if self._lost_at is None:
            self._lost_at = at

    def regain(self, at: float) -> None:
        """Go on; no effect where it runs."""
        if self._lost_at is not None:
            self._blind_seconds += max(0.0, at - self._lost_at)
            self._lost_at = None

"""Tracks the heartbeats of node agents. Each agent renews one Lease, which expires if the agent stops.

The clocks of agents and watchers differ. So the moment when the watcher saw a Lease change is used, and not the time in
the Lease. The node lifecycle controller (pkg/controller/nodelifecycle) does this, too. A Lease that keeps changing is
fresh, however wrong the agent's clock is. Only when a Lease is seen for the first time, the time in the Lease is used.

The caller passes the time in seconds of a monotonic clock that stops while the watch is interrupted (``WatchClock``).
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..kube.unchecked import mapping_at

_MOST_SECONDS = 2**31 - 1  # LeaseSpec.leaseDurationSeconds is an int32 (k8s.io/api coordination/v1)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The fields of an agent's Lease that decide when the Lease expires."""

    renewed: datetime
    """The time of the last renewal by the agent's clock, with a time zone."""
    seconds: int
    """The number of seconds from a renewal until the Lease expires."""


def read_heartbeat(lease: Mapping[str, Any]) -> Heartbeat | None:
    """Return the heartbeat in a Lease; None if the Lease's time or duration is absent or invalid."""
    spec = mapping_at(lease, "spec")
    renewed, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if type(seconds) is not int or seconds > _MOST_SECONDS:
        return None
    try:
        # A YAML reader may have parsed the time already.
        moment = renewed if isinstance(renewed, datetime) else datetime.fromisoformat(str(renewed))
    except ValueError:
        return None
    return Heartbeat(moment, seconds) if moment.tzinfo else None


def has_run_out(beat: Heartbeat, now: datetime) -> bool:
    """Return whether a heartbeat has expired at the time ``now``."""
    return (now - beat.renewed).total_seconds() > beat.seconds


def is_stale(lease: Mapping[str, Any] | None, now: datetime) -> bool:
    """Return whether a heartbeat Lease has expired.

    False if there is no Lease, because the topology may come from a file. True if the Lease cannot be read.
    """
    if lease is None:
        return False
    beat = read_heartbeat(lease)
    return beat is None or has_run_out(beat, now)


class Heartbeats:
    """The known heartbeat Leases of all nodes, with the time at which each expires."""

    def __init__(self) -> None:
        self._beats: dict[str, Heartbeat] = {}
        self._due: dict[str, float] = {}
        # When to check a name: at the latest when it expires, and often earlier, because a renewal moves no entry.
        self._queue: list[tuple[float, str]] = []
        self._queued: dict[str, float] = {}

    def renew(self, name: str, lease: Mapping[str, Any], *, now: datetime, at: float) -> bool:
        """Add or update the Lease of a node; return whether the Lease could be read.

        Args:
            name: the node's name.
            lease: the Lease object.
            now: the time by the watcher's own clock, used only for a Lease that is seen for the first time.
            at: the moment ``now`` by the clock that decides expiry.
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
        """Remove the Lease of a node. A node without a Lease does not count as stale."""
        self._beats.pop(name, None)
        self._due.pop(name, None)

    def run_out(self, at: float) -> list[str]:
        """Return the names of the nodes whose heartbeat has expired, or become unreadable, since the last call.

        ``at`` is the time now, in seconds, by the clock that decides expiry. A node is returned again if its Lease was
        renewed and has expired again.
        """
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
        """Return whether a node's heartbeat has expired at the time ``at``, by the clock that decides expiry."""
        due = self._due.get(name)
        return due is not None and due < at

    @property
    def next_at(self) -> float | None:
        """The time by which ``run_out`` has to be called next; None if no heartbeat can expire."""
        return self._queue[0][0] if self._queue else None


class WatchClock:
    """A clock that stops while the watch on Leases is interrupted: no Lease expires during an interruption.

    An interruption is noticed late. The clock leaves out all time from the last event before the interruption to the
    first event after the interruption. So each heartbeat keeps its remaining time; agents need that time to reach a
    restarted API server.
    """

    def __init__(self) -> None:
        self._blind_seconds = 0.0
        self._lost_at: float | None = None

    def read(self, at: float) -> float:
        """Return the time of this clock, in seconds, at the moment when the monotonic clock shows ``at`` seconds.

        The clock is behind the monotonic clock by the seconds for which the watch was interrupted.
        """
        return (at if self._lost_at is None else self._lost_at) - self._blind_seconds

    def lose(self, at: float) -> None:
        """Stop the clock when the watch is interrupted; no effect if the clock is stopped already.

        ``at`` is the monotonic clock's time of the last event before the interruption.
        """
        if self._lost_at is None:
            self._lost_at = at

    def regain(self, at: float) -> None:
        """Start the clock again when the watch works again; no effect if the clock runs.

        ``at`` is the monotonic clock's time of the first event after the interruption.
        """
        if self._lost_at is not None:
            self._blind_seconds += max(0.0, at - self._lost_at)
            self._lost_at = None

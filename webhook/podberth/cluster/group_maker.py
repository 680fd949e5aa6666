"""Follows the Lease of podberth's controller; if no replica holds the Lease, the PodGroups are not made."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from ..api.protocol import CONTROLLER, Document, Resource, Timing
from ..kube.unchecked import text_at
from ..topology.heartbeats import Heartbeats, WatchClock

# A third of the time that a Lease lasts (api.election.Term): a controller that has ended is noticed soon enough.
_LOOK_SECONDS: Final = 5.0
# A connection that is broken without a sign delivers no renewal, and is noticed after this time.
_SILENCE_SECONDS: Final = Timing().silence_seconds


class GroupMaker:
    """Knows whether a replica of podberth's controller runs, because a running replica renews the Lease in time."""

    def __init__(self, notify: Callable[[], None]) -> None:
        """Create the object without knowledge of the Lease.

        ``notify`` is called when the attribute ``is_away`` (no replica of the controller runs) has changed.
        """
        self.is_away = False
        """Whether surely no replica of the controller runs: the Lease was listed, and is missing or without a holder.

        A Lease that expired after the last event still counts as held, until a broken watch would be noticed.
        """
        self.sinks: Mapping[Resource, GroupMaker] = {CONTROLLER: self}
        self._notify = notify
        self._held: set[str] = set()
        self._heard_at = 0.0
        self._beats = Heartbeats()
        self.sight = WatchClock()
        """The clock by which the Lease expires; it stops while the watch of the Lease is lost."""
        self._wake = asyncio.Event()

    async def hand_on(self) -> None:
        """Update ``is_away`` now, after each change of the Lease, and when the Lease expires, until cancelled.

        The attribute says whether no replica of the controller runs.
        """
        while True:
            self._wake.clear()
            at = max(self._heard_at, self.sight.read(time.monotonic()) - _SILENCE_SECONDS)
            away = all(self._beats.stale(name, at) for name in self._held)
            if away != self.is_away:
                self.is_away = away
                self._notify()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _LOOK_SECONDS)

    def put(self, name: str, document: Document) -> None:
        """Record that the Lease exists, and that the holder renewed the Lease."""
        self._heard_at = self.sight.read(time.monotonic())
        if text_at(document, "spec", "holderIdentity"):
            self._held.add(name)
            self._beats.renew(name, document, now=datetime.now(UTC), at=self._heard_at)
        else:  # a replica that ends gives it back
            self._held.discard(name)
        self._wake.set()

    def drop(self, name: str) -> None:
        """Record that the Lease was deleted."""
        self._held.discard(name)
        self._beats.forget(name)
        self._wake.set()

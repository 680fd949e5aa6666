"""Keeps the index of the cluster's nodes up to date from three watched resources: Nodes, ConfigMaps and Leases.

All code here runs on the event loop, in steps of a few milliseconds between reviews, so nothing is locked.
``topology.known`` keeps the facts and ``topology.heartbeats`` the stale nodes; this module passes the objects to both
modules, and passes the index on.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from ..api.protocol import HEARTBEATS, NODES, TOPOLOGIES, Document, Resource
from ..conventions import Conventions
from ..errors import TopologyError
from ..telemetry.log import Log
from ..topology.heartbeats import Heartbeats, WatchClock
from ..topology.index import TopologyIndex
from ..topology.known import KnownNodes

# Events that arrive together make one snapshot, because each new snapshot starts without remembered answers. The time
# is a tenth of the second in which an event has to take effect.
_TOGETHER_SECONDS = 0.1
# The number of nodes that are added to the index at a time: each takes some 30 us, and the index's tables are copied
# once for all. While the first list is added no review waits, only probes do.
_STEP, _FIRST_STEP = 50, 2000
# How long a document may exist without its Node before it is reported: garbage collection of a deleted Node's objects
# takes seconds.
_ORPHAN_SECONDS = 30.0


class LiveTopology:
    """Follows the Nodes, topology ConfigMaps and heartbeat Leases of one cluster, and keeps an index of the nodes."""

    def __init__(self, conventions: Conventions, log: Log, on_change: Callable[[TopologyIndex], None]) -> None:
        """Create the object without nodes. ``on_change`` receives the index, first when all resources are listed."""
        self._log = log
        self._on_change = on_change
        self._known = KnownNodes(conventions)
        self._index = TopologyIndex.build((), conventions)
        self._heartbeats = Heartbeats()
        self._sight = WatchClock()
        self._wake = asyncio.Event()
        self._orphans: dict[str, float] = {}
        self._orphans_at = 0.0
        known = self._known
        self.sinks: Mapping[Resource, Documents] = {
            NODES: Documents(NODES.name, known.put_node, known.drop_node, self._wake.set, log),
            TOPOLOGIES: Documents(TOPOLOGIES.name, known.put_topology, known.drop_topology, self._wake.set, log),
            HEARTBEATS: Documents(HEARTBEATS.name, self._renew, self._forget, self._wake.set, log, self._sight),
        }

    @property
    def stale_count(self) -> int:
        """The number of nodes with a known topology whose agent's heartbeat has expired."""
        return self._known.stale_count

    def left_out(self, resource: Resource) -> Mapping[str, int]:
        """Return a mapping from a reason to the number of a resource's objects that cannot be used for that reason."""
        unreadable = {"unreadable": len(self.sinks[resource].left_out)}
        return {**unreadable, "no node": len(self._known.orphans())} if resource is TOPOLOGIES else unreadable

    # ---- the index --------------------------------------------------------------------------------------------------

    async def hand_on(self) -> None:
        """Update the index of nodes and call ``on_change`` with it: now, and after each change or expired heartbeat.

        The caller waits until all resources are listed before the call. The method runs until the task is cancelled.
        """
        await self._update(_FIRST_STEP)
        self._on_change(self._index)
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._patience())
            self._wake.clear()
            self._run_out()
            self._log_orphans()
            if self._known.changed:
                await asyncio.sleep(_TOGETHER_SECONDS)
                before = self._index
                await self._update(_STEP)
                if self._index is not before:
                    self._on_change(self._index)

    async def _update(self, step: int) -> None:
        """Add the changes so far to the index, ``step`` objects at a time; later changes wait for the next update."""
        self._run_out()
        for _ in range(0, self._known.changed, step):
            try:
                self._index = self._index.update(*self._known.take_changes(step))
            except Exception as bug:  # noqa: BLE001 - it must not end the watch
                self._log.fault("topology: a bug in podberth; some nodes stay as they were known", bug)
            await asyncio.sleep(0)

    def _patience(self) -> float:
        """Return the seconds until the next check of the heartbeats, and of topology documents without a Node.

        The result is 0 if the index has to change now, else at least a tenth of a second, so that events that arrive
        together change the index once.
        """
        if self._known.changed:
            return 0.0
        due = self._heartbeats.next_at
        left = _ORPHAN_SECONDS if due is None else due - self._sight.read(time.monotonic())
        return max(min(left, _ORPHAN_SECONDS), _TOGETHER_SECONDS)

    # ---- heartbeats -------------------------------------------------------------------------------------------------

    def _renew(self, name: str, lease: Document) -> None:
        at = self._sight.read(time.monotonic())
        readable = self._heartbeats.renew(name, lease, now=datetime.now(UTC), at=at)
        self._known.set_stale(name, stale=self._heartbeats.stale(name, at))
        if not readable:
            raise TopologyError(
                f"Lease {name}: got no spec.renewTime or spec.leaseDurationSeconds, want both; its node counts as stale"
            )

    def _forget(self, name: str) -> None:
        self._heartbeats.forget(name)
        self._known.set_stale(name, stale=False)

    def _run_out(self) -> None:
        for name in self._heartbeats.run_out(self._sight.read(time.monotonic())):
            self._known.set_stale(name, stale=True)

    # ---- reports ----------------------------------------------------------------------------------------------------

    def _log_orphans(self) -> None:
        now = time.monotonic()
        if now < self._orphans_at + _ORPHAN_SECONDS:
            return
        self._orphans_at, orphans = now, self._known.orphans()
        self._orphans = {name: self._orphans.get(name, now) for name in orphans}
        for name, since in self._orphans.items():
            if since < now:  # the previous check has found this orphan, too
                problem = f"ConfigMap {name}: topology of a node that is not there"
                self._log.event("warning", "topology", problem=problem)
                self._orphans[name] = float("inf")  # logged


class Documents:
    """Receives the objects of a resource, passes them to a function, and counts unusable objects."""

    def __init__(
        self,
        resource: str,
        take: Callable[[str, Document], None],
        drop: Callable[[str], None],
        notify: Callable[[], None],
        log: Log,
        sight: WatchClock | None = None,
    ) -> None:
        """Create the receiver. The receiver calls ``take`` with each object, ``drop`` with a deleted object's name.

        After ``take`` or ``drop``, the receiver calls ``notify``. ``resource`` is the name for messages. ``sight`` is a
        clock that stops while the watch is lost; None if the functions need none.
        """
        self.left_out: set[str] = set()
        self.sight = sight
        self._resource, self._take, self._drop, self._notify, self._log = resource, take, drop, notify, log

    def put(self, name: str, document: Document) -> None:
        """Pass an object to the function ``take``, and log an error if the object cannot be used.

        Further errors of the object are not logged until the object could be used again.
        """
        reported = name in self.left_out
        self.left_out.add(name)
        try:
            self._take(name, document)
        except TopologyError as error:
            if not reported:
                self._log.event("warning", "topology", problem=str(error))
        except Exception as bug:  # noqa: BLE001 - a bug in handling one document must affect that one only
            if not reported:
                self._log.fault(f"{self._resource} {name}: a bug in podberth", bug)
        else:
            self.left_out.discard(name)
        self._notify()

    def drop(self, name: str) -> None:
        """Pass the name of a deleted object to the function ``drop``."""
        self.left_out.discard(name)
        self._drop(name)
        self._notify()

"""Follows one resource: lists the objects page by page, then watches for changes, again and again without end.

``protocol`` interprets answers and events and computes the waits, and the sink interprets objects.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..errors import ClusterError, TooLongError
from ..telemetry.log import Level, Log
from ..topology.heartbeats import WatchClock
from .opening import Client
from .protocol import (
    LARGEST_PAGE_BYTES,
    AnswerLimits,
    Document,
    Drop,
    Event,
    Lines,
    ListReason,
    Pace,
    Page,
    Put,
    Refusals,
    Resource,
    Timing,
    read_event,
    read_page,
)

if TYPE_CHECKING:
    from ..telemetry.watch_metrics import WatchCounts

PAGE: Final = 500
"""The number of objects in one page of a list: the same as in client-go's pager (tools/pager, defaultPageSize)."""
# How long documents may be processed before the event loop can answer reviews: as long as a slow review takes.
_HELD_SECONDS = 0.002
# Pages are smaller than client-go's, because a whole parsed page is in memory, and a Node has 11 KiB and more: with 500
# objects the process stays 40 MiB larger and is no faster (bench.live). Parsing also blocks the event loop, some 7 ms
# for 100 Nodes. That does not matter before the first review; later pages are smaller.
_FIRST_PAGE, _LATER_PAGE = 100, 50
_SMALLER: Final = 8
"""The divisor of the size of pages after one that is too long."""


class Sink(Protocol):
    """Receives the objects of a resource, and the changes of the objects, from a reflector."""

    @property
    def sight(self) -> WatchClock | None:
        """The clock that stops while no changes arrive; None if the sink needs none. The known objects stay."""

    def put(self, name: str, document: Document) -> None:
        """Receive an object that is new or has changed."""

    def drop(self, name: str) -> None:
        """Receive the name of an object that no longer exists."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The access to one cluster that reflectors share: new clients, the counters of watches, the log, the timing."""

    connect: Callable[[], Client]
    """A function that creates a client of the cluster."""
    metrics: "WatchCounts"
    log: Log
    timing: Timing


class Reflector:
    """Lists and watches one resource, and passes the resource's objects to a sink."""

    def __init__(self, resource: Resource, client: Client, sink: Sink, access: ClusterAccess) -> None:
        """Create the reflector of a resource; ``run`` starts the reflector.

        The client must not be shared with another reflector, because a failure resets the client.
        """
        self.resource = resource
        self.listed = asyncio.Event()
        """An event that is set when all objects have been listed for the first time."""
        self.when_listed: Callable[[], None] = lambda: None
        """The function that is called each time that all objects have been listed."""
        self.contact_at = time.monotonic()
        """The time of the API server's last answer, by the monotonic clock."""
        self.trouble = ""
        """The reason why the last list or watch failed (``protocol.Reason``); empty if the last list or watch
        succeeded.
        """
        self._client = client
        self._sink = sink
        self._metrics, self._log, self._timing = access.metrics, access.log, access.timing
        self._pace = Pace(self._timing, random.random)
        self._refusals = Refusals(self._timing)
        self.known: dict[str, str] = {}
        """The versions of the objects that the sink has received, by the objects' names."""
        self._version = ""
        self._why: ListReason = "start"
        self._resync_at = 0.0

    async def run(self) -> None:
        """List and watch the resource until the task is cancelled; at the end, the client's connections are closed.

        Raises:
            ClusterError: a retry would not help. Either the API server has refused every request for the configured
                time (``Timing.refused_seconds``) before the first list was complete; or an optional resource is refused
                at the first list; or an optional resource is not served.
        """
        try:
            while True:
                await self._follow()
        finally:
            await self._client.reset()

    async def _follow(self) -> None:
        """List the resource, if that is due, and watch it until the watch ends; then wait until the next try."""
        lived, asked, reason = 0.0, 0.0, "ended"
        try:
            if not self._version:
                await self._list()
            began = time.monotonic()
            try:
                await self._watch()
            finally:
                lived = time.monotonic() - began
        except ClusterError as error:
            if self._is_over(error):
                raise
            await self._fail(error)
            asked, reason = error.retry_after_seconds, error.reason
        except Exception as bug:  # noqa: BLE001 - a bug in handling one answer must not end the watch
            self._log.fault(f"{self.resource.name}: a bug in podberth; all objects are listed again", bug)
            self._expire("expired")
            reason = "bug"
        if self._version and time.monotonic() >= self._resync_at:
            self._expire("resync")
        self._metrics.restarted(self.resource.name, reason)
        await asyncio.sleep(self._pace.wait_seconds(lived, asked))

    def _is_over(self, error: ClusterError) -> bool:
        refused = error.reason == "refused" and not self.listed.is_set()
        if self.resource.optional:
            return refused or error.status == HTTPStatus.NOT_FOUND
        return self._refusals.lasting(error, time.monotonic()) and refused

    async def _fail(self, error: ClusterError) -> None:
        """Log a failure, stop the sink's clock because no changes arrive, and reset the client for the next try."""
        name = self.resource.name
        if error.reason == "expired":
            self._expire("expired")
        self.trouble = error.reason
        if self._sink.sight is not None:
            self._sink.sight.lose(self.contact_at)
        state = "the last known state stays in force" if self.listed.is_set() else "nothing is known yet"
        # If the kind does not change, silence is no fault (Timing.silence_seconds). If it is one, the next try fails.
        level: Level = "info" if error.reason == "silent" else "warning"
        self._log.event(level, f"{name}: the watch is lost; {state}", reason=error.reason, problem=str(error))
        await self._client.reset()

    def _expire(self, why: ListReason) -> None:
        self._version, self._why = "", why

    # ---- listing ----------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        """List all objects and pass them to the sink; drop the known objects that are not in the list.

        The request has no resourceVersion, so the API server answers with the present state. With resourceVersion=0,
        the API server may answer with any past state, even with a state older than the known objects. Since 1.34, the
        API server pages from the watch cache either way (docs/adr/0018-watching-the-cluster.md has the measurement).
        """
        name, why = self.resource.name, self._why
        began, seen, version = time.monotonic(), set[str](), ""
        size = _LATER_PAGE if self.listed.is_set() else _FIRST_PAGE
        limits = AnswerLimits(self._timing.list_seconds, LARGEST_PAGE_BYTES)
        async for page in pages(self._client, self.resource, size=size, limits=limits):
            self._heard()
            await self._take(page.items)
            seen.update(item.name for item in page.items)
            version = page.version
        await self._take(Drop(gone, version) for gone in self.known.keys() - seen)
        self._version = version
        self._resync_at = time.monotonic() + self._timing.resync_seconds * (1 + random.random()) / 2  # noqa: S311 - to spread
        self._metrics.listed(name, why)
        seconds = round(time.monotonic() - began, 3)
        self._log.event("info", "listed", resource=name, reason=why, objects=len(seen), seconds=seconds)
        self.listed.set()
        self.when_listed()

    # ---- watching ---------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Watch the resource, and pass each event to the sink, until the API server ends the watch."""
        least = self._timing.watch_seconds
        until_resync = self._resync_at - time.monotonic()
        lasts = max(1.0, min(least * (1 + random.random()), until_resync))  # noqa: S311 - to spread
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(int(lasts)),
            **self.resource.selection,
        }
        what, everywhere = f"watch of {self.resource.name}", self.resource.of_all_namespaces
        lines = Lines(what)
        async with self._client.stream(self.resource.path, query) as chunks:
            self._heard()
            async for chunk in chunks:
                self._heard()
                await self._take(
                    read_event(line, what, self._version, of_all_namespaces=everywhere) for line in lines.feed(chunk)
                )

    def _heard(self) -> None:
        self.contact_at = time.monotonic()
        if self.trouble:
            self.trouble = ""
            self._log.event("info", f"{self.resource.name}: the API server answers again")
            if self._sink.sight is not None:
                self._sink.sight.regain(self.contact_at)

    async def _take(self, events: Iterable[Event]) -> None:
        """Pass events to the sink, with pauses in which the event loop can answer reviews."""
        began = time.perf_counter()
        for event in events:
            self._hand_on(event)
            if time.perf_counter() - began > _HELD_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()

    def _hand_on(self, event: Event) -> None:
        known = self.known
        if isinstance(event, Put):
            # A list after a lost watch mostly repeats known objects, which need not be passed on again.
            if known.get(event.name) != event.version:
                known[event.name] = event.version
                self._sink.put(event.name, event.document)
        elif isinstance(event, Drop) and known.pop(event.name, None) is not None:
            self._sink.drop(event.name)
        if self._version:  # it is empty while objects are listed
            self._version = event.version


async def pages(
    client: Client, resource: Resource, *, size: int = PAGE, limits: AnswerLimits | None = None
) -> AsyncIterator[Page]:
    """Yield the pages of a list of a resource; a caller may stop after any page.

    Each page has at most ``size`` objects. If a page is longer than ``limits`` allows, the page is requested again with
    an eighth of the objects, at least one object. If ``limits`` is None, a page may have any length.

    Raises:
        ClusterError: a page cannot be read; the error's ``reason`` is ``expired`` if the list took too long.
    """
    token = ""
    while True:
        asked = {**resource.selection, "limit": str(size), **({"continue": token} if token else {})}
        try:
            body = await (client.get(resource.path, asked, limits) if limits else client.get(resource.path, asked))
        except TooLongError:
            if size == 1:
                raise
            size = max(1, size // _SMALLER)
            continue
        page = read_page(body, f"list of {resource.name}", of_all_namespaces=resource.of_all_namespaces)
        yield page
        token = page.next_page
        if not token:
            return


async def run_together(endless: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all coroutines until one coroutine ends or the caller is cancelled; then cancel the other coroutines.

    All coroutines have ended when this function returns.

    Raises:
        Exception: the exception of the coroutine that ended first.
    """
    tasks = [asyncio.create_task(each) for each in endless]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

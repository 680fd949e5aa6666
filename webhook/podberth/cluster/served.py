"""Follows the kinds that a cluster may or may not serve: finds out which kinds are served, and follows those kinds.

The cluster need not serve any of the kinds. A kind that is not served delays nothing. The kinds that are served at the
start are listed before podberth is ready. A kind that is refused or cannot be read delays readiness for
``refused_seconds`` at most. A CRD may appear and disappear at any time.
"""

import asyncio
import random
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from ..api.opening import Client
from ..api.protocol import Pace, Resource, read_kinds, read_versions
from ..api.reflector import ClusterAccess, Reflector
from ..errors import ClusterError
from ..facts.object_kinds import Kind
from ..kube.api_path import ApiPath, collection_path, version_path
from ..telemetry.watch_metrics import KindState, WatchFacts
from .required import watch_facts
from .workloads import Filed

# Failures that may concern a single kind, for example because its conversion webhook is down.
_BROKEN: Final = frozenset({"failed", "garbled"})
_FORGOTTEN: Final = "no longer served; what was known of it is forgotten"


def resource_of(kind: Kind, version: str) -> Resource:
    """Return the resource to watch for the objects of a kind in the given API version."""
    path = collection_path(f"{kind.group}/{version}", kind.plural)
    return Resource(kind.name, path, of_all_namespaces=not kind.of_cluster, optional=True)


async def discover(client: Client, kinds: Iterable[Kind]) -> dict[Kind, Resource]:
    """Return a mapping from each kind in ``kinds`` that the cluster serves to the resource to watch.

    Raises:
        ClusterError: the API server does not answer or refuses.
    """
    wanted = list(kinds)
    groups = read_versions(await client.get(ApiPath("apis"), {}))
    plurals: dict[str, frozenset[str]] = {}
    found: dict[Kind, Resource] = {}
    for kind in wanted:
        for version in kind.versions:
            group_version = f"{kind.group}/{version}"
            if group_version not in groups.get(kind.group, ()):
                continue
            if group_version not in plurals:
                plurals[group_version] = await _plurals(client, group_version)
            if kind.plural in plurals[group_version]:
                found[kind] = resource_of(kind, version)
                break
    return found


async def _plurals(client: Client, group_version: str) -> frozenset[str]:
    try:
        kinds = read_kinds(await client.get(version_path(group_version), {}), group_version)
        return frozenset(each.plural for each in kinds if {"list", "watch"} <= each.verbs)
    except ClusterError as error:
        if error.status == HTTPStatus.NOT_FOUND:  # deleted in between
            return frozenset()
        raise


@dataclass(frozen=True, slots=True)
class _Followed:
    reflector: Reflector
    task: asyncio.Task[None]


class ServedKinds:
    """Follows each of several kinds while the cluster serves the kind."""

    def __init__(self, sinks: Mapping[Kind, Filed], access: ClusterAccess, *, patient: bool = False) -> None:
        """Create the object; ``run`` starts to follow kinds and passes the objects of each to the kind's sink.

        The event ``settled`` is set when each kind is listed, not served, refused or unreadable. With ``patient``, an
        unreadable kind does not count: ``settled`` is set only after the kind is listed.
        """
        self.settled = asyncio.Event()
        """An event that is set when no kind's first list is awaited any longer: each kind is listed, not served,
        refused or unreadable."""
        self._excused: frozenset[str] = frozenset() if patient else _BROKEN
        self.sinks = sinks
        self._access = access
        self._client = access.connect()
        self._owners = {(kind.group, kind.kind): kind for kind in sinks if kind.role == "owner"}
        # All clients are made now, so that a kubeconfig that breaks later does not end the watches.
        self._clients = {kind: access.connect() for kind in sinks}
        self._log = access.log
        self._timing = access.timing
        self._pace = Pace(access.timing, random.random)
        self._began = time.monotonic()
        self._known = False
        self._followed: dict[Kind, _Followed] = {}
        self._ended: dict[Kind, Mapping[str, str]] = {}
        """The objects of each kind whose watch has ended, until API discovery has said whether the kind is still
        served."""
        self._absent: dict[Kind, KindState] = {}
        """The reason why each kind is not followed; for a refused kind, the reason stays until the kind has been
        listed.
        """
        self._reported: dict[str, str] = {}
        self._happened = asyncio.Event()
        """An event that is set when a kind has been listed, or its watch has ended."""

    def unlisted(self) -> list[str]:
        """Return the names of the kinds whose first list is not complete yet, and for which podberth still waits.

        Empty once ``settled`` is set.
        """
        if self.settled.is_set():
            return []
        return [kind.name for kind in self.sinks if self._keeps_waiting(kind)]

    def follows_owner(self, group: str, kind: str, uid: str) -> bool:
        """Return whether a review may wait for a pod's owner: the watch of the owner's kind will report the owner.

        False if the kind is not watched or not listed yet, if the kind's watch has failed, or if the owner exists and
        cannot be used.
        """
        found = self._owners.get((group, kind))
        followed = None if found is None else self._followed.get(found)
        if found is None or followed is None or self.sinks[found].leaves_out(uid):
            return False
        return followed.reflector.listed.is_set() and not followed.reflector.trouble

    def watched(self) -> Mapping[str, WatchFacts]:
        """Return a mapping from the name of each followed kind to facts about the kind's watch, for the metrics."""
        return {
            kind.name: watch_facts(each.reflector, self.sinks[kind].left_out_by_reason)
            for kind, each in self._followed.items()
        }

    def version(self, kind: Kind) -> str:
        """Return the API version in which a kind is followed; empty if the kind is not followed or not listed yet."""
        followed = self._followed.get(kind)
        if followed is None or not followed.reflector.listed.is_set():
            return ""
        return followed.reflector.resource.path.api_version

    def states(self) -> Mapping[str, KindState]:
        """Return a mapping from a kind's name to the kind's state: followed, listing, not served or refused."""
        return {kind.name: self._state(kind) for kind in self.sinks}

    async def run(self) -> None:
        """Find out again and again which kinds the cluster serves, and follow those kinds until cancelled."""
        try:
            while True:
                looked_at = time.monotonic()
                calm = await self._look_safely()
                self._settle()
                await self._until_something_happens(self._patience(calm=calm), looked_at)
        finally:
            tasks = [each.task for each in self._followed.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._client.reset()

    def _patience(self, *, calm: bool) -> float:
        """Return the seconds until the next check of which kinds are served.

        The time is short until ``settled`` is set, and after a failed check (``calm`` is False). Otherwise it is long,
        because CRDs change only every few weeks.
        """
        if calm and self.settled.is_set():
            self._pace.succeeded()
            return self._timing.discover_seconds * (1 + random.random()) / 2  # noqa: S311 - to spread
        return self._pace.wait_seconds(0.0)

    async def _look_safely(self) -> bool:
        try:
            return await self._look()
        except Exception as bug:  # noqa: BLE001 - following continues without a look
            self._log.fault("kinds: a bug in podberth; what is followed goes on", bug)
            return False

    async def _look(self) -> bool:
        """Find out which kinds are served, and start to follow new kinds; return whether the API server answered."""
        try:
            served = await discover(self._client, self.sinks)
        except ClusterError as error:
            self._log_once("discovery", f"discovery of kinds: no answer; what is followed goes on: {error}")
            # As with a list: a server that has just started refuses everybody for some seconds.
            self._known = self._known or (error.reason == "refused" and not self._is_early())
            await self._client.reset()
            return False
        self._known = True
        self._reported.pop("discovery", None)
        for kind in self.sinks:
            if kind in self._followed:
                continue
            if kind in served:
                self._follow(kind, served[kind])
            else:
                self._leave(kind)
        return True

    def _leave(self, kind: Kind) -> None:
        """Record that API discovery does not list the kind, and forget the kind's objects."""
        sink = self.sinks[kind]
        if sink.presence == "listed":
            self._log_once(kind.name, f"{kind.name}: {_FORGOTTEN}")
        self._absent[kind] = "not served"
        self._ended.pop(kind, None)
        sink.forget()
        sink.record("absent")

    def _follow(self, kind: Kind, resource: Resource) -> None:
        if self._absent.get(kind) == "not served":
            del self._absent[kind]
        sink = self.sinks[kind]
        if sink.presence == "absent":
            sink.record("unknown")
        reflector = Reflector(resource, self._clients[kind], sink, self._access)
        reflector.known |= self._ended.pop(kind, {})
        reflector.when_listed = self._happened.set
        task = asyncio.create_task(reflector.run())
        task.add_done_callback(lambda _: self._happened.set())
        self._followed[kind] = _Followed(reflector, task)

    async def _until_something_happens(self, seconds: float, looked_at: float) -> None:
        """Wait ``seconds`` until the next check of served kinds; return early if a kind can no longer be followed.

        Meanwhile, the event ``settled`` is set as soon as no kind's first list is awaited any longer. ``looked_at`` is
        the time of the last check, by the monotonic clock. An early return comes after a pause, which grows if checks
        follow each other quickly (``Pace``).
        """
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._happened.wait()
            self._happened.clear()
            ended = [kind for kind, each in self._followed.items() if each.task.done()]
            for kind in ended:
                self._end(kind)
            self._settle()
            if self._ended:
                # It may be served in another version now, or not at all.
                await asyncio.sleep(self._pace.wait_seconds(time.monotonic() - looked_at))
                return

    def _end(self, kind: Kind) -> None:
        """End following a kind whose watch has ended.

        If the API server refused the watch, the kind's objects are forgotten. Otherwise, ``_ended`` has the objects
        until API discovery shows whether the kind is still served.
        """
        followed = self._followed.pop(kind)
        error = followed.task.exception()
        if isinstance(error, ClusterError) and error.status != HTTPStatus.NOT_FOUND:
            self._absent[kind] = "refused"
            if not self._is_early():
                self._log_once(kind.name, f"{kind.name}: not followed; nothing is known of it: {error}")
            self.sinks[kind].forget()
            return
        if error is not None and not isinstance(error, ClusterError):
            self._log.fault(f"{kind.name}: a bug in podberth; it is followed again", error)
        # A 404 may pass: a proxy or an API server that has just started may answer so.
        self._absent.pop(kind, None)
        self._ended[kind] = followed.reflector.known

    # ---- reports ----------------------------------------------------------------------------------------------------

    def _state(self, kind: Kind) -> KindState:
        followed = self._followed.get(kind)
        if followed is not None and followed.reflector.listed.is_set():
            return "followed"
        return self._absent.get(kind, "listing")

    def _keeps_waiting(self, kind: Kind) -> bool:
        absent = self._absent.get(kind)
        if absent == "refused":
            return self._is_early()
        followed = self._followed.get(kind)
        if followed is not None:
            broken = followed.reflector.trouble in self._excused and not self._is_early()
            return not (followed.reflector.listed.is_set() or broken)
        return kind in self._ended or (absent is None and not self._known)

    def _is_early(self) -> bool:
        """Return whether a refusal by the API server may be temporary, because the API server has just started."""
        return time.monotonic() - self._began < self._timing.refused_seconds

    def _settle(self) -> None:
        for kind, each in self._followed.items():
            if each.reflector.listed.is_set():
                self._absent.pop(kind, None)
                self._reported.pop(kind.name, None)
                self.sinks[kind].record("listed")
        if self._known and not any(map(self._keeps_waiting, self.sinks)):
            self.settled.set()

    def _log_once(self, what: str, message: str) -> None:
        """Log a message about ``what``, unless the last message about ``what`` was equal."""
        if self._reported.get(what) != message:
            self._reported[what] = message
            self._log.event("warning", "kinds", problem=message)

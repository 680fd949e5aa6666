"""Writes Events (events.k8s.io/v1) to the API server, in one task and never inside a review.

Equal notices make one Event. The name of an Event follows from the content, so that all replicas, and a restarted
process, find the present Event and increase the count in the field ``series``. Every change names the resourceVersion
of the changed Event, so that no replica's count is lost. An Event that the API server refuses is counted, and blocks
nothing.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from random import random
from typing import Any, Final

import orjson

from ..admission.notices import Notice, is_founded, notices
from ..admission.outcome import Outcome
from ..admission.review import AdmissionRequest
from ..admission.snapshot import Snapshot
from ..api.opening import Client
from ..api.protocol import MERGE_PATCH, Pace, Timing, garbled
from ..errors import ClusterError
from ..kube.api_path import ApiPath, collection_path
from ..kube.times import as_micro_time
from ..telemetry.bucket import Bucket
from ..telemetry.log import Log
from ..telemetry.metrics import EventMetrics
from .event_series import Limits, OpenSeries, Series

CONTROLLER: Final = "podberth.io/webhook"
_GROUP: Final = "events.k8s.io/v1"
# The namespace for Events about objects in no namespace: client-go tools/events/event_recorder.go, makeEvent.
_DEFAULT_NAMESPACE: Final = "default"
# ReportingInstanceLengthLimit: kubernetes pkg/apis/core/validation/events.go.
_LONGEST_INSTANCE: Final = 128
# client-go tools/events/event_broadcaster.go, maxTriesPerEvent.
_MOST_TRIES: Final = 12
# An API server that has just started refuses all requests for 3 to 6 s (``protocol.Refusals``); two more tries come
# later than that. If the namespace is terminating, or podberth lacks the right, further tries fail, too.
_MOST_REFUSALS: Final = 3
# Any other failure is an answer, which may concern only one namespace, for example because of a quota or a webhook.
_NOBODY_ANSWERS: Final = frozenset({"lost", "silent"})
FINISH_SECONDS: Final = 1.0
"""The seconds for which a process that ends waits for unsent Events; fewer than the rest of the grace period."""
# The number of conflicts in a row with other replicas that write the same Event; the next try follows after a wait.
_MOST_CONFLICTS: Final = 5


@dataclass
class Events:
    """Queues and sends the Events of one process. Only the thread of the event loop may use it."""

    client: Client
    instance: str
    """The name of the pod in which the process runs."""
    metrics: EventMetrics
    log: Log
    timing: Timing = field(default_factory=Timing)
    limits: Limits = field(default_factory=Limits)
    controller: str = CONTROLLER
    """The value of the field ``reportingController`` in the Events."""

    def __post_init__(self) -> None:
        self._series = OpenSeries(self.limits)
        self._room = Bucket(self.limits.burst, 1.0 / self.limits.requests_per_second)
        self._pace = Pace(self.timing, random)
        self._wake = asyncio.Event()
        self._well = True

    def publish(self, notice: Notice, *, proved: bool = True) -> None:
        """Queue a notice, to be sent as an Event, and return at once.

        A notice beyond the limits, or about an object that cannot exist, is only counted. ``proved`` is False if any
        caller who reaches the port may have caused the notice, which then has lower limits.
        """
        if not notice.regarding.can_exist:
            self.pass_over()
            return
        fate = self._series.observe(notice, time.monotonic(), datetime.now(UTC), proved=proved)
        if fate != "kept":
            self.metrics.notices(fate)
        self._wake.set()

    def pass_over(self) -> None:
        """Count a notice that is not sent, because the notice's object does not exist or is not known to exist."""
        self.metrics.notices("unknown")

    async def run(self) -> None:
        """Send the queued notices until the task is cancelled."""
        while True:
            now = time.monotonic()
            self._series.end_quiet(now)
            series = self._series.next()
            if series is None:
                self._wake.clear()
                await self._wake.wait()
            elif series.due > now:
                # A notice that arrives during this sleep is due at its end or later, so it need not wake this task.
                await asyncio.sleep(min(series.due - now, self.limits.together_seconds))
            elif wait := self._room.wait_seconds(now):
                await asyncio.sleep(wait)
            else:
                self._room.take(now)
                await self._try(series)

    async def finish(self, running: asyncio.Task[None], patience_seconds: float = FINISH_SECONDS) -> None:
        """Cancel the task ``running``, then send the remaining notices once.

        Notices that are not sent within ``patience_seconds`` are lost.
        """
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_seconds):
                while (series := self._series.next()) is not None:
                    error = await self._send(series)
                    if error is not None and error.reason in _NOBODY_ANSWERS:
                        break
                    if error is not None:
                        self._give_up(series)
        while (series := self._series.next()) is not None:
            self._give_up(series)
        await self.client.reset()

    async def _try(self, series: Series) -> None:
        """Send the notices of a series as a request.

        If the API server refuses the request, only this series waits; after another error, all series wait.
        """
        error = await self._send(series)
        if error is None:
            self._pace.succeeded()
            return
        series.tries += 1
        refused = error.reason == "refused"
        if series.tries >= (_MOST_REFUSALS if refused else _MOST_TRIES):
            self._give_up(series)
        elif error.reason not in _NOBODY_ANSWERS:
            self._series.put_off(series, time.monotonic())
        if not refused:
            await asyncio.sleep(self._pace.wait_seconds(0.0, error.retry_after_seconds))

    def _give_up(self, series: Series) -> None:
        self.metrics.notices("failed", series.unsent)
        self._series.give_up(series)

    async def _send(self, series: Series) -> ClusterError | None:
        """Send all notices of a series; return the error, or None if all notices were sent.

        An error is logged once, until sending works again.
        """
        try:
            await self._write(series)
        except ClusterError as error:
            self.metrics.error(error.reason)
            if self._well:
                self.log.event("warning", "events: one cannot be written", problem=str(error))
            self._well = False
            await self.client.reset()
            return error
        except Exception as bug:  # noqa: BLE001 - it must not end the sending of all others
            self.metrics.error("bug")
            self.log.fault("events: a bug in podberth; one is not written", bug)
            return ClusterError("refused", "a bug")
        self._well = True
        return None

    async def _write(self, series: Series) -> None:
        """Create the Event of a series, or add the unsent notices to an existing Event.

        Raises:
            ClusterError: the API server accepted no request.
        """
        for _ in range(_MOST_CONFLICTS):
            occurrences, made = series.unsent, not series.version
            try:
                answer = await (self._create(series) if made else self._add(series))
            except ClusterError as error:
                if error.status == HTTPStatus.NOT_FOUND and not made:
                    series.version = ""  # it has expired
                elif error.status == HTTPStatus.CONFLICT:
                    await self._look(series)
                else:
                    raise
            else:
                _take_in(series, answer)
                self._series.sent(series, occurrences, time.monotonic())
                self.metrics.notices("created", int(made))
                self.metrics.notices("repeated", occurrences - int(made))
                return
        raise ClusterError("busy", f"{_path(series.notice)}: others write it at the same time; try later")

    async def _create(self, series: Series) -> bytes:
        notice = series.notice
        return await self.client.send(
            "POST", _collection(notice), event(series, self.controller, self.instance[:_LONGEST_INSTANCE])
        )

    async def _add(self, series: Series) -> bytes:
        more = {"count": series.count + series.unsent, "lastObservedTime": as_micro_time(series.last)}
        change = {"metadata": {"resourceVersion": series.version}, "series": more}
        return await self.client.send("PATCH", _path(series.notice), change, MERGE_PATCH)

    async def _look(self, series: Series) -> None:
        """Note the version and the count of the series' Event in the API server, if the Event exists.

        The request is a patch that changes nothing, so that podberth needs no right to read Events.
        """
        try:
            _take_in(series, await self.client.send("PATCH", _path(series.notice), {}, MERGE_PATCH))
        except ClusterError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            series.version = ""


def event(series: Series, controller: str, instance: str) -> dict[str, Any]:
    """Return the Event, as JSON, that has the unsent notices of a series.

    ``controller`` is the name of the program that reports the Event, and ``instance`` the name of its process.
    """
    notice, about = series.notice, series.notice.regarding
    regarding = {"apiVersion": about.api_version, "kind": about.kind, "name": about.name, "uid": about.uid}
    document = {
        "apiVersion": _GROUP,
        "kind": "Event",
        "metadata": {"name": name(notice), "namespace": _namespace(notice)},
        "eventTime": as_micro_time(series.first),
        "type": notice.type,
        "reason": notice.reason,
        "action": notice.action,
        "note": notice.note,
        "regarding": {**regarding, "namespace": about.namespace} if about.namespace else regarding,
        "reportingController": controller,
        "reportingInstance": instance,
    }
    if series.unsent > 1:  # a series of one is refused
        document["series"] = {"count": series.unsent, "lastObservedTime": as_micro_time(series.last)}
    return document


def name(notice: Notice) -> str:
    """Return the name of a notice's Event, which all replicas give to equal notices and to no other notice.

    Unlike client-go's names, the name does not contain the name of the object that the Event is about, because not
    every name can be the beginning of an Event's name (kubernetes issue 127594). The object's name may even be any
    text, if podberth knows the object only from an ownerReference.
    """
    said = "\n".join(map(str, (*astuple(notice.regarding), notice.type, notice.reason, notice.action, notice.note)))
    return f"podberth.{hashlib.sha256(said.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _namespace(notice: Notice) -> str:
    return notice.regarding.namespace or _DEFAULT_NAMESPACE


def _collection(notice: Notice) -> ApiPath:
    return collection_path(_GROUP, "events", _namespace(notice))


def _path(notice: Notice) -> ApiPath:
    return _collection(notice).below(name(notice))


def _take_in(series: Series, answer: bytes) -> None:
    """Note in ``series`` the version and the count of the Event in the API server's answer.

    Raises:
        ClusterError: the answer is not valid.
    """
    try:
        document = orjson.loads(answer)
        series.version = str(document["metadata"]["resourceVersion"])
        series.count = int((document.get("series") or {}).get("count") or 1)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise garbled(_path(series.notice), answer) from error


@dataclass(frozen=True, slots=True)
class ReviewEvents:
    """Makes Events from the warnings in answers of /validate.

    With --client-ca, a client certificate proves the API server's identity. Otherwise, any client that reaches the port
    can send a review. Then Events have only fixed texts of policies, and are only about an object that podberth knows,
    or at least in a namespace that podberth knows (docs/adr/0042).
    """

    events: Events
    snapshot: Callable[[], Snapshot | None]
    """A function that returns the snapshot in force; None before the first snapshot."""
    proved: bool
    """Whether every client of the webhook's port must show a valid certificate."""

    def observe(self, request: AdmissionRequest, outcome: Outcome) -> None:
        """Queue the Events about a review and the outcome, and return at once."""
        if self.proved:
            for notice in notices(request, outcome):
                self.events.publish(notice)
            return
        known = self.snapshot()
        if known is None:
            return
        for notice in notices(request, outcome, known):
            if notice.regarding.can_exist and is_founded(notice.regarding, known):
                self.events.publish(notice, proved=False)
            else:
                self.events.pass_over()

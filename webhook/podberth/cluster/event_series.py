"""Decides which Events are sent, and when: equal notices form one series, and the number of Events is limited.

A notice is the text of an Event before the Event is sent. Where client-go has a limit, the limit here is equal:
tools/record/events_cache.go (the spam filter of the legacy recorder) and tools/events/event_broadcaster.go (series).
The module has no clock and no I/O.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from ..admission.notices import Notice, Regarding
from ..telemetry.bucket import Bucket

Fate: TypeAlias = Literal["kept", "limited", "dropped"]
"""The fate of a notice, which may become an Event.

kept: the notice is sent, or counted in an Event. limited: too many notices are about the same object, or come from
callers without proven identity. dropped: there are too many notices in all.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on the number and the times of Events; times are in seconds."""

    object_burst: float = 25.0
    """The number of new Events about one object that may be sent in a burst (defaultSpamBurst)."""
    object_refill_seconds: float = 300.0
    """The seconds after which one more Event about the same object is allowed (defaultSpamQPS)."""
    objects: int = 4096
    """The maximum number of objects whose new Events are counted for ``object_burst`` (maxLruCacheEntries)."""
    series: int = 1000
    """The maximum number of series that may be open at once (maxQueuedEvents)."""
    burst: float = 10.0
    """The number of requests to the API server that may be sent in a burst (client-go rest.DefaultBurst)."""
    requests_per_second: float = 5.0
    together_seconds: float = 1.0
    """The seconds for which the first notice of a series waits for equal notices, so that the pods of a Job make one
    request.
    """
    repeat_seconds: float = 5.0
    """The seconds between the first and the second request of a series; the interval doubles with each further request.
    """
    longest_repeat_seconds: float = 300.0
    """The maximum number of seconds between two requests of a series.

    The API server keeps an Event for an hour after a change (--event-ttl).
    """
    unproved_burst: float = 25.0
    """The number of new Events that callers without proven identity may cause in a burst.

    All such callers share one limit, because each chooses the objects that are named in the caller's reviews.
    """
    unproved_refill_seconds: float = 30.0
    """The seconds after which callers without proven identity may cause one more Event.

    The API server keeps each Event for an hour, so at most 145 Events caused by such callers exist at once.
    """
    unproved_namespaces: int = 16
    """The maximum number of namespaces with open series from callers without proven identity."""
    finish_seconds: float = 360.0
    """The seconds without a notice after which a series ends (finishTime)."""


@dataclass(slots=True)
class Series:
    """The notices with one text about one object, which become one Event with a count."""

    notice: Notice
    first: datetime
    last: datetime
    unsent: int
    due: float
    interval_seconds: float
    heard: float
    version: str = ""
    """The last known resourceVersion of the Event; empty if podberth does not know whether there is an Event."""
    count: int = 0
    """The number of occurrences that the Event has at ``version``."""
    tries: int = 0
    """The number of requests that failed since the last success."""
    proved: bool = True
    """Whether the notices are proven to come from podberth itself or from reviews by the API server."""


@dataclass(slots=True)
class OpenSeries:
    """All series of notices that have not ended yet."""

    limits: Limits
    _series: dict[Notice, Series] = field(default_factory=dict)
    _buckets: OrderedDict[Regarding, Bucket] = field(default_factory=OrderedDict)
    _unproved: Bucket = field(init=False)
    _swept_at: float = float("-inf")
    """The time of the last call of ``end_quiet``."""

    def __post_init__(self) -> None:
        self._unproved = Bucket(self.limits.unproved_burst, self.limits.unproved_refill_seconds)

    def observe(self, notice: Notice, at: float, now: datetime, *, proved: bool = True) -> Fate:
        """Add a notice to the series of equal notices, or open a series; return whether the notice will be sent.

        "kept": the notice will be sent as part of an Event. "dropped": too many series are open. "limited": there are
        too many new Events about the object, or from callers whose identity is not proved.

        ``at`` is the present time of the monotonic clock in seconds, and ``now`` the present time for the Event's
        fields. ``proved`` is False if any caller may have caused the notice: the notice then also counts against the
        limits for unproven callers.
        """
        limits, series = self.limits, self._series.get(notice)
        # While nothing is to be sent, nobody ends series: those that are over would count against the limits.
        if series is None and at >= self._swept_at + limits.together_seconds:
            self.end_quiet(at)
        if series is not None:
            series.due = series.due if series.unsent else max(at, series.due)
            series.unsent += 1
            series.last, series.heard = now, at
            return "kept"
        if len(self._series) >= limits.series:
            return "dropped"
        if not (proved or self._has_room_for(notice, at)) or not self._bucket(notice.regarding).take(at):
            return "limited"
        due = at + limits.together_seconds
        self._series[notice] = Series(notice, now, now, 1, due, limits.repeat_seconds, at, proved=proved)
        return "kept"

    def _has_room_for(self, notice: Notice, at: float) -> bool:
        """Count a notice that any caller may have caused; return False if a limit for such notices is exceeded."""
        open_in = {each.notice.regarding.namespace for each in self._series.values() if not each.proved}
        elsewhere = open_in - {notice.regarding.namespace}
        return len(elsewhere) < self.limits.unproved_namespaces and self._unproved.take(at)

    def next(self) -> Series | None:
        """Return the series that is sent next, even if not due yet; None if nothing is to be sent."""
        return min((each for each in self._series.values() if each.unsent), key=lambda each: each.due, default=None)

    def sent(self, series: Series, occurrences: int, at: float) -> None:
        """Record that ``occurrences`` notices of a series were sent at the time ``at``; postpone the next request."""
        series.unsent -= occurrences
        series.tries = 0
        self.put_off(series, at)

    def put_off(self, series: Series, at: float) -> None:
        """Postpone the next request of a series, and double the wait for the request after that."""
        series.due = at + series.interval_seconds
        series.interval_seconds = min(2.0 * series.interval_seconds, self.limits.longest_repeat_seconds)

    def give_up(self, series: Series) -> None:
        """Remove a series that cannot be sent."""
        del self._series[series.notice]

    def end_quiet(self, at: float) -> None:
        """Remove each series that got no notice for ``finish_seconds`` and has no notice left to send."""
        self._swept_at = at
        over = at - self.limits.finish_seconds
        self._series = {key: each for key, each in self._series.items() if each.unsent or each.heard > over}

    def _bucket(self, regarding: Regarding) -> Bucket:
        bucket = self._buckets.pop(regarding, None) or Bucket(
            self.limits.object_burst, self.limits.object_refill_seconds
        )
        self._buckets[regarding] = bucket
        if len(self._buckets) > self.limits.objects:
            self._buckets.popitem(last=False)
        return bucket

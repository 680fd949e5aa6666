"""Which Events are to be sent, and when: equal notices are one series, and nobody is drowned. No clock, no I/O.

What is bounded, and by how much, is client-go's word wherever it has one: tools/record/events_cache.go (the spam filter
of the legacy recorder) and tools/events/event_broadcaster.go (series).
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from ..admission.notices import Notice, Regarding
from ..telemetry.bucket import Bucket

Fate: TypeAlias = Literal["kept", "limited", "dropped"]
"""It is told, or counted with one that is; its object, or whoever may call podberth, has had too many; there are too
many in all."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is told, and how soon; times in seconds."""

    object_burst: float = 25.0
    """New Events about one object at once (defaultSpamBurst)."""
    object_refill_seconds: float = 300.0
    """Until the object may have one more (defaultSpamQPS)."""
    objects: int = 4096
    """Of how many objects this is remembered (maxLruCacheEntries)."""
    series: int = 1000
    """How many series may be open (maxQueuedEvents)."""
    burst: float = 10.0
    """Requests to the API server at once, and, below, one after the other (client-go rest.DefaultBurst, DefaultQPS)."""
    requests_per_second: float = 5.0
    together_seconds: float = 1.0
    """How long the first of a series waits for others: the pods of a Job come within that, and are one request."""
    repeat_seconds: float = 5.0
    """Between what is told first of a series and what is told next; twice that from then to the next, and so on."""
    longest_repeat_seconds: float = 300.0
    """The most between two: an hour is what the API server keeps an Event (--event-ttl), and each change renews it."""
    unproved_burst: float = 25.0
    """New Events that anybody may have caused: all together are as one object, for who sends them names the objects."""
    unproved_refill_seconds: float = 30.0
    """Until there may be one more: 145 at most lie in the API server at a time, which keeps each for an hour."""
    unproved_namespaces: int = 16
    """In how many namespaces series that anybody may have caused are open at a time."""
    finish_seconds: float = 360.0
    """A series of which nothing was heard for so long is over (finishTime)."""


@dataclass(slots=True)
class Series:
    """Equal notices."""

    notice: Notice
    first: datetime
    last: datetime
    untold: int
    due: float
    interval_seconds: float
    heard: float
    version: str = ""
    """The Event's resourceVersion as far as is known; empty: nobody knows whether there is one."""
    count: int = 0
    """What the Event says then."""
    tries: int = 0
    """How often in a row telling it has failed."""
    proved: bool = True
    """Whether it is certain that the API server, or podberth itself, has caused it."""


@dataclass(slots=True)
class OpenSeries:
    """All series that are not over."""

    limits: Limits
    _series: dict[Notice, Series] = field(default_factory=dict)
    _buckets: OrderedDict[Regarding, Bucket] = field(default_factory=OrderedDict)
    _unproved: Bucket = field(init=False)

    def __post_init__(self) -> None:
        """Owe nobody anything."""
        self._unproved = Bucket(self.limits.unproved_burst, self.limits.unproved_refill_seconds)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._series)

    def observe(self, notice: Notice, at: float, now: datetime, *, proved: bool = True) -> Fate:
        """Take in a notice at a time in seconds, and by the clock; as cheap as two look-ups.

        One that is not ``proved`` anybody may have caused.
        """
        limits, series = self.limits, self._series.get(notice)
        if series is not None:
            series.due = series.due if series.untold else max(at, series.due)
            series.untold += 1
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
        """Tell whether there may be one more that anybody may have caused, and there."""
        open_in = {each.notice.regarding.namespace for each in self._series.values() if not each.proved}
        elsewhere = open_in - {notice.regarding.namespace}
        return len(elsewhere) < self.limits.unproved_namespaces and self._unproved.take(at)

    def next(self) -> Series | None:
        """Return the series that is to be told first, whether it is time or not; None: there is nothing to tell."""
        return min((each for each in self._series.values() if each.untold), key=lambda each: each.due, default=None)

    def told(self, series: Series, occurrences: int, at: float) -> None:
        """Take in that so many of a series have been told."""
        series.untold -= occurrences
        series.tries = 0
        self.put_off(series, at)

    def put_off(self, series: Series, at: float) -> None:
        """Let a series wait."""
        series.due = at + series.interval_seconds
        series.interval_seconds = min(2.0 * series.interval_seconds, self.limits.longest_repeat_seconds)

    def give_up(self, series: Series) -> None:
        """End a series that cannot be told."""
        del self._series[series.notice]

    def end_quiet(self, at: float) -> None:
        """End the series that are over."""
        over = at - self.limits.finish_seconds
        self._series = {key: each for key, each in self._series.items() if each.untold or each.heard > over}

    def _bucket(self, regarding: Regarding) -> Bucket:
        bucket = self._buckets.pop(regarding, None) or Bucket(
            self.limits.object_burst, self.limits.object_refill_seconds
        )
        self._buckets[regarding] = bucket
        if len(self._buckets) > self.limits.objects:
            self._buckets.popitem(last=False)
        return bucket

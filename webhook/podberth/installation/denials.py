"""Lists the requests that policies recently denied, or that the webhook failed to review, with the reasons.

The source is Events: a controller whose pod is refused writes an Event with the controller's name and the whole
message, and the API server keeps the Event for an hour. There is no Event if a user creates the refused pod directly.
The metrics of the webhook's replicas count all refusals by policy, since the start of each replica.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from ..words import MOST_NAMED, counted, lasting
from .observation import (
    Document,
    Fact,
    InstallationState,
    ObservedList,
    Replica,
    Row,
    State,
    Unread,
    readable,
    unread,
)

# The API server deletes an Event an hour after its last change (--event-ttl). The count of an Event starts when the
# Event was created, which may be days ago.
_LATELY: Final = timedelta(hours=1)
# The longest time between two tries of a controller (client-go workqueue, DefaultTypedControllerRateLimiter).
_LONGEST_BACKOFF: Final = timedelta(seconds=1000)
_DECISIONS: Final = "podberth_policy_decisions_total"
# apiserver pkg/admission/plugin/webhook/errors: ToStatusErr; and pkg/util/webhook: ErrCallingWebhook.
_DENIED: Final = re.compile(r'admission webhook "[\w.-]+\.podberth\.io" denied the request: ?(?P<said>.*)', re.DOTALL)
_FAILED: Final = re.compile(r'(?P<said>failed calling webhook "[\w.-]+\.podberth\.io": ?.*)', re.DOTALL)
# A denial is 256 characters at most; a failed call quotes its whole URL.
_LONGEST: Final = 256

_WORDS: Final = (
    ("deny", "denied since the replicas started"),
    ("error", "failed expressions that were ignored"),
)


@dataclass(frozen=True, slots=True)
class _Refusal:
    who: str
    said: str
    failed: bool
    """True if the webhook could not be called; False if a policy denied the object."""
    times: int
    first: datetime
    """The time at which the oldest Event of the refusal began; ``times`` counts the refusals from this time on."""
    last: datetime


def denied(observed: InstallationState) -> Iterator[Row]:
    """Yield the report's lines about objects refused within the last hour, and about denials that replicas counted."""
    if isinstance(observed.events, Unread):
        yield unread("events", observed.events)
    else:
        yield from _objects(observed.events, observed.now)
    if found_replicas := readable(observed.replicas):
        yield _counted(found_replicas)


def _objects(events: ObservedList, now: datetime) -> Iterator[Row]:
    refusals = sorted(_refusals(events.documents, now), key=lambda each: (each.failed, each.last), reverse=True)
    failed = [each for each in refusals if each.failed]
    rest = len(refusals) - MOST_NAMED
    more = "; there are more Events than were read" if events.truncated else ""
    denials = len(refusals) - len(failed)
    facts: dict[str, Fact] = {
        "denied": denials,
        "notCalled": len(failed),
        "objects": tuple(each.who for each in refusals),
        "cut": events.truncated,
    }
    counts = [f"{counted(denials, 'object')} denied"] if denials else []
    if failed:
        counts.append(f"{counted(len(failed), 'object')} refused because podberth could not be called")
    text = ", ".join(counts) or "none in the Events of the last hour"
    shown = f"; the latest {MOST_NAMED} of {len(refusals)}" if rest > 0 else ""
    broken = any(now - each.last < _LONGEST_BACKOFF for each in failed)
    state: State = "attention" if broken else "note" if refusals else "ok"
    yield Row("events", state, text + shown + more, facts)
    for each in refusals[:MOST_NAMED]:
        yield Row("refused", "note", _line(each, now), _facts(each))


def _line(refusal: _Refusal, now: datetime) -> str:
    ago = lasting((now - refusal.last).total_seconds())
    if refusal.times == 1:
        return f"{refusal.who}, {ago} ago: {refusal.said}"
    within = lasting((refusal.last - refusal.first).total_seconds())
    return f"{refusal.who}, {refusal.times} times in {within}, the last {ago} ago: {refusal.said}"


def _facts(refusal: _Refusal) -> dict[str, Fact]:
    return {
        "object": refusal.who,
        "times": refusal.times,
        "since": refusal.first.isoformat(),
        "last": refusal.last.isoformat(),
    }


def _refusals(events: tuple[Document, ...], now: datetime) -> Iterator[_Refusal]:
    """Yield one refusal for each object that was denied or not reviewed: the last message, and the number of refusals.

    If an Event has repeated for days, the number covers all these days; the number within the last hour is unknown.
    """
    found: dict[tuple[str, bool], _Refusal] = {}
    for event in events:
        message = " ".join(str(event.get("message", "")).split())
        denied, failed = _DENIED.search(message), _FAILED.search(message)
        match, last = denied or failed, _last(event)
        if match is None or last is None or now - last > _LATELY:
            continue
        refusal = _Refusal(
            _who(event), match["said"][:_LONGEST], denied is None, _times(event), _first(event, last), last
        )
        key = (refusal.who, refusal.failed)
        before = found.get(key, refusal)
        times = refusal.times + (before.times if key in found else 0)
        first = min(before.first, refusal.first)
        found[key] = replace(max(before, refusal, key=lambda each: each.last), times=times, first=first)
    yield from found.values()


def _who(event: Document) -> str:
    about = event.get("involvedObject") or {}
    return f"{about.get('kind', '')} {about.get('namespace', '')}/{about.get('name', '')}"


def _times(event: Document) -> int:
    series = event.get("series") or {}
    return max(int(event.get("count") or 1), int(series.get("count") or 1))


def _last(event: Document) -> datetime | None:
    """Return when an Event occurred last, from the fields of the old and the new API of Events; None if unknown."""
    series = event.get("series") or {}
    moments = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return _moment(*moments, event["metadata"].get("creationTimestamp"))


def _first(event: Document, last: datetime) -> datetime:
    """Return the time at which an Event occurred first; ``last`` if the Event has no such time."""
    said = (event.get("firstTimestamp"), event.get("eventTime"), event["metadata"].get("creationTimestamp"))
    return min(_moment(*said) or last, last)


def _moment(*said: object) -> datetime | None:
    """Return the time in the first nonempty field of an Event's fields ``said``; None if all fields are empty."""
    return next((datetime.fromisoformat(str(each)).astimezone(UTC) for each in said if each), None)


def _counted(replicas: tuple[Replica, ...]) -> Row:
    counts: dict[str, Counter[str]] = {"deny": Counter(), "error": Counter()}
    for replica in replicas:
        for labels, value in replica.labelled(_DECISIONS).items():
            said = dict(labels)
            if said.get("verdict") in counts and value:
                counts[said["verdict"]][said.get("policy", "")] += int(value)
    facts = {
        verdict: tuple(f"{policy} {times}" for policy, times in each.most_common()) for verdict, each in counts.items()
    }
    parts = [f"{what}: {', '.join(facts[verdict][:MOST_NAMED])}" for verdict, what in _WORDS if facts[verdict]]
    return Row("counted", "note" if parts else "ok", "; ".join(parts) or "no denial since the replicas started", facts)

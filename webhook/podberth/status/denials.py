"""Who was refused lately, and why.

Events are what can be relied on: a controller whose pod is refused says so in one, with its own name and the whole
message, and the API server keeps it for an hour. Who creates a pod by hand has been told, and leaves no Event. Metrics
count those too, by policy and since a replica started, where they can be reached.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from .model import (
    MOST_NAMED,
    Document,
    Events,
    Fact,
    Observed,
    Replica,
    Row,
    Section,
    State,
    Unread,
    lasting,
    spoken,
    unread,
)

# kube-apiserver's --event-ttl is an hour by default: older ones are not there to be read.
_LATELY: Final = timedelta(hours=1)
# The longest that a controller waits before it tries again (client-go workqueue, DefaultTypedControllerRateLimiter).
_LONGEST_BACKOFF: Final = timedelta(seconds=1000)
_DECISIONS: Final = "podberth_policy_decisions_total"
# apiserver pkg/admission/plugin/webhook/errors: ToStatusErr; and pkg/util/webhook: ErrCallingWebhook.
_DENIED: Final = re.compile(r'admission webhook "[\w.-]+\.podberth\.io" denied the request: ?(?P<said>.*)', re.DOTALL)
_FAILED: Final = re.compile(r'(?P<said>failed calling webhook "[\w.-]+\.podberth\.io": ?.*)', re.DOTALL)
# A denial is 256 characters at most; a failed call quotes its whole URL.
_LONGEST: Final = 256

_WORDS: Final = (
    ("deny", "denied since the replicas started"),
    ("error", "expressions that failed and were passed over"),
)


@dataclass(frozen=True, slots=True)
class _Refusal:
    who: str
    said: str
    failed: bool
    """The webhook could not be called; else a policy denied."""
    times: int
    last: datetime


def denied(observed: Observed) -> Section:
    """Say who was refused in the last hour, and how many were since the replicas started."""
    return Section("denied lately", tuple(_rows(observed)))


def _rows(observed: Observed) -> Iterator[Row]:
    if isinstance(observed.events, Unread):
        yield unread("events", observed.events)
    else:
        yield from _told(observed.events, observed.now)
    if speaking := spoken(observed.replicas):
        yield _counted(speaking)


def _told(events: Events, now: datetime) -> Iterator[Row]:
    refusals = sorted(_refusals(events.documents, now), key=lambda each: (each.failed, each.last), reverse=True)
    failed = [each for each in refusals if each.failed]
    rest = len(refusals) - MOST_NAMED
    more = "; there are more Events than were read" if events.cut else ""
    times_failed = sum(each.times for each in failed)
    times_denied = sum(each.times for each in refusals) - times_failed
    facts: dict[str, Fact] = {
        "denied": times_denied,
        "notCalled": times_failed,
        "objects": tuple(each.who for each in refusals),
        "cut": events.cut,
    }
    told = [f"{times_denied} denied"] if times_denied else []
    if failed:
        told.append(f"{times_failed} refused because podberth could not be called")
    text = ", ".join(told) or "nobody by the Events of the last hour"
    shown = f"; the latest {MOST_NAMED} of {len(refusals)}" if rest > 0 else ""
    broken = any(now - each.last < _LONGEST_BACKOFF for each in failed)
    state: State = "attention" if broken else "note" if refusals else "ok"
    yield Row("events", state, text + shown + more, facts)
    for each in refusals[:MOST_NAMED]:
        ago = lasting((now - each.last).total_seconds())
        times = "" if each.times == 1 else f", {each.times} times"
        yield Row("refused", "note", f"{each.who}{times}, {ago} ago: {each.said}", {"object": each.who})


def _refusals(events: tuple[Document, ...], now: datetime) -> Iterator[_Refusal]:
    """Yield one for each object that was denied, or not asked about: the words of its last Event, and all times."""
    found: dict[tuple[str, bool], _Refusal] = {}
    for event in events:
        message = " ".join(str(event.get("message", "")).split())
        denied, failed = _DENIED.search(message), _FAILED.search(message)
        match, last = denied or failed, _last(event)
        if match is None or last is None or now - last > _LATELY:
            continue
        refusal = _Refusal(_who(event), match["said"][:_LONGEST], denied is None, _times(event), last)
        key = (refusal.who, refusal.failed)
        before = found.get(key, refusal)
        times = refusal.times + (before.times if key in found else 0)
        found[key] = replace(max(before, refusal, key=lambda each: each.last), times=times)
    yield from found.values()


def _who(event: Document) -> str:
    about = event.get("involvedObject") or {}
    return f"{about.get('kind', '')} {about.get('namespace', '')}/{about.get('name', '')}"


def _times(event: Document) -> int:
    series = event.get("series") or {}
    return max(int(event.get("count") or 1), int(series.get("count") or 1))


def _last(event: Document) -> datetime | None:
    """Return when it was last seen: old and new API fill different fields."""
    series = event.get("series") or {}
    moments = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    for said in (*moments, event["metadata"].get("creationTimestamp")):
        if said:
            return datetime.fromisoformat(str(said)).astimezone(UTC)
    return None


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

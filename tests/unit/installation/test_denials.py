"""Messages as the API server and its controllers write them; tests/deployment/test_status.py meets the real ones."""

from datetime import timedelta

from podberth.installation.observation import ObservedList, Replica, Unread
from status_scenes import NOW, event, replica, report, row, rows

DENIED = (
    'Error creating: admission webhook "pods.validate.podberth.io" denied the request: podberth mig-right-size: '
    "spec.containers[0]: no such profile"
)
FAILED = (
    'Error creating: Internal error occurred: failed calling webhook "pods.mutate.podberth.io": failed to call '
    'webhook: Post "https://podberth.podberth-system.svc:443/mutate?timeout=5s": dial tcp 10.96.0.9:443: refused'
)


def before(**ago: float) -> str:
    return (NOW - timedelta(**ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_who_was_denied_is_named_with_the_policys_own_words() -> None:
    train = event(DENIED, count=12, firstTimestamp=before(minutes=30))
    found = ObservedList((train, event("Back-off pulling image"), event(DENIED, name="other", count=1)))
    assert row("events", events=found) == ("note", "2 objects denied")
    assert rows("refused", events=found)[0].text == (
        "Job team-a/train, 12 times in 27 min, the last 3 min ago: "
        "podberth mig-right-size: spec.containers[0]: no such profile"
    )
    assert rows("refused", events=found)[1].text.startswith("Job team-a/other, 3 min ago: ")
    assert report(events=found).troubles == 0  # it is what podberth is for


def test_what_goes_on_for_days_is_not_taken_for_the_last_hours() -> None:
    [refused] = rows("refused", events=ObservedList((event(DENIED, count=120, firstTimestamp=before(days=3)),)))
    assert refused.text.startswith("Job team-a/train, 120 times in 3 d, the last 3 min ago: podberth ")
    assert refused.facts == {
        "object": "Job team-a/train",
        "times": 120,
        "since": (NOW - timedelta(days=3)).isoformat(),
        "last": (NOW - timedelta(minutes=3)).isoformat(),
    }


def test_a_webhook_that_could_not_be_called_just_now_wants_attention_and_a_while_ago_none() -> None:
    now, before = (ObservedList((event(FAILED, age=timedelta(minutes=each)), event(DENIED))) for each in (2, 40))
    assert row("events", events=now) == (
        "attention",
        "1 object denied, 1 object refused because podberth could not be called",
    )
    assert rows("refused", events=now)[0].text.startswith('Job team-a/train, 2 min ago: failed calling webhook "pods')
    assert row("events", events=before)[0] == "note"


def test_what_is_older_than_an_hour_or_of_another_webhook_is_passed_over() -> None:
    foreign = DENIED.replace("podberth.io", "gatekeeper.sh")
    found = ObservedList((event(DENIED, age=timedelta(minutes=61)), event(foreign)))
    assert row("events", events=found) == ("ok", "none in the Events of the last hour")


def test_the_newer_form_of_events_counts_as_well() -> None:
    series = {"count": 7, "lastObservedTime": (NOW - timedelta(minutes=1)).isoformat()}
    newer = event(DENIED, age=timedelta(hours=3), series=series, eventTime="2026-01-31T09:00:00.000000Z")
    assert rows("refused", events=ObservedList((newer,)))[0].text.startswith(
        "Job team-a/train, 7 times in 3 h, the last 60 s ago: "
    )


def test_one_object_is_one_line_in_its_latest_words_and_three_are_shown() -> None:
    again = event(DENIED.replace("mig-right-size", "vendor-names"), age=timedelta(minutes=1), count=2)
    first = event(DENIED, count=3, firstTimestamp=before(minutes=11))
    others = tuple(event(DENIED, name=f"job-{number}", age=timedelta(minutes=9)) for number in range(4))
    found = ObservedList((first, again, *others), truncated=True)
    assert row("events", events=found)[1] == (
        "5 objects denied; the latest 3 of 5; there are more Events than were read"
    )
    assert [each.facts["object"] for each in rows("refused", events=found)] == [
        "Job team-a/train",
        "Job team-a/job-0",
        "Job team-a/job-1",
    ]
    assert rows("refused", events=found)[0].text.startswith(
        "Job team-a/train, 5 times in 10 min, the last 60 s ago: podberth vendor-"
    )


def test_replicas_count_by_policy() -> None:
    assert row("counted") == ("ok", "no denial since the replicas started")
    one, other = replica(), replica("podberth-2")
    assert not isinstance(one.metrics, Unread)
    decided = {
        ("podberth_policy_decisions_total", frozenset({("policy", policy), ("verdict", verdict)})): count
        for policy, verdict, count in (("a", "deny", 2.0), ("b", "deny", 5.0), ("c", "error", 1.0), ("d", "warn", 9.0))
    }
    counting = (Replica("podberth-1", {**one.metrics, **decided}), Replica("podberth-2", {**one.metrics, **decided}))
    assert row("counted", replicas=counting) == (
        "note",
        "denied since the replicas started: b 10, a 4; failed expressions that were ignored: c 2",
    )
    assert rows("counted", replicas=(Replica(other.name, Unread("no", "x", refused=False)),)) == []


def test_events_that_could_not_be_read_are_a_finding() -> None:
    assert row("events", events=Unread("forbidden", "list events"))[0] == "unread"

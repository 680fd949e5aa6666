"""Equal notices are one series; no object has Events without end, and no series waits longer than it has to."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from podberth.admission.notices import Notice, Regarding
from podberth.cluster.event_series import Limits, OpenSeries
from podberth.telemetry.bucket import Bucket

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
JOB = Regarding(api_version="batch/v1", kind="Job", namespace="team", name="train", uid="j-1")
LIMITS = Limits(object_burst=3, object_refill_seconds=100, series=5, objects=2, repeat_seconds=4, finish_seconds=60)


def notice(note: str = "look", regarding: Regarding = JOB) -> Notice:
    return Notice(regarding=regarding, type="Warning", reason="R", action="A", note=note)


def job(uid: str) -> Regarding:
    return replace(JOB, uid=uid)


def _strangers(**limits: Any) -> OpenSeries:
    return OpenSeries(replace(Limits(), **limits))


def _in(namespace: str, uid: str = "r-1") -> Notice:
    return notice(regarding=replace(JOB, namespace=namespace, uid=uid))


def test_all_that_anybody_may_have_caused_is_as_much_as_of_one_object() -> None:
    known = _strangers(unproved_burst=3, unproved_refill_seconds=10)
    fates = [known.observe(_in("team", f"r-{number}"), 0.0, NOW, proved=False) for number in range(1000)]
    assert fates == ["kept"] * 3 + ["limited"] * 997
    assert known.observe(_in("team", "r-0"), 0.0, NOW, proved=False) == "kept"  # one more of a series that is open
    assert known.observe(_in("team", "later"), 10.0, NOW, proved=False) == "kept"
    assert known.observe(_in("team", "api-server"), 10.0, NOW) == "kept"  # who is known to have asked waits for nobody


def test_an_hour_of_strangers_is_few_events() -> None:
    """The API server keeps an Event for an hour, so that is the most at one time."""
    known, kept = _strangers(), 0
    for second in range(3600):
        known.end_quiet(float(second))
        for series in list(known._series.values()):
            known.sent(series, series.unsent, float(second))
        notices = (_in("team", f"r-{second}-{number}") for number in range(10))
        kept += [known.observe(each, float(second), NOW, proved=False) for each in notices].count("kept")
    assert kept <= 145


def test_events_caused_by_strangers_are_in_few_namespaces_at_a_time() -> None:
    known = _strangers(unproved_burst=1000, unproved_namespaces=2)
    said = [known.observe(_in(each), 0.0, NOW, proved=False) for each in ("a", "b", "c", "a")]
    assert said == ["kept", "kept", "limited", "kept"]
    assert known.observe(_in("b", "other"), 0.0, NOW, proved=False) == "kept"
    assert known.observe(_in("c"), 0.0, NOW) == "kept"
    for series in list(known._series.values()):
        known.sent(series, series.unsent, 1.0)
    known.end_quiet(Limits().finish_seconds + 1)
    assert known.observe(_in("d"), Limits().finish_seconds + 1, NOW, proved=False) == "kept"


def test_equal_notices_are_one_series_that_waits_for_the_others() -> None:
    known = OpenSeries(LIMITS)
    assert {known.observe(notice(), 10.0 + number / 1000, NOW) for number in range(1000)} == {"kept"}
    assert len(known._series) == 1
    series = known.next()
    assert series is not None
    assert (series.unsent, series.due) == (1000, 10.0 + LIMITS.together_seconds)


def test_a_sent_notice_is_not_sent_again_and_repeats_come_less_and_less_often() -> None:
    known = OpenSeries(LIMITS)
    known.observe(notice(), 0.0, NOW)
    series = known.next()
    assert series is not None
    known.sent(series, 1, 1.0)
    assert known.next() is None
    dues = []
    at = 1.0
    for _ in range(8):
        known.observe(notice(), at, NOW)
        assert known.next() is series
        dues.append(series.due - at)
        at = series.due
        known.sent(series, 1, at)
    assert dues == [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0]


def test_a_notice_that_comes_during_a_request_is_sent_next() -> None:
    known = OpenSeries(LIMITS)
    known.observe(notice(), 0.0, NOW)
    series = known.next()
    assert series is not None
    known.observe(notice(), 1.0, NOW)
    known.sent(series, 1, 2.0)
    assert known.next() is series
    assert series.unsent == 1


def test_a_series_that_was_quiet_for_long_is_sent_at_once() -> None:
    known = OpenSeries(LIMITS)
    known.observe(notice(), 0.0, NOW)
    series = known.next()
    assert series is not None
    known.sent(series, 1, 1.0)
    known.observe(notice(), 50.0, NOW)
    assert series.due == 50.0


def test_an_object_has_a_burst_of_events_and_one_more_with_time() -> None:
    known = OpenSeries(replace(LIMITS, series=100))
    assert [known.observe(notice(str(number)), 0.0, NOW) for number in range(4)] == ["kept"] * 3 + ["limited"]
    assert known.observe(notice("1"), 0.0, NOW) == "kept"  # one more of a series that is open
    assert known.observe(notice("x", job("j-2")), 0.0, NOW) == "kept"  # another object
    assert known.observe(notice("4"), 99.0, NOW) == "limited"
    assert known.observe(notice("4"), 100.0, NOW) == "kept"
    assert known.observe(notice("5"), 100.0, NOW) == "limited"


def test_so_many_series_are_open_and_those_that_are_over_make_room() -> None:
    known = OpenSeries(LIMITS)
    for number in range(5):
        assert known.observe(notice("m", job(f"j-{number}")), 0.0, NOW) == "kept"
    assert known.observe(notice("m", job("j-5")), 0.0, NOW) == "dropped"
    series = known.next()
    assert series is not None
    known.sent(series, 1, 1.0)
    known.end_quiet(59.0)
    assert len(known._series) == 5
    known.end_quiet(61.0)  # the others are not sent yet
    assert len(known._series) == 4
    assert known.observe(notice("m", job("j-5")), 61.0, NOW) == "kept"


def test_series_that_are_over_take_no_room_from_the_first_notices_after_a_quiet_time() -> None:
    """Nobody calls ``end_quiet`` while nothing is to be sent, and the controller publishes a notice only once."""
    known = OpenSeries(LIMITS)
    for number in range(5):
        known.observe(notice("m", job(f"j-{number}")), 0.0, NOW)
    for series in list(known._series.values()):
        known.sent(series, series.unsent, 1.0)
    fates = [known.observe(notice("m", job(f"k-{number}")), 10_000.0, NOW) for number in range(6)]
    assert fates == ["kept"] * 5 + ["dropped"]


def test_namespaces_of_strangers_that_are_over_take_no_room_from_the_first_notice_after_a_quiet_time() -> None:
    known = _strangers(unproved_namespaces=2)
    for namespace in ("a", "b"):
        known.observe(_in(namespace), 0.0, NOW, proved=False)
    for series in list(known._series.values()):
        known.sent(series, series.unsent, 1.0)
    assert known.observe(_in("c"), 10_000.0, NOW, proved=False) == "kept"


def test_a_series_that_cannot_be_sent_waits_behind_the_others_or_is_ended() -> None:
    known = OpenSeries(LIMITS)
    known.observe(notice("a"), 0.0, NOW)
    known.observe(notice("b"), 0.5, NOW)
    first = known.next()
    assert first is not None
    known.put_off(first, 1.0)
    second = known.next()
    assert second is not None
    assert (first.notice.note, second.notice.note) == ("a", "b")
    known.give_up(second)
    assert known.next() is first
    known.give_up(first)
    assert known.next() is None


def test_it_remembers_so_many_objects_and_forgets_the_one_that_was_quiet_longest() -> None:
    known = OpenSeries(replace(LIMITS, object_burst=1, series=100))
    known.observe(notice("a", job("j-1")), 0.0, NOW)
    known.observe(notice("a", job("j-2")), 0.0, NOW)
    assert known.observe(notice("b", job("j-1")), 0.0, NOW) == "limited"
    known.observe(notice("a", job("j-3")), 0.0, NOW)  # j-2 is forgotten
    assert known.observe(notice("b", job("j-1")), 0.0, NOW) == "limited"
    assert known.observe(notice("b", job("j-2")), 0.0, NOW) == "kept"


@pytest.mark.parametrize("start", [0.0, 1e6])
def test_a_bucket_gives_its_tokens_and_then_refilled_ones(start: float) -> None:
    bucket = Bucket(2, 10)
    assert [bucket.take(start) for _ in range(3)] == [True, True, False]
    assert bucket.wait_seconds(start + 4) == pytest.approx(6)
    assert not bucket.take(start + 9.99)
    assert bucket.take(start + 10.01)
    assert [bucket.take(start + 1000) for _ in range(3)] == [True, True, False]

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podberth.topology.heartbeats import Heartbeats, WatchClock

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def lease(ago: float = 0.0, seconds: Any = 40) -> dict[str, Any]:
    renewed = (NOW - timedelta(seconds=ago)).isoformat()
    return {"spec": {"renewTime": renewed, "leaseDurationSeconds": seconds}}


def test_a_lease_seen_for_the_first_time_is_judged_by_its_own_time() -> None:
    beats = Heartbeats()
    beats.renew("fresh", lease(30), now=NOW, at=100)
    beats.renew("old", lease(41), now=NOW, at=100)
    beats.renew("ahead", lease(-7200), now=NOW, at=100)
    assert [beats.stale(name, 100) for name in ("fresh", "old", "ahead", "none")] == [False, True, False, False]
    assert beats.run_out(110.5) == ["old", "fresh"]
    # A clock that is ahead gives no more than a lease lasts.
    assert beats.run_out(140.5) == ["ahead"]


def test_a_lease_that_changes_lasts_from_when_the_change_was_seen_whatever_time_it_names() -> None:
    beats = Heartbeats()
    beats.renew("behind", lease(7200), now=NOW, at=0)
    assert beats.run_out(1) == ["behind"]
    beats.renew("behind", lease(7190), now=NOW, at=10)
    assert not beats.stale("behind", 50)
    assert beats.run_out(50) == []
    assert beats.run_out(50.1) == ["behind"]
    assert beats.run_out(1000) == []


def test_the_same_lease_again_renews_nothing() -> None:
    beats = Heartbeats()
    beats.renew("a", lease(), now=NOW, at=0)
    beats.renew("a", lease(), now=NOW, at=39)
    assert beats.run_out(41) == ["a"]


def test_renewing_moves_the_moment_and_a_shorter_lease_moves_it_back() -> None:
    beats = Heartbeats()
    for second in range(0, 400, 10):
        beats.renew("a", lease(-second), now=NOW, at=second)
        assert beats.run_out(second) == []
    assert beats.run_out(430) == []
    assert beats.run_out(430.5) == ["a"]
    assert beats.next_at is None


def test_a_lease_that_is_shortened_runs_out_earlier() -> None:
    beats = Heartbeats()
    beats.renew("a", lease(), now=NOW, at=0)
    beats.renew("a", lease(-1, seconds=1), now=NOW, at=1)
    assert beats.next_at == 2
    assert beats.run_out(2.5) == ["a"]
    assert beats.run_out(50) == []
    assert beats.next_at is None


@pytest.mark.parametrize("spec", [None, {}, {"renewTime": "never", "leaseDurationSeconds": 40}, {"renewTime": NOW}])
def test_a_lease_that_cannot_be_read_is_as_good_as_run_out(spec: Any) -> None:
    beats = Heartbeats()
    assert beats.renew("a", lease(), now=NOW, at=0)
    assert not beats.renew("a", {"spec": spec}, now=NOW, at=1)
    assert beats.stale("a", 1)
    assert beats.renew("a", lease(7200), now=NOW, at=2)
    assert not beats.stale("a", 2)


def test_without_a_lease_nothing_is_stale() -> None:
    beats = Heartbeats()
    beats.renew("a", lease(), now=NOW, at=0)
    beats.forget("a")
    assert beats.run_out(1000) == []
    assert not beats.stale("a", 1000)
    # And it begins again.
    beats.renew("a", lease(41), now=NOW, at=1000)
    assert beats.stale("a", 1000)


def test_the_clock_stands_still_from_the_last_contact_to_the_next() -> None:
    sight = WatchClock()
    assert sight.read(10) == 10
    sight.lose(12)
    sight.lose(15)
    assert (sight.read(13), sight.read(100)) == (12, 12)
    sight.regain(100)
    sight.regain(110)
    assert (sight.read(100), sight.read(111)) == (12, 23)
    sight.lose(112)
    sight.regain(114)
    assert sight.read(114) == 24

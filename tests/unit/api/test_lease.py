"""When a replica may lead, and what it writes: no cluster, no clock."""

from datetime import UTC, datetime
from typing import Any

from podberth.api.election import Candidate, Term

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def lease(holder: str, version: str = "1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": holder, **spec}}


def test_a_lease_runs_out_when_it_has_not_changed_for_as_long_as_it_says_by_the_readers_clock() -> None:
    candidate = Candidate("me", Term())
    other = lease("other", leaseDurationSeconds=15, renewTime="1970-01-01T00:00:00.000000Z")
    assert not candidate.may_take(other, 100.0)
    assert not candidate.may_take(other, 114.9)
    assert candidate.may_take(other, 115.0)
    assert not candidate.may_take(lease("other", "2", leaseDurationSeconds=15), 115.0)


def test_ones_own_and_nobodys_are_free() -> None:
    candidate = Candidate("me", Term())
    assert candidate.may_take(lease("me"), 1.0)
    assert candidate.may_take(lease(""), 1.0)
    assert not candidate.may_take(lease("other", leaseDurationSeconds="soon"), 1.0)


def test_turns_are_counted_and_the_first_moment_is_kept() -> None:
    candidate = Candidate("me", Term())
    taken = candidate.spec(lease("other", leaseTransitions=4, acquireTime="then"), NOW)
    assert taken == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 5,
    }
    renewed = candidate.spec({"spec": {**taken, "acquireTime": "then"}}, NOW)
    assert (renewed["acquireTime"], renewed["leaseTransitions"]) == ("then", 5)
    assert candidate.spec(None, NOW)["leaseTransitions"] == 0
    assert candidate.released(NOW)["holderIdentity"] == ""


def test_a_leader_stops_before_another_may_begin() -> None:
    assert Term().retry_seconds < Term().renew_seconds < Term().lease_seconds

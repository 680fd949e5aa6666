"""Times as the API writes them."""

from datetime import UTC, datetime, timedelta, timezone

from podberth.kube.times import as_micro_time, as_time

AT = datetime(2026, 1, 2, 3, 4, 5, 600, UTC)


def test_times_are_of_utc_wherever_they_were_taken() -> None:
    assert as_time(AT) == as_time(AT.astimezone(timezone(timedelta(hours=5)))) == "2026-01-02T03:04:05Z"
    assert as_micro_time(AT.astimezone(timezone(timedelta(hours=-8)))) == "2026-01-02T03:04:05.000600Z"

from datetime import UTC, datetime, timedelta

import pytest

from podberth.pki.replica_certificate import renewal_due

_START = datetime(2026, 1, 1, tzinfo=UTC)
_END = _START + timedelta(days=90)


@pytest.mark.parametrize(
    ("days", "reason"),
    [
        (-1, "not valid before 2026-01-01T00:00:00+00:00"),
        (0, None),
        (59, None),
        (60, "two thirds of its life were over at 2026-03-02T00:00:00+00:00"),
        (89, "it expires at 2026-04-01T00:00:00+00:00"),
        (90, "expired at 2026-04-01T00:00:00+00:00"),
        (900, "expired at 2026-04-01T00:00:00+00:00"),
    ],
)
def test_renewal_is_due_after_two_thirds_of_the_life(days: int, reason: str | None) -> None:
    due = renewal_due(_START, _END, _START + timedelta(days=days))
    assert due is None if reason is None else due is not None and reason in due

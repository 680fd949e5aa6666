"""Says when a certificate is due for renewal, and why. The caller brings the time and renews."""

from datetime import datetime

# cert-manager renews after two thirds of a certificate's life:
# https://cert-manager.io/docs/usage/certificate/#issuance-triggers (renewBefore's default)
_LIFE_SPENT_NUMERATOR = 2
_LIFE_SPENT_DENOMINATOR = 3


def renewal_due(not_before: datetime, not_after: datetime, now: datetime) -> str | None:
    """Return why a certificate must be replaced at ``now``; None while it is good."""
    if now < not_before:
        return f"not valid before {_moment(not_before)}"
    if now >= not_after:
        return f"expired at {_moment(not_after)}"
    due = renewal_moment(not_before, not_after)
    if now >= due:
        return f"two thirds of its life were over at {_moment(due)}; it expires at {_moment(not_after)}"
    return None


def renewal_moment(not_before: datetime, not_after: datetime) -> datetime:
    """Return the moment at which two thirds of a life are over."""
    return not_before + (not_after - not_before) * _LIFE_SPENT_NUMERATOR / _LIFE_SPENT_DENOMINATOR


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")

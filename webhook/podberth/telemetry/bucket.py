"""A token bucket, which limits how often something happens. The bucket has no clock: the caller passes seconds."""

from math import inf


class Bucket:
    """A token bucket: ``burst`` tokens at once, and a new token every ``refill_seconds``."""

    __slots__ = ("_full_at", "_refill_seconds", "_spare_seconds")

    def __init__(self, burst: float, refill_seconds: float) -> None:
        self._refill_seconds = refill_seconds
        self._spare_seconds = (burst - 1) * refill_seconds
        self._full_at = -inf

    @property
    def at(self) -> float:
        """The earliest time at which a token is available, in seconds of the caller's clock."""
        return self._full_at - self._spare_seconds

    def take(self, at: float) -> bool:
        """Take a token at the time ``at``, in seconds of the caller's clock; return False if no token is available."""
        if self.at > at:
            return False
        self._full_at = max(self._full_at, at) + self._refill_seconds
        return True

    def wait_seconds(self, at: float) -> float:
        """Return the seconds until a token is available; 0 if a token is available now."""
        return max(0.0, self.at - at)

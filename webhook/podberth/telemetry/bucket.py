"""A limit of frequency. No clock: times are seconds of the caller's clock."""


class Bucket:
    """Tokens that are refilled with time."""

    def __init__(self, burst: float, refill_seconds: float) -> None:
        """Start full."""
        self._burst = burst
        self._refill_seconds = refill_seconds
        self._tokens = burst
        self._at = 0.0

    def take(self, at: float) -> bool:
        """Take a token, if there is one."""
        if self.wait_seconds(at):
            return False
        self._tokens -= 1.0
        return True

    def wait_seconds(self, at: float) -> float:
        """Return the seconds until there is one; 0: there is one now."""
        self._tokens = min(self._burst, self._tokens + max(0.0, at - self._at) / self._refill_seconds)
        self._at = at
        return max(0.0, (1.0 - self._tokens) * self._refill_seconds)

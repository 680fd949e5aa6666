"""How often something may happen. No clock: times are seconds of whatever clock the caller keeps."""


class Bucket:
    """Tokens that come back with time."""

    def __init__(self, burst: float, refill_seconds: float) -> None:
        """Be full."""
        self._burst = burst
        self._refill_seconds = refill_seconds
        self._tokens = burst
        self._at = 0.0

    def take(self, at: float) -> bool:
        """Take one, if there is one."""
        if self.wait_seconds(at):
            return False
        self._tokens -= 1.0
        return True

    def wait_seconds(self, at: float) -> float:
        """Return how long until there is one; 0: there is."""
        self._tokens = min(self._burst, self._tokens + max(0.0, at - self._at) / self._refill_seconds)
        self._at = at
        return max(0.0, (1.0 - self._tokens) * self._refill_seconds)

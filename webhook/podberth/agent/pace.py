"""Computes growing pauses after failures.

The module reads no clock: the caller passes times, in seconds of any clock.
"""

from collections.abc import Callable
from math import inf

# Doubled with each failure; the first retries are within a second, because most failures are a server that restarts.
_FIRST_SECONDS = 0.5
# 10,000 agents that retry once in 30 s on average are 333 requests a second, a third of their kubelets' heartbeats.
_MOST_SECONDS = 60.0
_LEAST_SECONDS = 0.05  # full jitter may draw 0, which would be a busy loop
_MOST_FAILURES = 20  # further failures are not counted: 2 ** 20 half-seconds are longer than any cap
_MOST_ASKED_SECONDS = 600.0  # the longest Retry-After that is followed

Draw = Callable[[], float]
"""A function that returns a new random number from 0 to below 1 at each call."""


class Backoff:
    """Computes the time of the next try after failures: exponential backoff with full jitter.

    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    __slots__ = ("_draw", "_failures", "at")

    def __init__(self, draw: Draw) -> None:
        """Create the backoff without a failure; ``draw`` returns random numbers."""
        self.at = -inf
        """The earliest time of the next try, in seconds of the caller's clock; -inf if there was no failure."""
        self._failures = 0
        self._draw = draw

    @property
    def failing(self) -> bool:
        """Whether the last try failed."""
        return self._failures > 0

    def succeed(self) -> None:
        """Forget all failures, because a try has succeeded."""
        self._failures = 0
        self.at = -inf

    def fail(self, now: float, *, asked_seconds: float | None = None) -> None:
        """Record a temporary failure, which postpones the next try by a random pause that grows with each failure.

        ``asked_seconds`` is the server's Retry-After, which is added to the pause; more than 600 s count as 600 s.
        """
        most = min(_MOST_SECONDS, _FIRST_SECONDS * 2.0**self._failures)
        self._failures = min(self._failures + 1, _MOST_FAILURES)
        asked = min(asked_seconds or 0.0, _MOST_ASKED_SECONDS)
        self.at = now + asked + max(_LEAST_SECONDS, self._draw() * most)

    def postpone(self, now: float, seconds: float) -> None:
        """Record a failure that only a person can fix: the next try is ``seconds`` after ``now``."""
        self._failures = min(self._failures + 1, _MOST_FAILURES)
        self.at = now + seconds

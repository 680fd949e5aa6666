"""Limits the open connections; an old connection of an unknown caller may be closed for a new connection."""

from typing import Final, Protocol

from .byte_budget import CONNECTION_BYTES, HANDSHAKE_BYTES, MemoryBudget

# An API server has up to 200 mutating requests in progress (--max-mutating-requests-inflight), each with a connection
# of its own while it waits for a webhook. The number is enough for five API servers that send all to one replica.
MOST_PROVEN: Final = 1_024
MOST_PLACES: Final = 1_536
# The age from which an unproven connection may be displaced. A handshake and a review take milliseconds, so legitimate
# connections are proven or done by then: a burst of the API server's own connections does not displace itself.
GRACE_SECONDS: Final = 1.0


class Guest(Protocol):
    """A connection that counts against the limit of open connections, with or without a finished TLS handshake."""

    def displace(self) -> None:
        """Close the connection at once, because there are too many connections and a new connection arrived."""


class Places:
    """Counts and limits the open connections.

    Used only by the event loop's thread; times are the event loop's times.
    """

    def __init__(
        self, budget: MemoryBudget | None = None, most: int = MOST_PLACES, most_proven: int = MOST_PROVEN
    ) -> None:
        """Create the object without connections. Every connection is charged to ``budget``, or to a budget of its own.

        ``most`` is the limit of open connections. At most ``most_proven`` connections, whose callers are known to be
        legitimate, are protected from being closed for new connections.
        """
        self._budget = budget or MemoryBudget()
        self._most = most
        self._most_proven = most_proven
        self._unproven: dict[Guest, float] = {}
        """The time of arrival of each connection whose caller is not known to be legitimate, oldest first."""
        self._proven: set[Guest] = set()
        self._shaking: set[Guest] = set()
        """The connections whose TLS handshake is in progress; such connections are charged more bytes."""
        self.displaced = 0
        """The number of connections that were displaced so far."""

    def __len__(self) -> int:
        return len(self._unproven) + len(self._proven)

    def enter(self, guest: Guest, now: float) -> bool:
        """Count a new connection, if necessary after closing an old connection from an unknown caller.

        Returns False if the limit of open connections is reached and no connection may be closed. ``now`` is the event
        loop's time in seconds.
        """
        while len(self) >= self._most or not self._budget.take("connections", HANDSHAKE_BYTES):
            if not self._displace(now):
                return False
        self._unproven[guest] = now
        self._shaking.add(guest)
        return True

    def settle(self, guest: Guest) -> None:
        """Note that a connection's TLS handshake is finished, and free the bytes that only a handshake needs."""
        if guest in self._shaking:
            self._shaking.discard(guest)
            self._budget.give_back("connections", HANDSHAKE_BYTES - CONNECTION_BYTES)

    def prove(self, guest: Guest) -> None:
        """Protect a connection from being closed for a new connection, because its caller is known to be legitimate.

        Without effect if too many connections are protected already.
        """
        if guest in self._unproven and len(self._proven) < self._most_proven:
            del self._unproven[guest]
            self._proven.add(guest)

    def leave(self, guest: Guest) -> None:
        """Stop counting a connection that has ended; do nothing if the connection is not counted."""
        if self._unproven.pop(guest, None) is None and guest not in self._proven:
            return
        self.settle(guest)
        self._proven.discard(guest)
        self._budget.give_back("connections", CONNECTION_BYTES)

    def _displace(self, now: float) -> bool:
        """Close the oldest connection from an unknown caller, if that connection is old enough.

        Return whether a connection was closed.
        """
        oldest = next(iter(self._unproven), None)
        if oldest is None or now - self._unproven[oldest] < GRACE_SECONDS:
            return False
        self.leave(oldest)
        self.displaced += 1
        oldest.displace()
        return True

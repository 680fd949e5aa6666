"""The rules of leading: how a replica reads a Lease, and what it writes into it.

The rules are client-go's (tools/leaderelection/leaderelection.go). Clocks of machines differ, so no time in a Lease is
compared with a local one: a Lease has run out when it has not changed for its own duration, by the reader's clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ..kube.times import as_micro_time
from ..kube.unchecked import at, count, text_at

API: Final = "coordination.k8s.io/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Durations, in seconds: those of kube-scheduler and kube-controller-manager."""

    lease_seconds: int = 15
    renew_seconds: float = 10.0
    """How long a leader continues without renewal: less than the lease, so that no other leads yet."""
    retry_seconds: float = 2.0


class Candidate:
    """One replica's view of a Lease. Times are by the monotonic clock."""

    def __init__(self, identity: str, term: Term) -> None:
        """Start without having read a Lease."""
        self.identity = identity
        self._term = term
        self._version = ""
        self._changed_at = 0.0

    def may_take(self, lease: Mapping[str, Any], at_seconds: float) -> bool:
        """Tell whether the Lease, as read just now, is this replica's or free."""
        version = text_at(lease, "metadata", "resourceVersion")
        if version != self._version:
            self._version, self._changed_at = version, at_seconds
        holder = text_at(lease, "spec", "holderIdentity")
        lasts = count(at(lease, "spec", "leaseDurationSeconds")) or self._term.lease_seconds
        return holder in ("", self.identity) or at_seconds - self._changed_at >= lasts

    def spec(self, lease: Mapping[str, Any] | None, now: datetime) -> dict[str, Any]:
        """Return the spec with which this replica leads; ``lease`` is the current Lease, None if there is none."""
        before = text_at(lease, "spec", "holderIdentity")
        kept = before == self.identity
        turns = count(at(lease, "spec", "leaseTransitions"))
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._term.lease_seconds,
            "acquireTime": text_at(lease, "spec", "acquireTime") if kept else as_micro_time(now),
            "renewTime": as_micro_time(now),
            "leaseTransitions": turns if kept or lease is None else turns + 1,
        }

    @staticmethod
    def released(now: datetime) -> dict[str, Any]:
        """Return the spec of a Lease that its holder releases: the next replica need not wait."""
        return {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": as_micro_time(now)}

"""What the parts of a running server share: which snapshot is in force, and whether it is leaving."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..admission.outcome import Outcome
from ..admission.review import AdmissionRequest
from ..admission.snapshot import Snapshot

Decider: TypeAlias = Callable[[AdmissionRequest, Snapshot], Outcome]
Deciders: TypeAlias = Mapping[str, Decider]
"""The decision for each path."""


@dataclass(slots=True)
class ServingState:
    """Changed by the event loop's thread only, and by replacing references: no review ever sees half a reload."""

    snapshot: Snapshot | None = None
    certificate: bool = False
    listening: bool = False
    draining: bool = False
    in_flight: int = 0
    unlisted: Callable[[], Sequence[str]] = tuple
    """Names the resources of the cluster that are to be known and are not yet."""

    def unready(self) -> list[str]:
        """Return why no review should be sent here; empty means ready."""
        reasons = []
        if self.snapshot is None:
            reasons.append("policies and topology are not loaded")
        reasons += [f"{resource} of the cluster are not listed" for resource in self.unlisted()]
        if not self.certificate:
            reasons.append("the certificate is not loaded")
        if not self.listening:
            reasons.append("the port is not open")
        if self.draining:
            reasons.append("draining")
        return reasons

"""What the parts of a running server share: which snapshot is in force, and whether it is leaving."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    namespaces_followed: bool = False
    """Whether a Namespace that is not known may be on its way."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell_namespaces(self) -> None:
        """Wake whoever waits for a Namespace: the snapshot has others now."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def wait_for_namespace(self, name: str, seconds: float) -> None:
        """Wait until the Namespace is known or no policy asks for it, and no longer than so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                while self.lacks_namespace(name):
                    await self._news.wait()
        except TimeoutError:
            return

    def lacks_namespace(self, name: str) -> bool:
        """Tell whether it may help a review of that namespace to wait."""
        return bool(
            self.namespaces_followed and name and self.snapshot is not None and self.snapshot.lacks_namespace(name)
        )

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

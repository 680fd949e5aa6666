"""The state that the parts of a running server share: the snapshot in force, and whether the server is leaving."""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from ..admission.awaited import Awaited, Sought
from ..admission.outcome import Outcome
from ..admission.review import AdmissionRequest
from ..admission.snapshot import Snapshot


class Elsewhere(Protocol):
    """A decision made outside the event loop, to be awaited."""

    def __await__(self) -> Generator[Any, None, Outcome]:
        """Return the decision."""

    def when_ended(self, call: Callable[[], object]) -> None:
        """Call once nothing of the review is held any more, whether somebody still waits for the decision or not."""


Decider: TypeAlias = Callable[[AdmissionRequest, Snapshot], Outcome | Elsewhere]
"""Decides on a review at once, or in another thread or process."""
Deciders: TypeAlias = Mapping[str, Decider]
"""The decision for each path."""


@dataclass(slots=True)
class ServingState:
    """Changed only by the event loop's thread, by replacing references: no review ever sees half a reload."""

    snapshot: Snapshot | None = None
    certificate: bool = False
    listening: bool = False
    draining: bool = False
    in_flight: int = 0
    unlisted: Callable[[], Sequence[str]] = tuple
    """Returns the resources of the cluster that must be listed and are not yet."""
    awaited: Awaited | None = None
    """Returns the unknown objects of a review that may still arrive; None: there never are any."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell_news(self) -> None:
        """Wake the reviews that wait for an object: the snapshot has changed."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    def lacks(self, review: AdmissionRequest) -> Sought | None:
        """Return the unknown objects that a review should wait for; None: nothing."""
        return self.awaited(review, self.snapshot) if self.awaited and self.snapshot else None

    async def wait_for(self, sought: Sought, seconds: float) -> None:
        """Wait until all needed objects are known, or until the seconds have passed."""
        try:
            async with asyncio.timeout(seconds):
                while self.awaited and self.snapshot and self.awaited.is_lacking(sought, self.snapshot):
                    await self._news.wait()
        except TimeoutError:
            return

    def unready(self) -> list[str]:
        """Return the reasons why no review should be sent here; empty means ready."""
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

"""The state shared by the parts of a running server: the snapshot in force, and whether the server is shutting down."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from ..admission.awaited import Awaited, Sought
from ..admission.outcome import Outcome
from ..admission.review import AdmissionRequest
from ..admission.snapshot import Snapshot
from .judge import Judgement

Decider: TypeAlias = Callable[[AdmissionRequest, Snapshot], Outcome | Judgement]
"""A function that decides on a review with a snapshot, at once or in another thread."""
Deciders: TypeAlias = Mapping[str, Decider]
"""The decider for each URL path, such as ``/mutate``."""


@dataclass(slots=True)
class ServingState:
    """The shared state of one server, changed only by the event loop's thread.

    A change replaces an attribute as a whole, so no review sees half of a reload.
    """

    snapshot: Snapshot | None = None
    certificate: bool = False
    listening: bool = False
    draining: bool = False
    in_flight: int = 0
    unlisted: Callable[[], Sequence[str]] = tuple
    """Returns the resources of the cluster that must be listed before the server is ready, and are not listed yet."""
    awaited: Awaited | None = None
    """Returns the unknown objects of a review that may still arrive; None: no review ever waits for objects."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    """Returns the present time, with a time zone."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def present(self) -> Snapshot | None:
        """Return the snapshot with the exceptions that are in force now; None if nothing is loaded yet."""
        if self.snapshot is not None:
            self.snapshot = self.snapshot.at(self.clock())
        return self.snapshot

    def wake_waiting(self) -> None:
        """Wake the reviews that wait for an object, because the snapshot has changed."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    def lacks(self, review: AdmissionRequest) -> Sought | None:
        """Return the objects that a review needs and that a watch may still report; None if it can be decided now."""
        return self.awaited(review, self.snapshot) if self.awaited and self.snapshot else None

    async def wait_for(self, sought: Sought, seconds: float) -> None:
        """Wait until all objects in ``sought`` are known, or until ``seconds`` have passed."""
        try:
            async with asyncio.timeout(seconds):
                while self.awaited and self.snapshot and self.awaited.is_lacking(sought, self.snapshot):
                    await self._news.wait()
        except TimeoutError:
            return

    def unready(self) -> list[str]:
        """Return the reasons why the server should get no reviews now; empty if the server is ready."""
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

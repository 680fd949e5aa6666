"""Shuts the webhook's server down without losing a review.

The shutdown has three steps. First, readiness fails and every answer closes its connection, until the cluster sends
reviews to other replicas. Second, new connections are refused and idle connections are closed. Third, the reviews in
flight finish. The apiserver keeps using connections to a terminating pod until they are closed (kubernetes issue
127335).
"""

import asyncio
from contextlib import suppress

from ..telemetry.log import Log
from .listen import FINISH_SECONDS, ReviewPort
from .state import ServingState

# The time between two checks whether the last review is answered. A delay of a twentieth of a second does not matter.
_LOOK_SECONDS = 0.05


class Leaving:
    """The shutdown of a serving process, which a signal begins."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._hurried = asyncio.Event()
        self._delay_seconds = 0.0
        self._fault: BaseException | None = None
        self._ending: list[asyncio.Task[None]] = []

    def begin(self, delay_seconds: float) -> None:
        """Request the shutdown.

        Before connections are refused, the server goes on for ``delay_seconds``. A second request ends this delay.
        """
        if self._asked.is_set():
            self._hurried.set()
            return
        self._delay_seconds = delay_seconds
        self._asked.set()
        for task in self._ending:
            task.cancel()

    def end_with(self, task: asyncio.Task[None]) -> None:
        """Cancel a task as soon as shutdown is requested, so that a hanging read does not delay the shutdown."""
        self._ending.append(task)
        if self._asked.is_set():
            task.cancel()

    def depend_on(self, task: asyncio.Task[None]) -> None:
        """Request the shutdown of the process if ``task`` fails. The method ``leave`` then raises the task's error."""
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
            self.begin(0.0)

    async def leave(self, state: ServingState, port: ReviewPort, log: Log) -> None:
        """Wait until shutdown is requested, then shut down ``port`` without losing a review.

        First, readiness fails for some seconds. Then new connections are refused, and the reviews in flight finish.

        Raises:
            BaseException: the error of a task that was passed to ``depend_on``, after the shutdown.
        """
        await self._asked.wait()
        state.draining = True
        log.event("info", "draining", delay_seconds=self._delay_seconds, in_flight=state.in_flight)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurried.wait(), self._delay_seconds)
        port.refuse()
        # Not left to aiohttp, which would not read the rest of a body that is still arriving.
        patience = asyncio.get_running_loop().time() + FINISH_SECONDS
        # Polled and not awaited: an event would add a cost to every review of the process's life.
        while state.in_flight and asyncio.get_running_loop().time() < patience:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)
        await port.stop()
        log.event("info", "drained")
        if self._fault is not None:
            raise self._fault

"""Leaves without losing a review.

In order: readiness fails and every answer closes its connection, for as long as it takes the cluster to route
elsewhere; then nothing new is accepted and idle connections are closed; then what is in flight finishes. The apiserver
keeps using connections to a terminating pod until they are closed (kubernetes issue 127335).
"""

import asyncio
from contextlib import suppress

from ..telemetry.log import Log
from .listen import FINISH_SECONDS, ReviewPort
from .state import ServingState

# How often it is looked whether the last review has been answered: nobody notices a twentieth of a second at the end.
_LOOK_SECONDS = 0.05


class Leaving:
    """The end of a serving process, begun by a signal."""

    def __init__(self) -> None:
        """Nothing has been asked yet."""
        self._asked = asyncio.Event()
        self._hurried = asyncio.Event()
        self._delay_seconds = 0.0
        self._fault: BaseException | None = None
        self._ending: list[asyncio.Task[None]] = []

    def begin(self, delay_seconds: float) -> None:
        """Ask for the end; a second time, for less patience."""
        if self._asked.is_set():
            self._hurried.set()
            return
        self._delay_seconds = delay_seconds
        self._asked.set()
        for task in self._ending:
            task.cancel()

    def end_with(self, task: asyncio.Task[None]) -> None:
        """Cancel a task as soon as the end is asked for: a read that hangs is then given up before the process ends."""
        self._ending.append(task)
        if self._asked.is_set():
            task.cancel()

    def depend_on(self, task: asyncio.Task[None]) -> None:
        """Ask for the end where a task fails; ``leave`` then raises why."""
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
            self.begin(0.0)

    async def leave(self, state: ServingState, port: ReviewPort, log: Log) -> None:
        """Wait until asked, then drain ``port``.

        Raises:
            BaseException: what a task that was depended on failed of.
        """
        await self._asked.wait()
        state.draining = True
        log.event("info", "draining", delay_seconds=self._delay_seconds, in_flight=state.in_flight)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurried.wait(), self._delay_seconds)
        port.refuse()
        # Not left to aiohttp, which would take in no more of a body that is still on its way.
        patience = asyncio.get_running_loop().time() + FINISH_SECONDS
        # Looked at and not waited for: an event would cost every review of the process's life.
        while state.in_flight and asyncio.get_running_loop().time() < patience:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)
        await port.stop()
        log.event("info", "drained")
        if self._fault is not None:
            raise self._fault

"""Requests in progress: a few at a time, so that a slow one delays no round."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from .plan.model import Action, LookUp
from .retries import key_of

AT_ONCE: Final = 5
"""The places for look-ups, and as many for writes: few enough that thousands of gangs after a restart are no burst to
the API server; together they are client-go's default burst."""


class _Lane:
    """Requests of one sort: those of another sort take none of its places."""

    def __init__(self) -> None:
        self.due: dict[Any, Action] = {}
        """The waiting requests, in the order in which they are sent."""
        self.under_way: dict[Any, asyncio.Task[None]] = {}


class Sending:
    """The requests in progress, and those that wait for a place."""

    def __init__(self, send: Callable[[Action], Awaitable[None]]) -> None:
        """Start without requests. ``send`` raises nothing."""
        self._send = send
        self._look_ups, self._writes = self._lanes = (_Lane(), _Lane())

    def is_under_way(self, action: Action) -> bool:
        """Tell whether it was sent and is not answered."""
        return key_of(action) in self._lane(action).under_way

    def offer(self, due: Iterable[Action]) -> None:
        """Send these as places become free, unless they are in progress, instead of the requests that still wait.

        Those may no longer be wanted.
        """
        for lane in self._lanes:
            lane.due.clear()
        for action in due:
            if not self.is_under_way(action):
                self._lane(action).due[key_of(action)] = action
        for lane in self._lanes:
            self._fill(lane)

    async def stop(self) -> None:
        """End the requests in progress, and return when there are none."""
        for lane in self._lanes:
            lane.due.clear()
        tasks = [task for lane in self._lanes for task in lane.under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for lane in self._lanes:
            lane.under_way.clear()

    def _lane(self, action: Action) -> _Lane:
        return self._look_ups if isinstance(action, LookUp) else self._writes

    def _fill(self, lane: _Lane) -> None:
        while lane.due and len(lane.under_way) < AT_ONCE:
            key = next(iter(lane.due))
            lane.under_way[key] = asyncio.create_task(self._one(lane, key, lane.due.pop(key)))

    async def _one(self, lane: _Lane, key: Any, action: Action) -> None:
        try:
            await self._send(action)
        finally:
            del lane.under_way[key]
        # Not after a cancellation: then nothing more is to be sent.
        self._fill(lane)

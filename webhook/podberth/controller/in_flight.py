"""Limits the number of requests that are sent at once, so that a slow request does not delay the controller's loop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from .plan.world import Action, LookUp
from .retries import key_of

AT_ONCE: Final = 5
"""The maximum number of look-ups in progress at once, and also the maximum number of writes.

The two maximums together are client-go's default burst. So thousands of gangs after a restart do not overload the API
server.
"""


class _Lane:
    """The look-ups, or the writes, that are in progress or wait; look-ups and writes have separate limits."""

    def __init__(self) -> None:
        self.due: dict[Any, Action] = {}
        """The waiting requests, in the order of sending."""
        self.under_way: dict[Any, asyncio.Task[None]] = {}


class Sending:
    """The requests that are in progress, and the requests that wait until others have finished."""

    def __init__(self, send: Callable[[Action], Awaitable[None]]) -> None:
        """Create the object without requests. ``send`` must not raise exceptions."""
        self._send = send
        self._look_ups, self._writes = self._lanes = (_Lane(), _Lane())

    def is_under_way(self, action: Action) -> bool:
        """Return whether the request for an action is in progress: sent, but not answered yet."""
        return key_of(action) in self._lane(action).under_way

    def offer(self, due: Iterable[Action]) -> None:
        """Replace the waiting requests by ``due``, and send these requests as earlier requests finish.

        The replaced requests may no longer be wanted. A request that is in progress is not repeated.
        """
        for lane in self._lanes:
            lane.due.clear()
        for action in due:
            if not self.is_under_way(action):
                self._lane(action).due[key_of(action)] = action
        for lane in self._lanes:
            self._fill(lane)

    async def stop(self) -> None:
        """Cancel the requests in progress, and return when all have ended."""
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
        # This line is not reached after a cancellation, because nothing more is to be sent then.
        self._fill(lane)

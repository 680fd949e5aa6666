"""Limits the number of requests that are sent at once, so that a slow request does not delay the controller's loop."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Final

from .plan.world import Action
from .retries import key_of

AT_ONCE: Final = 5
"""The maximum number of look-ups in progress at once, and also the maximum number of writes.

The two maximums together are client-go's default burst. So thousands of gangs after a restart do not overload the API
server.
"""


class Sending:
    """The look-ups, or the writes: those in progress, and those that wait until others have finished."""

    def __init__(self, send: Callable[[Action], Awaitable[None]]) -> None:
        """Create the object without requests. ``send`` must not raise exceptions."""
        self._send = send
        self._due: dict[Hashable, Action] = {}
        """The waiting requests, in the order of sending."""
        self._under_way: dict[Hashable, asyncio.Task[None]] = {}

    def is_under_way(self, action: Action) -> bool:
        """Return whether the request for an action is in progress: sent, but not answered yet."""
        return key_of(action) in self._under_way

    def offer(self, due: Iterable[Action]) -> None:
        """Replace the waiting requests by ``due``, and send these requests as earlier requests finish.

        The replaced requests may no longer be wanted. A request that is in progress is not repeated.
        """
        self._due = {key_of(action): action for action in due if not self.is_under_way(action)}
        self._fill()

    def cancel(self) -> list[asyncio.Task[None]]:
        """Drop the waiting requests, and cancel the requests in progress; return their tasks, which end soon."""
        self._due.clear()
        tasks = list(self._under_way.values())
        self._under_way.clear()
        for task in tasks:
            task.cancel()
        return tasks

    def _fill(self) -> None:
        while self._due and len(self._under_way) < AT_ONCE:
            key = next(iter(self._due))
            self._under_way[key] = asyncio.create_task(self._one(key, self._due.pop(key)))

    async def _one(self, key: Hashable, action: Action) -> None:
        try:
            await self._send(action)
        finally:
            self._under_way.pop(key, None)
        # This line is not reached after a cancellation, because nothing more is to be sent then.
        self._fill()

"""Waiting for a state of the world: the one place in the tests that polls."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# A look is a request or even a process, and takes its time from what is waited for: the longer that has lasted, the
# less a later look costs. A wait is at most a tenth longer than it need be, or 20 ms, and never by more than 200 ms.
_SHORTEST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.2
_PAUSES_OF_ONE_WAIT = 10
# How long a test waits for what should take no time to speak of: the bound is for a CI machine under load, a hundred
# times as slow at the worst, and is paid by a failing test alone.
PATIENCE_SECONDS = 60.0


def wait_for(
    predicate: Callable[[], T | None], *, timeout_seconds: float = PATIENCE_SECONDS, what: str | Callable[[], str]
) -> T:
    """Return the first truthy value of `predicate`, which is called at least once, every 20 to 200 ms.

    `what` names the awaited state for the message of the TimeoutError; a callable is asked at that
    moment, so that it can say what was there instead. Exceptions of `predicate` are not caught.
    """
    began = time.monotonic()
    while True:
        value = predicate()
        if value:
            return value
        waited = time.monotonic() - began
        if waited >= timeout_seconds:
            raise TimeoutError(_in_vain(timeout_seconds, what))
        time.sleep(_pause_seconds(waited))


async def until(
    predicate: Callable[[], object], *, patience_seconds: float = PATIENCE_SECONDS, what: str | Callable[[], str]
) -> None:
    """Return once `predicate` holds, as `wait_for` does, while the other tasks of the event loop go on."""
    began = time.monotonic()
    while not predicate():
        waited = time.monotonic() - began
        if waited >= patience_seconds:
            raise TimeoutError(_in_vain(patience_seconds, what))
        await asyncio.sleep(_pause_seconds(waited))


def _pause_seconds(waited: float) -> float:
    return min(max(waited / _PAUSES_OF_ONE_WAIT, _SHORTEST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)


def _in_vain(seconds: float, what: str | Callable[[], str]) -> str:
    return f"waited {seconds:g} s in vain for {what if isinstance(what, str) else what()}"

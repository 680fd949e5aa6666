"""Waiting for a state of the world: the one place in the tests that polls."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Far below what a person or a test budget notices, and far above the cost of one look at an API server
# on this machine (1 to 3 ms), so that a waiting test does not slow what it waits for.
POLL_SECONDS = 0.02
# How long a test waits for what should take no time to speak of: the bound is for a CI machine under load, a hundred
# times as slow at the worst, and is paid by a failing test alone.
PATIENCE_SECONDS = 60.0


def wait_for(
    predicate: Callable[[], T | None], *, timeout_seconds: float = PATIENCE_SECONDS, what: str | Callable[[], str]
) -> T:
    """Return the first truthy value of `predicate`, which is called every 20 ms, at least once.

    `what` names the awaited state for the message of the TimeoutError; a callable is asked at that
    moment, so that it can say what was there instead. Exceptions of `predicate` are not caught.
    """
    deadline = time.monotonic() + timeout_seconds
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise TimeoutError(_in_vain(timeout_seconds, what))
        time.sleep(POLL_SECONDS)


async def until(
    predicate: Callable[[], object], *, patience_seconds: float = PATIENCE_SECONDS, what: str | Callable[[], str]
) -> None:
    """Return once `predicate` holds, as `wait_for` does, while the other tasks of the event loop go on."""
    deadline = time.monotonic() + patience_seconds
    while not predicate():
        if time.monotonic() >= deadline:
            raise TimeoutError(_in_vain(patience_seconds, what))
        await asyncio.sleep(POLL_SECONDS)


def _in_vain(seconds: float, what: str | Callable[[], str]) -> str:
    return f"waited {seconds:g} s in vain for {what if isinstance(what, str) else what()}"

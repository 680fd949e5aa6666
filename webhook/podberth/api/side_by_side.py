"""Runs endless coroutines side by side, until one of them fails."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def run_together(endless: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all until cancelled, or until one ends; then the others are cancelled, and have ended on return.

    Raises:
        Exception: the exception of the one that ended.
    """
    tasks = [asyncio.create_task(each) for each in endless]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

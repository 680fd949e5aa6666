"""The times at which changes are passed on."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

# Events that arrive together are passed on together: a tenth of the second in which an answer has to follow an event.
_TOGETHER_SECONDS: Final = 0.1


async def rounds(wake: asyncio.Event) -> AsyncIterator[None]:
    """Yield at once, and again whenever ``wake`` has been set since; for ever.

    After a quiet time the next round is at once: the first pod of a new Namespace, or of a new Job, is on its way.
    """
    while True:
        wake.clear()
        yield
        handed_on = time.monotonic()
        await wake.wait()
        await asyncio.sleep(max(0.0, handed_on + _TOGETHER_SECONDS - time.monotonic()))

"""The time limit for compiling policies: a clock for the core, which has none."""

import time
from collections.abc import Callable

from ..cel.engine import Late

COMPILE_SECONDS = 60.0
"""The largest set of policies takes 5 s of a whole core (``cel.bounds``); a pod may have a tenth of one."""


def compile_seconds(seconds: float = COMPILE_SECONDS) -> Callable[[], Late]:
    """Return the function that starts the clock for one set of policies (``cel.engine.Environment``)."""

    def begin() -> Late:
        end = time.monotonic() + seconds
        return lambda: time.monotonic() > end

    return begin

"""How long compiling policies may take: a clock for the core, which has none."""

import time
from collections.abc import Callable

from ..cel.engine import Late

COMPILE_SECONDS = 60.0
"""The largest set of policies takes 5 s of a whole core (``cel.bounds``); a pod may have a tenth of one."""


def compile_seconds(seconds: float = COMPILE_SECONDS) -> Callable[[], Late]:
    """Return what begins to count the time that the policies of one set may take (``cel.engine.Environment``)."""

    def begin() -> Late:
        end = time.monotonic() + seconds
        return lambda: time.monotonic() > end

    return begin

"""Counting what is done, where a time would be that of the machine."""

import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType


def calls_of(run: Callable[[], object]) -> int:
    """Return how many functions are called, Python's own included."""
    counted = 0

    def see(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    _watched(run, see)
    return counted


def calls(run: Callable[[], object]) -> Counter[CodeType]:
    """Count the calls of each Python function."""
    counted: Counter[CodeType] = Counter()

    def see(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            counted[frame.f_code] += 1

    _watched(run, see)
    return counted


def _watched(run: Callable[[], object], see: Callable[[FrameType, str, object], None]) -> None:
    before = sys.getprofile()
    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(before)

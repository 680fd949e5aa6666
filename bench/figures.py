"""Figures, ratios and verdicts: medians of rounds, ratios taken pair by pair within a round, goals met or missed."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One figure over another, taken in each round."""

    name: str
    each: tuple[float, ...]
    least: float | None = None
    """The goal, where more is better."""
    most: float | None = None
    """The goal, where less is better."""

    @property
    def median(self) -> float:
        """The ratio of the middle round."""
        return median(self.each)

    @property
    def goal(self) -> str:
        """The goal as text; empty where there is none."""
        if self.least is not None:
            return f"{self.least:g} or more"
        return "" if self.most is None else f"{self.most:g} or less"

    @property
    def verdict(self) -> str:
        """Say met or MISSED; empty where there is no goal."""
        missed = (self.least is not None and self.median < self.least) or (
            self.most is not None and self.median > self.most
        )
        return "MISSED" if missed else "met" if self.goal else ""

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        spread = f"{min(self.each):.2f} to {max(self.each):.2f}"
        return (self.name, f"{self.median:.2f}", spread, self.goal, self.verdict)


RATIO_HEADER = ("ratio", "median", "range", "goal", "")


def percentile(values: Iterable[float], percent: int) -> float:
    """Return the nearest rank."""
    ranked = sorted(values)
    return ranked[max(-(-len(ranked) * percent // 100) - 1, 0)]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table: what is printed can go into README as it is."""
    cells = [tuple(header), *map(tuple, rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(header))]
    lines = [_line(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    lines.insert(1, _line("-" * width for width in widths))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def pace() -> str:
    """Return how fast this processor is now: the processor time of an addition in a loop, the least of ten tries.

    Times in milliseconds are of one machine and one moment; those of another are compared by this.
    """
    return f"an addition in a loop takes {_nanoseconds_of_addition(10, 200_000):.0f} ns on this processor"


class SteadyClock:
    """Processor time of this thread, as a processor would take it that adds in ``ADDITION_NANOSECONDS``.

    On a shared machine the same work takes up to twice as long in one minute as in the next. So the pace is measured
    again whenever it is older than two seconds. It is the least of several tries: a pause makes no time look shorter.
    """

    ADDITION_NANOSECONDS: Final = 50
    _FRESH_SECONDS: Final = 2

    def __init__(self) -> None:
        """Measure the pace."""
        self._measure()

    def milliseconds(self, nanoseconds: int) -> float:
        """Return a processor time, taken just now, in milliseconds at the steady pace."""
        if time.monotonic() - self._measured_at > self._FRESH_SECONDS:
            self._measure()
        return nanoseconds / 1e6 * self.ADDITION_NANOSECONDS / self._addition

    def _measure(self) -> None:
        self._addition = _nanoseconds_of_addition(5, 20_000)
        self._measured_at = time.monotonic()


def _nanoseconds_of_addition(tries: int, turns: int) -> float:
    """Return the processor time of an addition in a loop of so many turns: the least of several tries."""
    return min(_additions(turns) for _ in range(tries)) / turns


def _additions(turns: int) -> int:
    began = time.thread_time_ns()
    total = 0
    for each in range(turns):
        total += each
    return time.thread_time_ns() - began

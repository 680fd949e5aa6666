"""The outcomes as SVG: curves over what has arrived, and bars of what pods got that need a part of a GPU."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from podberth.cli.svg import box, drawing, text

from .outcome import Fit, Moment, Outcome

# Okabe and Ito's colours, which the colour-blind can distinguish, on light and dark. Widths and dashes differ, because
# curves lie on each other where podberth changes nothing: the later one is thinner, so the earlier one is seen beneath.
_STROKES: Final = (
    ("#8a8f98", 9, ""),
    ("#0072b2", 6, ""),
    ("#d55e00", 3, ""),
    ("#e69f00", 2, "2 5"),
    ("#009e73", 2, "9 5"),
)
_WIDTH: Final = 960
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 30, 132, 64
_HEIGHT: Final = 520
_LEGEND: Final = 176
_ROW: Final = 44
_BARS: Final[tuple[tuple[Fit, str, str], ...]] = (
    ("right", "right size", "part1"),
    ("larger", "larger instance", "part2"),
    ("whole", "whole GPU", "far"),
)

Share = Callable[[Moment, float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chart:
    title: str
    said: str
    down: str
    share: Share
    """Of a moment and the cluster's GPUs."""
    diagonal: str = ""
    """What lies on the line at which all that has arrived is placed; empty: no such line."""


_CHARTS: Final[Mapping[str, _Chart]] = {
    "placed.svg": _Chart(
        title="What arrives and what is placed",
        said="A dot: the first pod that cannot be placed. In GPUs that pods have use for, as the trace says",
        down="asked for by placed pods, % of the cluster's GPUs",
        share=lambda moment, capacity: moment.used_gpus / capacity,
        diagonal="all placed",
    ),
    "allocated.svg": _Chart(
        title="What arrives and what it holds",
        said="A dot: the first pod that cannot be placed. Lower holds less for the same pods, or has placed fewer",
        down="allocated, % of the cluster's GPUs",
        share=lambda moment, capacity: moment.held_gpus / capacity,
    ),
    "fragmentation.svg": _Chart(
        title="Fragmentation (FGD) while the cluster fills",
        said="A dot: the first pod that cannot be placed. How much of the free GPUs the mean pod cannot be given",
        down="fragmented, % of the cluster's GPUs",
        share=lambda moment, capacity: moment.fragmented_gpus / capacity,
    ),
}


def drawings(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """Return the pictures by file name."""
    return {**{name: _curves(chart, outcomes) for name, chart in _CHARTS.items()}, "parts.svg": _bars(outcomes)}


def _curves(chart: _Chart, outcomes: Mapping[str, Outcome]) -> str:
    end = max(each.at_end.arrived_gpus / each.capacity_gpus for each in outcomes.values())
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def at(arrived: float, share: float) -> tuple[float, float]:
        return _LEFT + arrived / end * wide, _TOP + (1 - share) * high

    parts = [text(24, 42, chart.title, "ink b", size=20), text(24, 64, chart.said, "faint")]
    parts += _axes(chart, at, end)
    for number, (name, outcome) in enumerate(outcomes.items()):
        points = [_point(moment, outcome, chart.share, at) for moment in outcome.curve]
        parts.append(_line(points, number))
        if outcome.first is not None:
            x, y = _point(outcome.at_first, outcome, chart.share, at)
            parts.append(_dot(x, y, number))
        parts += _legend(24 + number * _LEGEND, 88, number, name)
    return drawing(_WIDTH, _HEIGHT, chart.title, _description(chart, outcomes), parts)


def _point(
    moment: Moment, outcome: Outcome, share: Share, at: Callable[[float, float], tuple[float, float]]
) -> tuple[float, float]:
    x, y = at(moment.arrived_gpus / outcome.capacity_gpus, share(moment, outcome.capacity_gpus))
    return round(x, 1), round(y, 1)


def _line(points: Sequence[tuple[float, float]], number: int) -> str:
    colour, width, dashes = _STROKES[number % len(_STROKES)]
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>'


def _dot(x: float, y: float, number: int) -> str:
    """Draw a dot, smaller than the one before, which may lie in the same place."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{max(11 - 2 * number, 3)}" fill="{_STROKES[number % len(_STROKES)][0]}"/>'


def _legend(x: float, y: float, number: int, name: str) -> Iterator[str]:
    yield _line(((x, y - 4), (x + 28, y - 4)), number)
    yield text(x + 36, y, name, "ink", size=12)


def _axes(chart: _Chart, at: Callable[[float, float], tuple[float, float]], end: float) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        share = tenth / 10
        x, y = at(0, share)
        yield f'<path d="M{x:g} {y:g}H{_WIDTH - _RIGHT}" class="line" fill="none"/>'
        yield text(x - 10, y + 4, f"{share:.0%}", "faint", size=11, anchor="end")
    for number in range(int(end * 5) + 1):
        x, y = at(number / 5, 0)
        yield text(x, y + 20, f"{number / 5:.0%}", "faint", size=11, anchor="middle")
    yield text(24, _TOP - 16, chart.down, "faint", size=11)
    words = "asked for by all pods that have arrived, % of the cluster's GPUs"
    yield text(_WIDTH - _RIGHT, _HEIGHT - 20, words, "faint", size=11, anchor="end")
    if chart.diagonal:
        most = min(end, 1.0)
        (x, y), (far, high) = at(0, 0), at(most, most)
        yield f'<path d="M{x:g} {y:g}L{far:g} {high:g}" class="line" fill="none" stroke-dasharray="4 4"/>'
        yield text(far - 60, high + 8, chart.diagonal, "faint", size=11, anchor="end")


def _description(chart: _Chart, outcomes: Mapping[str, Outcome]) -> str:
    ends = (f"{name} ends at {chart.share(one.at_end, one.capacity_gpus):.0%}" for name, one in outcomes.items())
    return f"{chart.down}, over what has arrived: {', '.join(ends)}"


def _bars(outcomes: Mapping[str, Outcome]) -> str:
    title = "What pods got that need a part of a GPU"
    top = _TOP - 20
    height = top + len(outcomes) * _ROW + 20
    parts = [
        text(24, 42, title, "ink b", size=20),
        text(24, 64, "When all pods have been tried", "faint"),
    ]
    for number, (_, words, look) in enumerate(_BARS):
        parts += [box(24 + number * _LEGEND, 78, 12, 12, look), text(42 + number * _LEGEND, 88, words, "ink", size=12)]
    most = max((sum(count for _, count in each.at_end.fits) for each in outcomes.values()), default=0)
    said = []
    for number, (name, outcome) in enumerate(outcomes.items()):
        y = top + number * _ROW
        parts += [text(24, y + 18, name, "ink", size=12), *_bar(outcome, y, most)]
        said.append(f"{name}: " + ", ".join(f"{outcome.at_end.got(fit)} {words}" for fit, words, _ in _BARS))
    return drawing(_WIDTH, height, title, "; ".join(said), parts)


def _bar(outcome: Outcome, y: float, most: int) -> Iterator[str]:
    x: float = _LEGEND
    room = _WIDTH - _RIGHT - _LEGEND
    for fit, words, look in _BARS:
        count = outcome.at_end.got(fit)
        if not count:
            continue
        width = room * count / most
        yield box(x, y, width, 28, look, tip=f"{count} {words}")
        yield text(x + 8, y + 18, str(count), "ink", size=12)
        x += width

"""A cluster as SVG: a square for each node by kind, and the domains of every level as bars."""

from collections.abc import Iterator
from typing import Final

from ..topology.overview import ClusterPicture, KindCount, Level
from .svg import box, drawing, fitted, text
from .topology_tables import counted, summary

_WIDTH: Final = 960
_MARGIN: Final = 24
_GAP: Final = 16
_SQUARE: Final = 14
_MOST_SQUARES: Final = 600
"""Of one kind; for a larger kind a square stands for several nodes."""
_MOST_DOMAINS: Final = 60
_TITLE: Final = 13
_MARKS: Final = {"warn": "-", "ill": "!"}
_BAR: Final = 30


def cluster_svg(cluster: ClusterPicture) -> str:
    """Draw a cluster."""
    said = summary(cluster)
    room = _WIDTH - 2 * _MARGIN
    parts = [
        text(_MARGIN, 42, "GPU topology", "ink b", size=20),
        text(_MARGIN, 64, fitted(said, room, 13), "faint"),
        *_legend(_WIDTH - _MARGIN - 300, 42),
    ]
    y = 84.0
    ill = {name for name, _, _ in cluster.ill}
    for each in cluster.kinds:
        y = _kind(each, ill, parts, y)
    if cluster.levels:
        parts.append(text(_MARGIN, y + 16, "Topology levels, widest first", "ink b"))
        y += 30
    for level in cluster.levels:
        y = _level(level, parts, y)
    kinds = "; ".join(f"{counted(each.count, 'node')} of {each.kind.title}" for each in cluster.kinds)
    return drawing(_WIDTH, y + _MARGIN - _GAP / 2, "GPU topology", f"{said}. {kinds}", parts)


def _legend(x: float, y: float) -> Iterator[str]:
    for look, words in (("good", "healthy"), ("warn", "unhealthy"), ("ill", "GPU unhealthy")):
        yield box(x, y - 11, 12, 12, look)
        yield text(x + 18, y, words, "faint", size=11)
        x += 42 + 7 * len(words)


def _kind(each: KindCount, ill: set[str], parts: list[str], top: float) -> float:
    """Draw a panel with the nodes of a kind."""
    room = _WIDTH - 2 * _MARGIN - 28
    state = {name: reason for reason, names in each.transient.items() for name in names}
    every = -(-each.count // _MOST_SQUARES)
    groups = [each.names[at : at + every] for at in range(0, each.count, every)]
    across = int(room // _SQUARE)
    lines = -(-len(groups) // across)
    height = 56 + lines * _SQUARE
    offers = ", ".join(f"{amount} {resource}" for resource, amount in each.kind.offers) or "nothing"
    scale = f"; a square is {every} nodes" if every > 1 else ""
    parts += [
        box(_MARGIN, top, room + 28, height, "panel"),
        text(_MARGIN + 14, top + 22, fitted(_title(each), room, _TITLE), "ink b", size=_TITLE),
        text(_MARGIN + 14, top + 40, fitted(f"each offers {offers}{scale}", room, 11), "faint", size=11),
    ]
    for number, names in enumerate(groups):
        x, y = _MARGIN + 14 + number % across * _SQUARE, top + 48 + number // across * _SQUARE
        look = "ill" if ill.intersection(names) else "warn" if state.keys() & set(names) else "good"
        tip = f"{names[0]}: {state.get(names[0], 'healthy')}" if len(names) == 1 else f"{names[0]} to {names[-1]}"
        parts.append(box(x, y, _SQUARE - 3, _SQUARE - 3, look, tip=tip))
        if look != "good":  # visible without colours, too
            parts.append(text(x + (_SQUARE - 3) / 2, y + 9, _MARKS[look], "paper b", size=9, anchor="middle"))
    return top + height + _GAP / 2


def _title(each: KindCount) -> str:
    places = ", ".join(f"{place} ({count})" if place else f"no zone ({count})" for place, count in each.where[:4])
    return f"{counted(each.count, 'node')}: {each.kind.title}; {places}"


def _level(level: Level, parts: list[str], top: float) -> float:
    """Draw a bar of domains, each as wide as its share of the nodes; the smallest are drawn together."""
    room = _WIDTH - 2 * _MARGIN
    ordered = sorted(level.domains, key=lambda one: (-one[1], one[0]))
    rest = sum(nodes for _, nodes, _ in ordered[_MOST_DOMAINS:])
    shown = [
        (domain, nodes, f"{domain}: {counted(nodes, 'node')}, {counted(devices, 'device')}")
        for domain, nodes, devices in ordered[:_MOST_DOMAINS]
    ]
    if rest:
        others = f"{len(ordered) - _MOST_DOMAINS} more domains"
        shown.append((others, rest, f"{others}: {counted(rest, 'node')}"))
    total = sum(nodes for _, nodes, _ in shown)
    words = f"{level.key}: {counted(len(level.domains), 'domain')}"
    parts.append(text(_MARGIN, top + 10, fitted(words, room, 12), "faint", size=12))
    x = float(_MARGIN)
    for number, (domain, nodes, tip) in enumerate(shown):
        width = room * nodes / total
        parts.append(box(x, top + 18, width - 2, _BAR, f"part{number % 2 + 1}", tip=tip))
        label = fitted(f"{domain} ({nodes})", width - 10, 11)
        if len(label) > 2:  # noqa: PLR2004 - a letter and an ellipsis say nothing
            parts.append(text(x + (width - 2) / 2, top + 37, label, size=11, anchor="middle"))
        x += width
    return top + 18 + _BAR + _GAP

"""Pictures of a node or a cluster as SVG.

The picture of a node shows the GPUs by NUMA node with the MIG slices of each GPU, and the link matrix. The picture of a
cluster shows a square for each node, grouped by kind of node, and the domains of every level as bars.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ..topology.node_picture import GpuPicture, NodePicture
from ..topology.overview import ClusterPicture, KindCount, LevelSummary
from ..topology.totals import ModelTotal
from ..words import counted
from .snapshot_time import caption
from .svg import box, drawing, fits, fitted, text
from .topology_tables import facts, state_of, summary

_WIDTH: Final = 960
_MARGIN: Final = 24
_GAP: Final = 16
_ROW: Final = 34
_BAR: Final = 24
_BASE: Final = _BAR / 2 + 4
_NAME: Final = 62
"""The width in pixels of a GPU's name (``GPU 63``), to the left of the GPU's bar."""
_STATE: Final = 76
"""The width in pixels of a GPU's state, to the right of the GPU's bar."""
_CELL: Final = (18, 54)
_LEGIBLE: Final = 30
"""The smallest size in pixels at which a cell of the link matrix has text; smaller cells have only a colour."""
_LOOKS: Final = {"green": "good", "yellow": "warn"}
_LINKS: Final = (("NV", "near"), ("XGMI", "near"), ("PIX", "mid"), ("PXB", "mid"), ("PHB", "mid"), ("X", "self"))
_LEGEND: Final = (("near", "NVLink"), ("mid", "PCIe"), ("far", "between CPUs or PCIe roots"))


def node_svg(node: NodePicture, *, has_heading: bool = True) -> str:
    """Return the SVG picture of a node: the GPUs by NUMA node with their MIG slices, and the link matrix.

    Without ``has_heading``, the page around the picture has the heading.
    """
    parts: list[str] = []
    y = _facts(node, parts, _heading(node, parts) if has_heading else 4.0)
    if node.gpus:
        y = _gpus(node, parts, y)
    if node.levels:
        y = _matrix(node, parts, y)
    said = "; ".join(f"{what}: {words}" for what, words in facts(node))
    state = node.transient or "healthy"
    return drawing(_WIDTH, y + _MARGIN - _GAP, f"Node {node.name}: {state}", said, parts)


def _heading(node: NodePicture, parts: list[str]) -> float:
    """Append the name and the state of a node to ``parts``; return the y coordinate below them."""
    state = state_of(node.transient)
    room = _WIDTH - 2 * _MARGIN
    parts += [
        text(_MARGIN, 42, fitted(node.name, room - 200, 20), "ink b", size=20),
        text(_WIDTH - _MARGIN, 42, state.text, f"{_LOOKS[state.style]} b", size=15, anchor="end"),
    ]
    return 44.0


def _facts(node: NodePicture, parts: list[str], y: float) -> float:
    """Append a line for each fact about a node to ``parts``; return the y coordinate below the lines."""
    room = _WIDTH - 2 * _MARGIN
    for what, words in facts(node):
        y += 20
        parts += [
            text(_MARGIN, y, what, "faint", size=12),
            text(_MARGIN + 80, y, fitted(words, room - 80, 12), size=12),
        ]
    return y + _GAP + 4


def _gpus(node: NodePicture, parts: list[str], top: float) -> float:
    """Append a panel for each NUMA node's GPUs, two in a row, to ``parts``; return the y coordinate below."""
    pictures = {each.gpu.index: each for each in node.gpus}
    across = 1 if len(node.numa) == 1 else 2
    width = (_WIDTH - 2 * _MARGIN - (across - 1) * _GAP) / across
    for start in range(0, len(node.numa), across):
        row = node.numa[start : start + across]
        height = 38 + _ROW * max(len(indexes) for _, indexes in row)
        for column, (number, indexes) in enumerate(row):
            x = _MARGIN + column * (width + _GAP)
            title = "NUMA node not known" if number is None else f"NUMA node {number}"
            parts += [box(x, top, width, height, "panel"), text(x + 14, top + 22, title, "faint", size=12)]
            for line, index in enumerate(indexes):
                parts += _gpu(pictures[index], x + 14, top + 32 + line * _ROW, width - 28)
        top += height + _GAP
    return top


def _gpu(each: GpuPicture, x: float, y: float, width: float) -> Iterator[str]:
    """Yield the SVG elements for one GPU: the name, a bar for the memory with the MIG instances, and the state."""
    base = y + _BASE
    yield text(x, base, f"GPU {each.gpu.index}", "ink b")
    yield from (_slices if each.segments else _whole)(each, x + _NAME, y, width - _NAME - _STATE)
    words, look = _state(each)
    yield text(x + width - _STATE + 6, base, words, look, size=11)


def _slices(each: GpuPicture, left: float, y: float, room: float) -> Iterator[str]:
    count = each.segments[-1].start + each.segments[-1].size
    for number, one in enumerate(each.segments):
        whole = one.profile or each.blank
        x, width = left + room * one.start / count, room * one.size / count - 2
        look = f"part{number % 2 + 1}" if one.profile else "free line"
        place = f"{one.size} of {count} memory slices from slice {one.start}"
        yield box(x, y, width, _BAR, look, tip=f"{whole}: {place}")
        words = whole if fits(whole, width, 11) else one.profile.partition(".")[0]
        look = "ink" if one.profile else "faint"
        yield text(x + width / 2, y + _BASE, fitted(words, width, 11), look, size=11, anchor="middle")


def _whole(each: GpuPicture, left: float, y: float, room: float) -> Iterator[str]:
    """Yield the SVG elements of a bar that is not divided into MIG slices, with the GPU's problem, if any."""
    gpu = each.gpu
    memory = f", {gpu.memory_mib / 1024:.0f} GiB" if gpu.memory_mib else ""
    model = f"{gpu.product or 'GPU'}{memory}"
    cuts = ", ".join(each.unplaced) or "in MIG mode"
    words = gpu.problem or (cuts if gpu.mig_enabled else model)
    look = "bad" if gpu.problem else "part1" if gpu.mig_enabled else "whole"
    yield box(left, y, room - 2, _BAR, look, tip=f"{model}: {each.state}")
    yield text(left + (room - 2) / 2, y + _BASE, fitted(words, room - 10, 11), size=11, anchor="middle")


def _state(each: GpuPicture) -> tuple[str, str]:
    if each.gpu.problem:
        return "unhealthy", "ill b"
    return ("healthy", "good") if each.state == "healthy" else ("reset due", "warn")


def _matrix(node: NodePicture, parts: list[str], top: float) -> float:
    count = len(node.gpus)
    narrowest, widest = _CELL
    cell = min(max((_WIDTH - 2 * _MARGIN - _NAME) / count, narrowest / 2), widest)
    height = min(cell, 28)
    parts += [text(_MARGIN, top + 14, "Links between GPUs", "ink b"), *_legend(_LEGEND, _MARGIN + 190, top + 14)]
    left, first = _MARGIN + _NAME, top + 44
    legible = cell >= _LEGIBLE
    for column, each in enumerate(node.gpus if cell >= narrowest else ()):
        words = str(each.gpu.index)
        parts.append(text(left + (column + 0.5) * cell, first - 8, words, "faint", size=11, anchor="middle"))
    for line, (one, row) in enumerate(zip(node.gpus, node.levels, strict=True)):
        y = first + line * height
        size = min(12, height)
        parts.append(text(_MARGIN, y + height / 2 + 4, f"GPU {one.gpu.index}", "ink b", size=size))
        for column, (other, level) in enumerate(zip(node.gpus, row, strict=True)):
            x, look = left + column * cell, next((look for start, look in _LINKS if level.startswith(start)), "far")
            tip = f"GPU {one.gpu.index} to GPU {other.gpu.index}: {level}"
            parts.append(box(x, y, cell - 2, height - 2, look, tip=tip))
            if legible:
                words = fitted(level, cell - 2, 11)
                parts.append(text(x + cell / 2 - 1, y + height / 2 + 3, words, size=11, anchor="middle"))
    return first + count * height + _GAP


def _legend(entries: Iterable[tuple[str, str]], x: float, y: float) -> Iterator[str]:
    """Yield the SVG elements of a legend: coloured squares with the meaning of each colour, side by side."""
    for look, words in entries:
        yield from _square(x, y - 10, look)
        yield text(x + 18, y, words, "faint", size=11)
        x += 40 + 7 * len(words)


_SQUARE: Final = 14
_MOST_SQUARES: Final = 600
"""The maximum number of squares for one kind of node; if there are more nodes, a square stands for several."""
_TITLE: Final = 13
_STATES: Final = (("good", "healthy"), ("warn", "unhealthy"), ("ill", "GPU unhealthy"))
_MARKS: Final = {"warn": "-", "ill": "!"}
"""The texts on squares of nodes, so that states are visible without colours, too."""
_LEVEL_BAR: Final = 30
_NARROWEST: Final = 6
"""The smallest width in pixels of a domain in the bar of its level; narrower domains are drawn as one."""
_MODEL: Final = 370
"""The width in pixels of the name of a model with its unit, to the left of the bar of its use."""
_USES: Final = (("whole", "used"), ("free line", "free"), ("bad", "out of use"))


def cluster_svg(cluster: ClusterPicture, *, has_heading: bool = True) -> str:
    """Return the SVG picture of a cluster.

    The picture has a bar for the accelerators of each model, a square for each node, grouped by kind, and the domains
    of each level. Without ``has_heading``, the page around the picture has the heading.
    """
    said = summary(cluster)
    room = _WIDTH - 2 * _MARGIN
    parts: list[str] = []
    y = float(_MARGIN)
    if has_heading:
        below = "; ".join(filter(None, (caption(cluster.snapshot_at), said)))
        parts += [
            text(_MARGIN, 42, fitted(cluster.title, room, 20), "ink b", size=20),
            text(_MARGIN, 64, fitted(below, room, 13), "faint"),
        ]
        y = 84.0
    y = _models(cluster.models, parts, y)
    if cluster.kinds:
        parts += [text(_MARGIN, y + 12, "Nodes by kind", "ink b"), *_legend(_STATES, _MARGIN + 190, y + 12)]
        y += 26
    ill = {name for name, _, _ in cluster.ill}
    for each in cluster.kinds:
        y = _kind(each, ill, parts, y)
    if cluster.levels:
        parts.append(text(_MARGIN, y + 16, "Topology levels, widest first", "ink b"))
        y += 30
    for level in cluster.levels:
        y = _level(level, parts, y)
    kinds = "; ".join(f"{counted(each.count, 'node')} of {each.kind.title}" for each in cluster.kinds)
    return drawing(_WIDTH, y + _MARGIN - _GAP / 2, cluster.title, f"{said}. {kinds}", parts)


def _models(models: Iterable[ModelTotal], parts: list[str], top: float) -> float:
    """Append a bar for each model and unit to ``parts``; return the y coordinate below the bars."""
    rows = [(each.model or "unknown model", unit) for each in models for unit in each.units]
    if not rows:
        return top
    parts.append(text(_MARGIN, top + 12, "GPUs by model", "ink b"))
    if any(unit.use for _, unit in rows):
        parts += _legend(_USES, _MARGIN + 190, top + 12)
    top += 26
    for model, unit in rows:
        label = f"{model}, {unit.unit}: {unit.amount:,}"
        parts.append(text(_MARGIN, top + _BASE, fitted(label, _MODEL - 10, 12, keeps_end=True), size=12))
        x, room = float(_MARGIN + _MODEL), _WIDTH - 2 * _MARGIN - _MODEL
        numbers = (unit.use.used, unit.use.free, unit.out_of_use) if unit.use else (unit.amount,)
        total = max(sum(numbers), 1)
        for number, (look, meaning) in zip(numbers, _USES, strict=False):
            said = f"{number:,} {meaning if unit.use else 'offered'}"
            width = room * number / total
            if number:
                parts.append(box(x, top, width - 2, _BAR, look, tip=f"{label}; {said}"))
                words = next((each for each in (said, f"{number:,}") if fits(each, width - 6, 11)), "")
                parts.append(text(x + width / 2 - 1, top + _BASE, words, size=11, anchor="middle"))
            x += width
        top += _BAR + 6
    return top + _GAP


def _kind(each: KindCount, ill: set[str], parts: list[str], top: float) -> float:
    """Append a panel with the nodes of one kind to ``parts``; return the y coordinate below the panel.

    ``ill`` has the names of the cluster's nodes with an unhealthy GPU.
    """
    room = _WIDTH - 2 * _MARGIN - 28
    state = {name: reason for reason, names in each.transient.items() for name in names}
    every = -(-each.count // _MOST_SQUARES)
    groups = [each.names[at : at + every] for at in range(0, each.count, every)]
    across = int(room // _SQUARE)
    lines = -(-len(groups) // across)
    height = 56 + lines * _SQUARE
    scale = f"; a square is {every} nodes" if every > 1 else ""
    parts += [
        box(_MARGIN, top, room + 28, height, "panel"),
        text(_MARGIN + 14, top + 22, fitted(_title(each), room, _TITLE), "ink b", size=_TITLE),
        text(_MARGIN + 14, top + 40, fitted(f"{_offers(each)}{scale}", room, 11), "faint", size=11),
    ]
    for number, names in enumerate(groups):
        x, y = _MARGIN + 14 + number % across * _SQUARE, top + 48 + number // across * _SQUARE
        look = "ill" if ill.intersection(names) else "warn" if state.keys() & set(names) else "good"
        tip = f"{names[0]}: {state.get(names[0], 'healthy')}" if len(names) == 1 else f"{names[0]} to {names[-1]}"
        parts += _square(x, y, look, tip)
    return top + height + _GAP / 2


def _square(x: float, y: float, look: str, tip: str = "") -> Iterator[str]:
    """Yield the SVG elements of a square with the text of its state, if any."""
    side = _SQUARE - 3
    yield box(x, y, side, side, look, tip=tip)
    if look in _MARKS:
        yield text(x + side / 2, y + 9, _MARKS[look], "paper b", size=9, anchor="middle")


def _offers(each: KindCount) -> str:
    offers = ", ".join(f"{amount:,} {resource}" for resource, amount in each.kind.offers)
    free = ", ".join(f"{tally.free:,} {resource}" for resource, tally in (each.use or {}).items())
    return f"each offers {offers or 'nothing'}{f'; free on all: {free}' if free else ''}"


def _title(each: KindCount) -> str:
    places = ", ".join(f"{place or 'no zone'} ({count:,})" for place, count in each.where[:4])
    return f"{counted(each.count, 'node')}: {each.kind.title}; {places}"


def _level(level: LevelSummary, parts: list[str], top: float) -> float:
    """Append a bar of a level's domains to ``parts``, and return the y coordinate below the bar.

    The width of a domain is proportional to the domain's number of nodes; the smallest domains are drawn as one domain.
    """
    room = _WIDTH - 2 * _MARGIN
    ordered = sorted(level.domains, key=lambda one: (-one[1], one[0]))
    total = sum(nodes for _, nodes, _ in ordered)
    wide = sum(room * nodes / total >= _NARROWEST for _, nodes, _ in ordered)
    rest = sum(nodes for _, nodes, _ in ordered[wide:])
    free = {} if level.use is None else {domain: f", {tally.free:,} free" for domain, tally in level.use.items()}
    shown = [
        (
            f"{domain} ({nodes:,})",
            free.get(domain, ""),
            nodes,
            f"{domain}: {counted(nodes, 'node')}, {counted(devices, 'device')}{free.get(domain, '')}",
        )
        for domain, nodes, devices in ordered[:wide]
    ]
    if rest:
        others = f"{len(ordered) - wide:,} {'more domains' if wide else 'domains'}"
        shown.append((f"{others} ({rest:,})", "", rest, f"{others}: {counted(rest, 'node')}"))
    words = f"{level.key}: {counted(len(level.domains), 'domain')}"
    parts.append(text(_MARGIN, top + 10, fitted(words, room, 12), "faint", size=12))
    x = float(_MARGIN)
    for number, (label, more, nodes, tip) in enumerate(shown):
        width = room * nodes / total
        parts.append(box(x, top + 18, width - 2, _LEVEL_BAR, f"part{number % 2 + 1}", tip=tip))
        # The free devices take at most the half of the text that is kept of its end.
        whole = f"{label}{more}" if fits(f"{more}…{more}", width - 10, 11) else label
        words = fitted(whole, width - 10, 11, keeps_end=True)
        if len(words) > 2:  # noqa: PLR2004 - a letter and an ellipsis say nothing
            parts.append(text(x + (width - 2) / 2, top + 37, words, size=11, anchor="middle"))
        x += width
    return top + 18 + _LEVEL_BAR + _GAP

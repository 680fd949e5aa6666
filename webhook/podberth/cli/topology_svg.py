"""A node as SVG: its GPUs by NUMA node with their MIG slices, and the link matrix."""

from collections.abc import Iterator
from typing import Final

from ..topology.picture import GpuPicture, NodePicture
from .svg import box, drawing, fits, fitted, text
from .topology_tables import facts, state_of

_WIDTH: Final = 960
_MARGIN: Final = 24
_GAP: Final = 16
_ROW: Final = 34
_BAR: Final = 24
_BASE: Final = _BAR / 2 + 4
_NAME: Final = 62
"""The width of ``GPU 63`` before its bar, in pixels."""
_STATE: Final = 76
"""The width of the state behind its bar, in pixels."""
_CELL: Final = (18, 54)
_LEGIBLE: Final = 30
"""Below this many pixels a cell of the matrix has a colour and no text."""
_LOOKS: Final = {"green": "good", "yellow": "warn"}
_LINKS: Final = (("NV", "near"), ("XGMI", "near"), ("PIX", "mid"), ("PXB", "mid"), ("PHB", "mid"), ("X", "self"))
_LEGEND: Final = (("near", "NVLink"), ("mid", "PCIe"), ("far", "between CPUs or PCIe roots"))


def node_svg(node: NodePicture) -> str:
    """Draw a node."""
    parts: list[str] = []
    y = _header(node, parts)
    if node.gpus:
        y = _gpus(node, parts, y)
    if node.levels:
        y = _matrix(node, parts, y)
    said = "; ".join(f"{what}: {words}" for what, words in facts(node))
    state = node.transient or "healthy"
    return drawing(_WIDTH, y + _MARGIN - _GAP, f"Node {node.name}: {state}", said, parts)


def _header(node: NodePicture, parts: list[str]) -> float:
    state = state_of(node.transient)
    room = _WIDTH - 2 * _MARGIN
    parts += [
        text(_MARGIN, 42, fitted(node.name, room - 200, 20), "ink b", size=20),
        text(_WIDTH - _MARGIN, 42, state.text, f"{_LOOKS[state.style]} b", size=15, anchor="end"),
    ]
    y = 44.0
    for what, words in facts(node):
        y += 20
        parts += [
            text(_MARGIN, y, what, "faint", size=12),
            text(_MARGIN + 80, y, fitted(words, room - 80, 12), size=12),
        ]
    return y + _GAP + 4


def _gpus(node: NodePicture, parts: list[str], top: float) -> float:
    """Draw a panel for each NUMA node, two to a row."""
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
    """Draw one GPU: its name, its bar, its state."""
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
    """Draw a bar in one piece, with the problem where there is one."""
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
    parts += [text(_MARGIN, top + 14, "Links between GPUs", "ink b"), *_legend(_MARGIN + 190, top + 14)]
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
            x, look = left + column * cell, _look(level)
            tip = f"GPU {one.gpu.index} to GPU {other.gpu.index}: {level}"
            parts.append(box(x, y, cell - 2, height - 2, look, tip=tip))
            if legible:
                words = fitted(level, cell - 2, 11)
                parts.append(text(x + cell / 2 - 1, y + height / 2 + 3, words, size=11, anchor="middle"))
    return first + count * height + _GAP


def _look(level: str) -> str:
    return next((look for start, look in _LINKS if level.startswith(start)), "far")


def _legend(x: float, y: float) -> Iterator[str]:
    for look, words in _LEGEND:
        yield box(x, y - 10, 12, 12, look)
        yield text(x + 18, y, words, "faint", size=11)
        x += 40 + 7 * len(words)

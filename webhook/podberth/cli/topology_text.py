"""The text output of ``podberth topology``: tables, the link matrix, MIG bars, differences."""

from collections.abc import Iterator, Sequence
from typing import Final

from ..check.report.styled_lines import Line, Span, visible
from ..topology.cluster_difference import Difference, KindDifference, NodeChange
from ..topology.node_picture import GpuPicture, NodePicture
from ..topology.overview import ClusterPicture
from ..words import counted
from .terminal import Terminal, columns, cut
from .topology_tables import (
    MOST_LISTED,
    Cell,
    Row,
    TableSection,
    cluster_sections,
    cuts,
    facts,
    node_sections,
    rest_of,
    room_of,
    state_of,
    summary,
)

# The width of a slice: enough for ``1g.10gb``, and small enough that the bar stays readable.
_SLICE_COLUMNS: Final = (5, 12)
_LINK_STYLES: Final = (
    ("NV", "green"),
    ("PIX", "cyan"),
    ("PXB", "cyan"),
    ("PHB", "cyan"),
    ("SYS", "yellow"),
    ("X", "dim"),
)
_MOST_NAMES: Final = 6
_EVENTS: Final = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


def show_node(node: NodePicture, terminal: Terminal) -> None:
    """Print a node's GPUs, links, MIG slices and other facts as text."""
    state = state_of(node.transient)
    terminal.put([Line((Span(f"{node.name}: ", "bold"), Span(state.text, f"bold {state.style}")))])
    for what, text in facts(node):
        terminal.put([Line((Span(f"{what + ':':<10}", "dim"), Span(text)), 10)])
    sections = list(node_sections(node))
    for section in sections:
        _show_section(section, terminal)
        if section.title == "GPUs":
            _show_links(node, terminal)
            _show_cuts(node, terminal)
    _show_note(node.note, terminal)


def show_cluster(cluster: ClusterPicture, terminal: Terminal) -> None:
    """Print a cluster's nodes by kind, taints, levels, and unhealthy nodes and GPUs as text."""
    terminal.line(f"{cluster.name}: {summary(cluster)}" if cluster.name else summary(cluster), "bold")
    for section in cluster_sections(cluster):
        _show_section(section, terminal)
    _show_note(cluster.note, terminal)


def _show_note(note: str, terminal: Terminal) -> None:
    if note:
        terminal.line()
        terminal.line(note, "dim")


def _show_section(section: TableSection, terminal: Terminal) -> None:
    terminal.heading(visible(section.title))
    terminal.table([row for stacked in section.first for row in _unstacked(stacked)])
    for line in (*rest_of(len(section.rows), len(section.first)), *section.more):
        terminal.line(line, "dim")


def _unstacked(row: Row) -> Iterator[tuple[Cell, ...]]:
    """Yield the lines of one table row as separate rows, because a cell may have several lines."""
    stacks = [cell if isinstance(cell, tuple) and not isinstance(cell, Span) else (cell,) for cell in row]
    for line in range(max(map(len, stacks))):
        yield tuple(stack[line] if line < len(stack) else "" for stack in stacks)


def _show_links(node: NodePicture, terminal: Terminal) -> None:
    """Print the link matrix in the format of ``nvidia-smi topo -m``, in as many blocks as the width requires."""
    if not node.levels:
        return
    terminal.heading("links")
    names = [f"GPU {each.gpu.index}" for each in node.gpus]
    lead = max(map(len, names)) + 2
    heads = [str(each.gpu.index) for each in node.gpus]
    cell = max(*(columns(visible(level)) for row in node.levels for level in row), len(heads[-1])) + 1
    fitting = max((terminal.width - lead) // cell, 1)
    for start in range(0, len(names), fitting):
        if start:
            terminal.line()
        shown = slice(start, start + fitting)
        terminal.put([Line((Span(" " * lead + "".join(f"{head:<{cell}}" for head in heads[shown]), "bold"),), lead)])
        terminal.put(
            Line((Span(f"{name:<{lead}}", "bold"), *(_level(level, cell) for level in row[shown])), lead)
            for name, row in zip(names, node.levels, strict=True)
        )


def _level(level: str, cell: int) -> Span:
    text = visible(level)
    style = next((style for start, style in _LINK_STYLES if text.startswith(start)), "")
    return Span(text + " " * (cell - columns(text)), style)


def _show_cuts(node: NodePicture, terminal: Terminal) -> None:
    found = cuts(node)
    if not found:
        return
    terminal.heading("MIG slices")
    width = max(len(names) for names, _ in found) + 2
    for names, each in found:
        lead = f"{names:<{width}}"
        if each.segments:
            terminal.put([_bar(each, lead, terminal)])
        room = Span(" " * width if each.segments else lead)
        terminal.put([Line((room, Span(room_of(each), "dim")), width)])


def _bar(gpu: GpuPicture, lead: str, terminal: Terminal) -> Line:
    """Return a line with the text ``lead`` and a bar of a GPU's memory.

    The bar has a field for each MIG instance and for each range of memory slices without one. A field is as wide as its
    slices.
    """
    side, blank = ("│", "·") if terminal.has("│·") else ("|", ".")
    blank = "?" if gpu.unplaced else blank
    slices = gpu.segments[-1].start + gpu.segments[-1].size
    narrowest, widest = _SLICE_COLUMNS
    each = min(max((terminal.width - len(lead) - 1) // slices - 1, narrowest), widest)
    spans = [Span(lead), Span(side, "dim")]
    for number, segment in enumerate(gpu.segments):
        room = segment.size * each + segment.size - 1
        text = cut(segment.profile, room) if segment.profile else blank * room
        style = ("black on cyan" if number % 2 else "black on green") if segment.profile else "dim"
        spans += [Span(text.replace(" ", "\u00a0") + "\u00a0" * (room - columns(text)), style), Span(side, "dim")]
    return Line(tuple(spans), len(lead))


def show_difference(found: Difference, terminal: Terminal) -> None:
    """Print the differences of two snapshots; equal nodes with an equal change are printed once."""
    if found.empty:
        terminal.line("nothing changed")
        return
    parts = ((len(found.added), "added"), (len(found.removed), "removed"), (len(found.changed), "changed"))
    terminal.line(", ".join(f"{counted(number, 'node')} {what}" for number, what in parts if number), "bold")
    for each in found.by_kind:
        terminal.put(_difference_lines(each))


def _difference_lines(each: KindDifference) -> Iterator[Line]:
    sign, style = _EVENTS[each.event]
    head = f"{counted(len(each.names), 'node')} {each.event}: "
    yield Line(())
    yield Line((Span(f"{sign} {head}", f"bold {style}"), Span(each.kind.title)), 2)
    yield Line((Span("  "), Span(_named(each.names), "dim")), 2)
    for change in each.changes[:MOST_LISTED]:
        yield _change(change)
    if len(each.changes) > MOST_LISTED:
        yield Line((Span(f"  and {counted(len(each.changes) - MOST_LISTED, 'change')} more"),), 2)


def _change(change: NodeChange) -> Line:
    what = "" if change.aspect in {"state", "agent"} else f"{change.what}: "
    lead = Span(f"  {change.aspect} {what}")
    if not change.before:
        return Line((lead, Span(f"+ {change.after}", "green")), 4)
    if not change.after:
        return Line((lead, Span(f"- {change.before}", "red")), 4)
    return Line((lead, Span(change.before, "red"), Span(" -> "), Span(change.after, "green")), 4)


def _named(names: Sequence[str]) -> str:
    left = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {left} more" if left > 0 else "")

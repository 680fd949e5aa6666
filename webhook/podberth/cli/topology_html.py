"""An HTML page with an SVG picture of nodes, and tables of the same content for screen readers.

The page loads no other files.
"""

from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Final

from ..check.report.styled_lines import Span
from ..topology.node_picture import NodePicture
from ..topology.overview import ClusterPicture
from .svg import safe
from .topology_svg import cluster_svg, node_svg
from .topology_tables import (
    Cell,
    Row,
    TableSection,
    cluster_sections,
    cuts,
    facts,
    node_sections,
    room_of,
    state_of,
)

# The browser itself refuses scripts and everything that would have to be fetched.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_CLASSES: Final = {"green": "good", "yellow": "warn", "bold red": "bad"}


def node_html(node: NodePicture) -> str:
    """Return an HTML page about a node's GPUs: an SVG picture, and tables of the same content."""
    sections = [TableSection("in words", (("what", "is"), *facts(node)))]
    sections += node_sections(node)
    if node.levels:
        names = [f"GPU {each.gpu.index}" for each in node.gpus]
        rows = (("", *names), *((name, *row) for name, row in zip(names, node.levels, strict=True)))
        sections.append(TableSection("links between GPUs", rows))
    bars = [
        (names, ", ".join(f"{one.profile or each.blank} ({one.size})" for one in each.segments), room_of(each))
        for names, each in cuts(node)
    ]
    if bars:
        sections.append(TableSection("MIG slices", (("GPU", "from the first memory slice (slices)", "room"), *bars)))
    return _page(f"Node {node.name}: {state_of(node.transient).text}", node_svg(node), sections, node.note)


def cluster_html(cluster: ClusterPicture) -> str:
    """Return an HTML page about a cluster's nodes and levels: an SVG picture, and tables of the same content."""
    return _page("GPU topology", cluster_svg(cluster), cluster_sections(cluster), cluster.note)


def _page(title: str, picture: str, sections: Iterable[TableSection], note: str) -> str:
    tables = "".join(part for section in sections for part in _section(section))
    below = f"<p>{safe(note)}</p>\n" if note else ""
    style = resources.files(__package__).joinpath("data", "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{safe(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{safe(title)}</h1>\n<figure>\n{picture}</figure>\n{tables}{below}</main>\n</body>\n</html>\n"
    )


def _section(section: TableSection) -> Iterator[str]:
    head, *body = section.rows
    yield f'<section>\n<h2>{safe(section.title)}</h2>\n<div class="wide"><table>\n'
    yield f"<thead><tr>{''.join(_cells(head, 'th'))}</tr></thead>\n<tbody>\n"
    for row in body:
        yield f"<tr>{''.join(_cells(row, 'td'))}</tr>\n"
    yield "</tbody></table></div>\n"
    yield from (f"<p>{safe(line)}</p>\n" for line in section.more)
    yield "</section>\n"


def _cells(row: Row, tag: str) -> Iterator[str]:
    scope = ' scope="col"' if tag == "th" else ""
    for cell in row:
        stack = cell if isinstance(cell, tuple) and not isinstance(cell, Span) else (cell,)
        yield f"<{tag}{scope}>{'<br>'.join(map(_written, stack))}</{tag}>"


def _written(cell: Cell) -> str:
    if isinstance(cell, str):
        return safe(cell)
    look = _CLASSES.get(cell.style)
    return f'<span class="{look}">{safe(cell.text)}</span>' if look else safe(cell.text)

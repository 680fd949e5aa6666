"""A page with a picture, and the same in tables for readers who do not see it. It loads nothing from elsewhere."""

from collections.abc import Iterable, Iterator
from typing import Final

from ..check.report.lines import Span
from ..topology.overview import ClusterPicture
from ..topology.picture import NodePicture
from .svg import safe
from .topology_svg import cluster_svg, node_svg
from .topology_tables import (
    Cell,
    Row,
    Section,
    cluster_sections,
    cuts,
    facts,
    node_sections,
    room_of,
    state_of,
)

# The browser itself refuses scripts and everything that would have to be fetched.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2128;--faint:#57606a;--line:#d5dae0;
--good:#1a7f37;--warn:#9a6700;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--faint:#9aa4af;--line:#30363d;
--good:#3fb950;--warn:#d29922;--bad:#ff7b72}}
body{margin:0 auto;padding:1rem;max-width:62rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,'DejaVu Sans',sans-serif}
svg{max-width:100%;min-width:42rem;height:auto}
figure{margin:0;overflow-x:auto}
h1{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
h2{font-size:1.05rem;margin:1.6rem 0 .4rem;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.2rem 1.2rem .2rem 0;border-bottom:1px solid var(--line)}
th{white-space:nowrap;color:var(--faint);font-weight:600}
.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad);font-weight:600}
"""
_CLASSES: Final = {"green": "good", "yellow": "warn", "bold red": "bad"}


def node_html(node: NodePicture) -> str:
    """Write the page of a node."""
    sections = [Section("in words", (("what", "is"), *facts(node)))]
    sections += node_sections(node)
    if node.levels:
        names = [f"GPU {each.gpu.index}" for each in node.gpus]
        rows = (("", *names), *((name, *row) for name, row in zip(names, node.levels, strict=True)))
        sections.append(Section("links between GPUs", rows))
    bars = [
        (names, ", ".join(f"{one.profile or each.blank} ({one.size})" for one in each.segments), room_of(each))
        for names, each in cuts(node)
    ]
    if bars:
        sections.append(Section("MIG slices", (("GPU", "from the first memory slice (slices)", "room"), *bars)))
    return _page(f"Node {node.name}: {state_of(node.transient).text}", node_svg(node), sections)


def cluster_html(cluster: ClusterPicture) -> str:
    """Write the page of a cluster."""
    return _page("GPU topology", cluster_svg(cluster), cluster_sections(cluster))


def _page(title: str, picture: str, sections: Iterable[Section]) -> str:
    tables = "".join(part for section in sections for part in _section(section))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{safe(title)}</h1>\n<figure>\n{picture}</figure>\n{tables}</main>\n</body>\n</html>\n"
    )


def _section(section: Section) -> Iterator[str]:
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

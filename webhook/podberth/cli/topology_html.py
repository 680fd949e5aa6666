"""An HTML page with an SVG picture of nodes, and tables of the same content for screen readers.

The page loads no other files, and its policy makes the browser refuse scripts and whatever would have to be fetched.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from string import Template
from typing import Final

from ..check.report.styled_lines import Span
from ..topology.domain_tree import DomainTree, EqualNodes
from ..topology.node_picture import NodePicture
from ..topology.overview import ClusterPicture
from ..words import counted
from .snapshot_time import caption
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
    summary,
)
from .topology_use import free_and_more

_BESIDE: Final = 2
"""The number of sections below the picture on a wide screen; the others are beside it."""
_SMALL: Final = 12
"""The most nodes of a cluster whose domains are all unfolded at first."""
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
    title = f"Node {node.name}: {state_of(node.transient).text}"
    picture = node_svg(node, has_heading=False)
    return _page(title, (node.note,), picture, {each.title: _table_section(each) for each in sections})


def cluster_html(cluster: ClusterPicture) -> str:
    """Return an HTML page about a cluster's nodes and levels.

    The page has an SVG picture, tables of the same content, and a tree of all domains down to the nodes, which the
    reader unfolds.
    """
    tables = [(each.title, _table_section(each)) for each in cluster_sections(cluster)]
    tree = ("nodes by domain", _domain(cluster.tree, is_open=True, is_small=cluster.nodes <= _SMALL))
    sections = dict([*tables[:1], tree, *tables[1:]])
    lead = (caption(cluster.snapshot_at), summary(cluster), cluster.note)
    picture = cluster_svg(cluster, has_heading=False)
    return _page(cluster.title, lead, picture, sections, refresh_seconds=cluster.refresh_seconds)


def _page(
    title: str, lead: Iterable[str], picture: str, sections: Mapping[str, Iterable[str]], *, refresh_seconds: int = 0
) -> str:
    """Return a page with a picture and sections.

    ``lead`` are the lines below the heading; empty lines are left out. ``sections`` has the HTML of each section by the
    section's title.
    """
    data = resources.files(__package__).joinpath("data")
    page = Template(data.joinpath("page.html").read_text(encoding="utf-8"))
    parts = [
        f'<section aria-labelledby="s{at}">\n<h2 id="s{at}">{safe(name)}</h2>\n{"".join(content)}</section>\n'
        for at, (name, content) in enumerate(sections.items())
    ]
    return page.substitute(
        title=safe(title),
        refresh=f'<meta http-equiv="refresh" content="{refresh_seconds}">\n' if refresh_seconds else "",
        style=data.joinpath("page.css").read_text(encoding="utf-8"),
        lead="".join(f"<p>{safe(line)}</p>\n" for line in lead if line),
        links="\n".join(f'<a href="#s{at}">{safe(name)}</a>' for at, name in enumerate(sections)),
        picture=picture,
        first="".join(parts[:_BESIDE]),
        others="".join(parts[_BESIDE:]),
    )


def _table_section(section: TableSection) -> Iterator[str]:
    yield from _table(section.first, section.title)
    if section.rest:
        yield f"<details><summary>{len(section.rest):,} more</summary>\n"
        yield from _table((section.rows[0], *section.rest), f"{section.title}, the others")
        yield "</details>\n"
    yield from (f"<p>{safe(line)}</p>\n" for line in section.more)


def _domain(tree: DomainTree, *, is_open: bool, is_small: bool) -> Iterator[str]:
    """Yield the HTML of a domain with all inner domains and nodes; in a small cluster all domains are unfolded."""
    name = " / ".join(domain or f"without {level}" for level, domain in tree.path) or "the cluster"
    levels = ", ".join(level for level, domain in tree.path if domain)
    use = f"; {tree.use.used:,} used, {free_and_more(tree.use)} free" if tree.use else ""
    health = f'; <span class="warn">{tree.unhealthy:,} unhealthy</span>' if tree.unhealthy else ""
    yield f"<details{' open' if is_open or is_small else ''}><summary><strong>{safe(name)}</strong> "
    yield f'<span class="faint">{safe(levels)}</span> {counted(tree.nodes, "node")}{use}{health}</summary>\n'
    for each in tree.inner:
        yield from _domain(each, is_open=False, is_small=is_small)
    if tree.equal:
        head = ("nodes", "devices of each", "state", *(("used and free of each",) if tree.use else ()))
        yield from _table((head, *map(_equal_row, tree.equal)), f"nodes of {name}")
    yield "</details>\n"


def _equal_row(each: EqualNodes) -> Row:
    use = tuple(f"{resource}: {used} used, {free} free" for resource, used, free in each.use or ())
    names = ", ".join(each.names)
    return (
        f"{len(each.names)}: {names}" if len(each.names) > 1 else names,
        each.machine or "none are known",
        state_of(each.transient),
        *((use or "nothing",) if each.use is not None else ()),
    )


def _table(rows: Sequence[Row], label: str) -> Iterator[str]:
    """Yield the HTML of a table that scrolls by keyboard, too; ``label`` is its name for screen readers."""
    head, *body = rows
    yield f'<div class="wide" tabindex="0" role="group" aria-label="{safe(label)}"><table>\n'
    yield f"<thead><tr>{''.join(_cells(head, 'th'))}</tr></thead>\n<tbody>\n"
    yield from (f"<tr>{''.join(_cells(row, 'td'))}</tr>\n" for row in body)
    yield "</tbody></table></div>\n"


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

"""The tables of ``podberth topology show``, for text and HTML output."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..check.report.styled_lines import Span
from ..topology.gang_spread import GangSpread
from ..topology.holdings import NodeUse, Tally
from ..topology.node_picture import GpuPicture, NodePicture
from ..topology.overview import ClusterPicture, KindCount, LevelSummary
from ..topology.totals import ModelTotal, UnitTotal
from ..words import counted
from .topology_use import beyond, brackets, free_and_more, free_text

Cell: TypeAlias = str | Span
Row: TypeAlias = tuple[Cell | tuple[Cell, ...], ...]
"""A row of cells. A tuple in place of a cell is a cell of several lines, one below the other."""

_MIB_PER_GIB: Final = 1024
_LONGEST_PLACE: Final = 25  # northamerica-northeast1-a
# The most domains of a level, unhealthy nodes and the like that a reader can take in.
MOST_LISTED: Final = 20
_MOST_PARTS: Final = 4
"""The most domains of one gang in a table."""


@dataclass(frozen=True, slots=True)
class TableSection:
    """A heading and a table, whose first row is the head; ``more`` is the text below the table."""

    title: str
    rows: tuple[Row, ...]
    more: tuple[str, ...] = ()
    is_long: bool = False
    """Whether the reader first gets ``MOST_LISTED`` rows, and the others only on request or not at all."""

    @property
    def first(self) -> tuple[Row, ...]:
        """The head, and the rows that the reader gets first."""
        return self.rows[: MOST_LISTED + 1] if self.is_long else self.rows

    @property
    def rest(self) -> tuple[Row, ...]:
        """The rows after ``first``."""
        return self.rows[len(self.first) :]


def ranges(numbers: Iterable[int]) -> str:
    """Return indexes as a text with ranges, like ``0-3, 6``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def state_of(transient: str) -> Span:
    """Return a node's state as styled text.

    ``transient`` is the reason why the node is out of use; empty if the node is in use.
    """
    return Span(transient, "yellow") if transient else Span("healthy", "green")


# ---- a node ---------------------------------------------------------------------------------------------------------


def facts(node: NodePicture) -> tuple[tuple[str, str], ...]:
    """Return the facts about a node that take one line each, as pairs of label and text."""
    numa = "; ".join(
        f"{'unknown' if number is None else number}: GPUs {ranges(indexes)}" for number, indexes in node.numa
    )
    document = f"last changed {node.observed}" if node.observed else "there"
    found = (
        ("GPUs", node.machine or "none are known"),
        ("links", _links(node)),
        ("free", free_text(node.use) if node.use else ""),
        ("fabric", node.fabric),
        ("NUMA", numa),
        ("health", "; ".join(f"GPU {each.gpu.index}: {each.state}" for each in node.gpus if each.state != "healthy")),
        ("document", document if node.described else "none; known by its labels and allocatable only"),
    )
    return tuple((what, text) for what, text in found if text)


def _links(node: NodePicture) -> str:
    if not node.described:
        return ""
    domains = "; ".join(ranges(domain) for domain in node.domains)
    return f"{node.shape} ({domains})" if domains else node.shape


def node_sections(node: NodePicture) -> Iterator[TableSection]:
    """Yield the tables about a node, without the link matrix and the MIG bars."""
    if node.gpus:
        yield TableSection("GPUs", (("GPU", "NUMA", "product", "memory", "MIG", "state"), *map(_gpu_row, node.gpus)))
    if node.offers:
        yield _offers(node)
    if node.use:
        yield from _holders(node.use)
    if node.taints:
        yield TableSection("taints", (("key", "value", "effect"), *((t.key, t.value, t.effect) for t in node.taints)))
    if node.labels:
        yield TableSection("relevant labels", (("label", "value"), *node.labels))


def _offers(node: NodePicture) -> TableSection:
    use = {each.resource: each for each in node.use.devices} if node.use else {}
    rows = (
        (
            each.resource,
            Span(str(each.allocatable), "yellow" if each.allocatable < each.capacity else ""),
            str(each.capacity),
            *((str(use[each.resource].used), str(use[each.resource].free)) if node.use else ()),
        )
        for each in node.offers
    )
    head = ("resource", "allocatable", "capacity", *(("used", "free") if node.use else ()))
    return TableSection("offers", (head, *rows), tuple(beyond(node.use)) if node.use else ())


def _holders(use: NodeUse) -> Iterator[TableSection]:
    rows: list[Row] = [
        (each.resource, str(one.units), f"{one.namespace}/{one.pod}")
        for each in (*use.devices, *use.claimed)
        for one in each.holders
    ]
    if rows:
        yield TableSection("held by", (("resource", "number", "pod"), *rows), is_long=True)


def _gpu_row(each: GpuPicture) -> Row:
    gpu = each.gpu
    mode = f"{len([one for one in each.segments if one.profile]) + len(each.unplaced)} instances"
    return (
        str(gpu.index),
        "?" if gpu.numa_node is None else str(gpu.numa_node),
        gpu.product or "?",
        f"{gpu.memory_mib / _MIB_PER_GIB:.1f} GiB" if gpu.memory_mib else "?",
        mode if gpu.mig_enabled else "off",
        Span(each.state, "bold red" if gpu.problem else "green" if each.state == "healthy" else "yellow"),
    )


def cuts(node: NodePicture) -> list[tuple[str, GpuPicture]]:
    """Return the GPUs in MIG mode, grouped: all GPUs of a group are divided into equal MIG instances.

    For each group, the list has (the names of the GPUs as text, such as "GPU 2-7"; the first GPU of the group).
    """
    alike: dict[tuple[object, ...], list[GpuPicture]] = {}
    for each in node.gpus:
        if each.gpu.mig_enabled:
            alike.setdefault((each.segments, each.unplaced, each.room), []).append(each)
    return [(f"GPU {ranges(one.gpu.index for one in group)}", group[0]) for group in alike.values()]


def room_of(gpu: GpuPicture) -> str:
    """Return a text with the MIG profiles for which a partitioned GPU still has room."""
    fitting = ", or ".join(f"{count} x {profile}" for profile, count in gpu.room)
    lost = f"place not known: {', '.join(gpu.unplaced)}. " if gpu.unplaced else ""
    return f"{lost}{f'room for {fitting}' if fitting else 'no room for more'}"


# ---- a cluster ------------------------------------------------------------------------------------------------------


def summary(cluster: ClusterPicture) -> str:
    """Return one line with the number of nodes and the number of unhealthy nodes."""
    unhealthy = len(cluster.unhealthy)
    health = f"{unhealthy:,} unhealthy" if unhealthy else "all healthy"
    if not cluster.nodes:
        return "no node is known"
    return f"{counted(cluster.nodes, 'node')}, {cluster.described:,} with a topology document; {health}"


def cluster_sections(cluster: ClusterPicture) -> Iterator[TableSection]:
    """Yield the tables about a cluster.

    The tables are about models, kinds of nodes, used devices, gangs, taints, levels, and unhealthy nodes and GPUs.
    """
    if cluster.models:
        yield _models(cluster.models)
    if cluster.kinds:
        head: Row = ("nodes", "kind", "each offers", "where")
        yield TableSection("kinds of nodes", (head, *map(_kind_row, cluster.kinds)))
    used = [(each, each.use) for each in cluster.kinds if each.use]
    if used:
        head = ("nodes", "kind", "resource", "used", "free", "on one node")
        more = brackets(tally for _, use in used for tally in use.values())
        yield TableSection("used and free, by kind", (head, *(_use_row(each, use) for each, use in used)), more)
    if cluster.gangs:
        head = ("gang", "pods", "devices", "nodes", "all within", "divided at")
        yield TableSection("gangs on nodes", (head, *map(_gang_row, cluster.gangs)), is_long=True)
    taints = Counter(taint for each in cluster.kinds for taint in each.kind.taints for _ in each.names)
    if taints:
        rows = ((each.key, each.value, each.effect, f"{taints[each]:,}") for each in sorted(taints))
        yield TableSection("taints", (("key", "value", "effect", "nodes"), *rows))
    for level in cluster.levels:
        yield _level_section(level)
    if cluster.unhealthy:
        unhealthy: list[Row] = [(name, Span(reason, "yellow")) for name, reason in cluster.unhealthy]
        yield TableSection("unhealthy nodes", (("node", "why"), *unhealthy), is_long=True)
    if cluster.ill:
        ill: list[Row] = [(name, str(gpu), Span(problem, "bold red")) for name, gpu, problem in cluster.ill]
        yield TableSection("unhealthy GPUs", (("node", "GPU", "why"), *ill), is_long=True)


def _models(models: Iterable[ModelTotal]) -> TableSection:
    has_use = any(unit.use for each in models for unit in each.units)
    nothing = [("nothing", "0", *(("0", "0", "0") if has_use else ()))]
    head = ("model", "nodes", "GPUs", "offered as", "number", *(("used", "free", "out of use") if has_use else ()))
    rows: Iterator[Row] = (
        (
            each.model or "unknown",
            f"{each.nodes:,}",
            f"{each.devices:,}" if each.devices else "unknown",
            # One cell for each column, with a line for each unit.
            *zip(*(list(map(_unit_cells, each.units)) or nothing), strict=True),
        )
        for each in models
    )
    return TableSection("GPUs by model", (head, *rows))


def _unit_cells(unit: UnitTotal) -> tuple[str, ...]:
    numbers = () if unit.use is None else (unit.use.used, unit.use.free, unit.out_of_use)
    return unit.unit, *(f"{number:,}" for number in (unit.amount, *numbers))


def _gang_row(each: GangSpread) -> Row:
    gang = each.gang
    level, domains = each.over or ("", ())
    shown = [f"  {domain or 'without the label'} ({pods:,})" for domain, pods in domains[:_MOST_PARTS]]
    return (
        (f"{gang.namespace}/{gang.name}", *(() if gang.source == "label" else (f"  {gang.source}",))),
        f"{len(gang.nodes):,} of {gang.size:,}" if gang.size else f"{len(gang.nodes):,}",
        f"{gang.devices:,}",
        f"{len(set(gang.nodes)):,}",
        f"{_last(each.within[0])} {each.within[1]}" if each.within else "",
        (f"{_last(level)}: {len(domains):,}", *shown, *rest_of(len(domains), _MOST_PARTS)) if each.over else "",
    )


def _last(level: str) -> str:
    """Return the last part of a level's key, which is short enough for a table: ``zone``, ``gpu.clique``."""
    return level.rpartition("/")[2]


def _kind_row(each: KindCount) -> Row:
    kind = each.kind
    links = () if kind.shape in {"unknown", "none"} else (f"  {kind.shape}",)
    layouts = (
        f"    + {profile}" if number else f"  MIG {profile}"
        for layout in kind.layout.split("; ")
        if layout
        for number, profile in enumerate(layout.split(" + "))
    )
    unhealthy = (Span(f"  {len(names)} {reason}", "yellow") for reason, names in each.transient.items())
    return (
        f"{each.count:,}",
        (kind.machine or "no GPU is known", *links, *layouts, *unhealthy),
        tuple(f"{amount:,} {resource}" for resource, amount in kind.offers) or "nothing",
        tuple(f"{_short(place) or 'no zone'} ({count:,})" for place, count in each.where[:MOST_LISTED]),
    )


def _use_row(each: KindCount, use: Mapping[str, Tally]) -> Row:
    return (
        f"{each.count:,}",
        each.kind.machine or "no GPU is known",
        tuple(use),
        tuple(f"{tally.used:,}" for tally in use.values()),
        tuple(free_and_more(tally) for tally in use.values()),
        tuple(f"{tally.most} at most" for tally in use.values()),
    )


def _short(place: str) -> str:
    """Return the name of a domain for a table, truncated, because the name may be any label value."""
    return place if len(place) <= _LONGEST_PLACE else f"{place[: _LONGEST_PLACE - 1]}…"


def _level_section(level: LevelSummary) -> TableSection:
    sizes = Counter(nodes for _, nodes, _ in level.domains)
    spread = ", ".join(
        f"{count:,} of {counted(size, 'node')}" for size, count in sorted(sizes.items(), reverse=True)[:4]
    )
    use = level.use or {}
    rows = [
        (domain, f"{nodes:,}", f"{devices:,}", *((f"{use[domain].used:,}", free_and_more(use[domain])) if use else ()))
        for domain, nodes, devices in sorted(level.domains, key=lambda one: (-one[1], one[0]))
    ]
    more = (
        *((f"domains: {spread}",) if len(rows) > MOST_LISTED else ()),
        *((f"{counted(level.outside, 'node')} with devices without this label",) if level.outside else ()),
    )
    head = ("domain", "nodes", "devices", *(("used", "free") if use else ()))
    title = f"{level.key}: {counted(len(level.domains), 'domain')}"
    return TableSection(title, (head, *rows), more, is_long=True)


def rest_of(total: int, shown: int) -> tuple[str, ...]:
    """Return a tuple with the line about the entries of a list that are not shown; empty if all are shown."""
    return (f"and {total - shown:,} more",) if total > shown else ()

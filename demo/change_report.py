"""What the last act of ``make demo-cluster`` says: what changed in the cluster, and what podberth made of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from podberth.check.report.difference import difference
from podberth.check.report.styled_lines import Span
from podberth.cli.terminal import Terminal
from podberth.facts.cluster import collect
from podberth.topology.codec import decode_topology
from podberth.topology.node_picture import shape_of

from .trial import Placement
from .walk import show_diff

Document = dict[str, Any]

SNAPSHOT_COMMAND = ("get", "nodes,configmaps,leases", "-A", "-o", "yaml")
"""The arguments of kubectl for the picture."""

_INDENT = "  "
_DEVICES, _WHOLE, _MIG = "nvidia.com/", "nvidia.com/gpu", "nvidia.com/mig-"
_STATE = "nvidia.com/mig.config.state"
_ABSENT = "-"
_ARROW = Span("=> ", "dim")
# The sections of the pictures that say what changed; in the others all is as it was.
_SECTIONS = ("GPUs", "offers", "unhealthy nodes", "unhealthy GPUs")
_MARKS = ("unhealthy", "lost")
# As far in as what stands behind "document: "
_HANGING = 10


@dataclass(frozen=True, slots=True)
class Look:
    """What the cluster holds of one node at a moment."""

    title: str
    node: Document
    config_map: Document


def show_opening(terminal: Terminal) -> None:
    """Say what the act is about."""
    terminal.heading("the cluster changes, and podberth follows")
    terminal.paragraph(
        "podberth watches the Nodes and what the agents on them publish. All pods here say nodeSelector:"
        " {nvidia.com/gpu.family: ampere}, which are this cluster's A100, and differ only in nvidia.com/gpu."
    )


def show_layout_opening(terminal: Terminal, node: str) -> None:
    """Begin with the layout."""
    _show_title(terminal, f"1. Another MIG layout: of the 8 A100 of {node}, 6 are cut; then none is.")


def show_work(terminal: Terminal, node: str) -> None:
    """Say that the layout is being set."""
    terminal.line()
    terminal.paragraph(f"mig-manager begins, and {node} offers no GPU until it is done. Meanwhile:")


def show_layout(terminal: Terminal, looks: Sequence[Look], seconds: float, bound_seconds: float) -> None:
    """Say what the new layout changed, and how long podberth took."""
    _show_changes(terminal, "mig-manager is done. What the API server had and has of the node:", looks)
    _show_lag(terminal, "the layout was set, podberth prefers the node for four GPUs", seconds, bound_seconds)


def show_terms(terminal: Terminal, before: Document, after: Document) -> None:
    """Show in what the terms of two pods differ."""
    terminal.line()
    terminal.line(f"What podberth wrote into {_name(after)}, and not into {_name(before)}:")
    show_diff(terminal, difference(_terms(before), _terms(after)))


def show_loss_opening(terminal: Terminal, node: str) -> None:
    """Begin with the lost GPU."""
    _show_title(terminal, f"2. A lost GPU: {node} offers 8 A100; then one falls off the bus.")


def show_loss(terminal: Terminal, looks: Sequence[Look], seconds: float, bound_seconds: float) -> None:
    """Say what a lost GPU changed, and how long podberth took."""
    _show_changes(terminal, "The GPU is lost. What the API server had and has of the node:", looks)
    _show_lag(terminal, "the GPU was lost, podberth warns of it", seconds, bound_seconds)


def show_place(terminal: Terminal, name: str, placement: Placement, look: Look | None) -> None:
    """Say where a pod came to be, and what that node has; or why the pod waits."""
    if look is None:
        # What comes behind the first sentence is about claims and preemption.
        reason = placement.reason.partition(". ")[0]
        terminal.paragraph(f"{name} waits: {reason}", "yellow", first=(_ARROW,))
    else:
        offered = look.node["status"]["allocatable"][_WHOLE]
        [node] = collect([look.node, look.config_map], now=None).nodes
        text = f"{name} runs on {placement.node}: {offered} whole GPUs, NVLink {shape_of(node)}"
        terminal.paragraph(text, "green", first=(_ARROW,))


def show_picture(terminal: Terminal, node: str, picture: str) -> None:
    """Show the lines of ``podberth topology show`` that say what happened to a node, or to the cluster."""
    terminal.line()
    draw = f"podberth topology show {node}".rstrip()
    terminal.paragraph(f"$ kubectl {' '.join(SNAPSHOT_COMMAND)} | {draw} --topology -", "bold", hanging=2)
    sections = _sections(picture)
    for line in sections[""]:
        terminal.paragraph(line, _style(line), hanging=_HANGING)
    for name in _SECTIONS:
        if name in sections:
            terminal.line()
            terminal.line(f"{name}:", "bold")
        for line in sections.get(name, ()):
            terminal.line(f"{_INDENT}{line}", _style(line))


def _style(line: str) -> str:
    """Return the style of a line of a picture: another one where it says that something is wrong."""
    return "yellow" if any(word in line for word in _MARKS) else ""


def _sections(picture: str) -> dict[str, list[str]]:
    """Split a picture at its headings; what stands before the first one has no name."""
    found: dict[str, list[str]] = {"": []}
    name = ""
    for line in picture.splitlines():
        if line.startswith("── "):
            name = line.strip("─ ")
            found[name] = []
        elif line:
            found[name].append(line)
    return found


def _show_changes(terminal: Terminal, title: str, looks: Sequence[Look]) -> None:
    """Write what differs between the looks, as the API server has it."""
    terminal.line()
    terminal.paragraph(title)
    facts = [dict(_facts(look)) for look in looks]
    rows = [("", "", *(look.title for look in looks))]
    for where, what in dict.fromkeys(fact for each in facts for fact in each):
        cells = [each.get((where, what), _ABSENT) for each in facts]
        if len(set(cells)) > 1:
            rows.append((where, what, *cells))
    terminal.table(rows, indent=_INDENT)


def _show_lag(terminal: Terminal, what: str, seconds: float, bound_seconds: float) -> None:
    late = seconds > bound_seconds
    wanted = f"within {bound_seconds:g} s{'; a busy machine takes longer' if late else ''}"
    terminal.paragraph(f"{seconds:.2f} s after {what} (want: {wanted}).", "yellow" if late else "green")


def _show_title(terminal: Terminal, text: str) -> None:
    terminal.line()
    terminal.paragraph(text, "bold cyan", hanging=3)


def _facts(look: Look) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield what a look shows: where it stands and what it is, and the value."""
    labels, topology = look.node["metadata"]["labels"], decode_topology(look.config_map)
    yield ("label", _STATE), labels.get(_STATE, _ABSENT)
    yield ("labels", f"{_MIG}*"), str(sum(key.startswith(_MIG) for key in labels))
    for resource, amount in look.node["status"]["allocatable"].items():
        if resource.startswith(_DEVICES):
            yield ("allocatable", resource), amount
    yield ("ConfigMap", "MIG instances"), str(len(topology.mig_instances))
    yield ("ConfigMap", "GPUs that wait for a reset"), str(sum(g.mig_enabled != g.mig_pending for g in topology.gpus))
    for gpu in topology.gpus:
        yield ("ConfigMap", f"GPU {gpu.index}"), gpu.problem or "healthy"


def _terms(pod: Document) -> dict[str, Any]:
    """Return what decides where a pod may run."""
    return {"spec": {field: pod["spec"][field] for field in ("affinity", "tolerations") if field in pod["spec"]}}


def _name(pod: Document) -> str:
    return str(pod["metadata"]["name"])

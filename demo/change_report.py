"""What the last act of ``make demo-cluster`` says: what changed in the cluster, and what podberth made of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podberth.check.report.difference import difference
from podberth.check.report.lines import Span
from podberth.cli.terminal import Terminal
from podberth.topology.codec import decode_topology

from . import cluster_of_shapes as simulated
from .trial import Placement
from .walk import show_diff

Document = Mapping[str, Any]

SNAPSHOT_COMMAND = ("get", "nodes,configmaps,leases", "-A", "-o", "yaml")
"""What kubectl is told for the picture."""

_INDENT = "  "
_DEVICES, _MIG = "nvidia.com/", "nvidia.com/mig-"
_STATE = "nvidia.com/mig.config.state"
_ABSENT = "-"
# The sections of the picture that say what changed; the others are the links, taints and labels of before.
_SECTIONS = ("GPUs", "offers")
_MARKS = ("unhealthy", "lost", "not well")
# As far in as what stands behind "document: "
_HANGING = 10


@dataclass(frozen=True, slots=True)
class Look:
    """What the cluster holds of one node at a moment."""

    title: str
    node: Document
    config_map: Document


def summary(pod: Document) -> str:
    """Say in a phrase what a pod asks for."""
    [container] = pod["spec"]["containers"]
    limits = ", ".join(f"{name}: {amount}" for name, amount in container["resources"]["limits"].items())
    selector = ", ".join(f"{key}: {value}" for key, value in pod["spec"]["nodeSelector"].items())
    return f"{limits} on {selector}"


def show_opening(terminal: Terminal, node: str) -> None:
    """Say what the act is about, and begin with the layout."""
    terminal.heading("the cluster changes, and podberth follows")
    terminal.paragraph(
        "podberth watches Nodes and what the nodes' agents publish. First another MIG layout: of the 8 A100 of"
        f" {node}, 2 are whole and 6 are cut; then none is cut. Before:"
    )


def show_work(terminal: Terminal, node: str) -> None:
    """Say that the layout is being set."""
    terminal.line()
    terminal.paragraph(f"mig-manager begins: {node} offers no GPU until it is done. Meanwhile:")


def show_layout(terminal: Terminal, looks: Sequence[Look], seconds: float, bound_seconds: float) -> None:
    """Say what the new layout changed, and how long podberth took."""
    _show_changes(terminal, "mig-manager sets another layout", looks)
    _show_lag(terminal, "the layout was set", "prefers other nodes", seconds, bound_seconds)


def show_terms(terminal: Terminal, before: Document, after: Document) -> None:
    """Show in what the terms of two pods differ."""
    terminal.line()
    terminal.line(f"What podberth wrote into {_name(after)}, and not into {_name(before)}:")
    show_diff(terminal, difference(_terms(before), _terms(after)))


def show_second_opening(terminal: Terminal, node: str) -> None:
    """Begin with the lost GPU."""
    terminal.line()
    terminal.paragraph(f"Then a GPU is lost. {node} has 8 whole A100 now. Before:")


def show_loss(terminal: Terminal, looks: Sequence[Look], seconds: float, bound_seconds: float) -> None:
    """Say what a lost GPU changed, and how long podberth took."""
    _show_changes(terminal, "a GPU falls off the bus", looks)
    _show_lag(terminal, "the GPU was lost", "warns", seconds, bound_seconds)


def show_place(terminal: Terminal, name: str, placement: Placement) -> None:
    """Say where a pod came to be, or why it waits."""
    if placement.node:
        pool = simulated.pool_of(placement.node)
        terminal.paragraph(f"{name} runs on {placement.node} (pool: {pool.hardware})", "green", hanging=2)
    else:
        # What comes behind the first sentence is about claims and preemption.
        reason = placement.reason.partition(". ")[0]
        terminal.paragraph(f"{name} waits: {reason}", "yellow", hanging=2)


def show_picture(terminal: Terminal, node: str, picture: str) -> None:
    """Show the lines of ``podberth topology show`` that say what happened to a node, or to the cluster."""
    terminal.line()
    asked = f"podberth topology show {node}".rstrip()
    terminal.line(f"$ kubectl {' '.join(SNAPSHOT_COMMAND)} | {asked} --topology -", "bold")
    sections = _sections(picture)
    shown = ["", *_SECTIONS] if node else [""]
    for name in shown:
        for line in sections[name]:
            terminal.paragraph(line, "yellow" if _is_mark(line) else "", hanging=_HANGING)
    left_out = [name for name in sections if name not in shown]
    terminal.paragraph(f"(left out here: {', '.join(left_out)})", "dim")


def _is_mark(line: str) -> bool:
    """Tell whether a line of the picture says that something is wrong."""
    return any(word in line for word in _MARKS)


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
    terminal.line(f"{title}; the API server then has:", "bold")
    facts = [dict(_facts(look)) for look in looks]
    rows = [("", "", *(look.title for look in looks))]
    for where, what in dict.fromkeys(fact for each in facts for fact in each):
        cells = [each.get((where, what), _ABSENT) for each in facts]
        if len(set(cells)) > 1:
            rows.append((where, what, *cells))
    terminal.table(rows, indent=_INDENT)


def _show_lag(terminal: Terminal, event: str, answer: str, seconds: float, bound_seconds: float) -> None:
    terminal.paragraph(
        f"podberth {answer} {seconds:.2f} s after {event} (want: within {bound_seconds:g} s).",
        first=(Span(_INDENT),),
    )


def _facts(look: Look) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield what a look shows: where it stands and what it is, and the value."""
    labels, topology = look.node["metadata"]["labels"], decode_topology(look.config_map)
    yield ("label", _STATE), labels.get(_STATE, _ABSENT)
    yield ("labels", f"{_MIG}*"), str(sum(key.startswith(_MIG) for key in labels))
    for resource, amount in look.node["status"]["allocatable"].items():
        if resource.startswith(_DEVICES):
            yield ("allocatable", resource), amount
    yield ("ConfigMap", "MIG instances"), str(len(topology.mig_instances))
    yield ("ConfigMap", "GPUs that a reset cuts anew"), str(sum(g.mig_enabled != g.mig_pending for g in topology.gpus))
    for gpu in topology.gpus:
        yield ("ConfigMap", f"GPU {gpu.index}"), gpu.problem or "healthy"


def _terms(pod: Document) -> dict[str, Any]:
    """Return what decides where a pod may run."""
    return {"spec": {field: pod["spec"][field] for field in ("affinity", "tolerations") if field in pod["spec"]}}


def _name(pod: Document) -> str:
    return str(pod["metadata"]["name"])

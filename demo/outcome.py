"""What ``make demo-cluster`` says at the end: where the scheduler put each pod, and how far the gangs are spread."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from podberth.cli.terminal import Terminal

from . import cluster_of_shapes as simulated
from .changes import Lag
from .trial import Placement

Placements: TypeAlias = Mapping[str, Sequence[Placement]]
"""By the name of the pod, without what is random in it: several pods may share one."""

# The gangs of the examples, by how the names of their pods begin.
_GANGS = ("pretrain-", "allreduce-worker-")
# What is longer is summed up in one row: a DaemonSet has a pod on every node.
_MOST_ROWS = 4
# From the scheduler's message on a pod that fits nowhere, which counts the nodes by what keeps the pod off them.
_TAINTED = re.compile(r"(\d+) node\(s\) had untolerated taint")


def show(terminal: Terminal, without: Placements, with_podberth: Placements) -> None:
    """Write the table of pods."""
    terminal.heading("where the scheduler put each pod")
    rows = [("pod", "without podberth", "with podberth")]
    for name in {**without, **with_podberth}:
        rows += _rows(name, without.get(name, ()), with_podberth.get(name, ()))
    terminal.table(rows, indent="  ")
    waiting = [placement.reason for each in without.values() for placement in each if placement.reason]
    for reason, count in Counter(waiting).most_common(1):
        terminal.line()
        terminal.paragraph(f"The scheduler on {count} of those that wait: {reason}", "dim")


def show_gangs(terminal: Terminal, trials: Mapping[str, Placements]) -> None:
    """Write which racks each gang of the examples is spread over, try by try."""
    terminal.heading("which racks the pods of a gang came to")
    rows = [("gang", *(name.replace("-", " ") for name in trials))]
    for prefix in _GANGS:
        cells = [_spread(placements, prefix) for placements in trials.values()]
        rows.append((prefix.removesuffix("-"), *cells))
    terminal.table(rows, indent="  ")


def show_stages(terminal: Terminal, stages: Mapping[str, float]) -> None:
    """Write how long each stage took."""
    terminal.heading("how long each stage took")
    terminal.table([(name, f"{seconds:.1f} s") for name, seconds in stages.items()], indent="  ")


def show_end(terminal: Terminal, without: Placements, with_podberth: Placements, lag: Lag, seconds: float) -> None:
    """Sum up the pods that ask for GPUs, and how podberth followed."""
    before, now = (
        [placement for each in placements.values() for placement in each if placement.wants_gpus]
        for placements in (without, with_podberth)
    )
    terminal.heading("in all")
    terminal.paragraph(
        f"{len(before)} pods ask for GPUs. Without podberth {_running(before)} of them run and"
        f" {len(before) - _running(before)} wait for ever; with podberth {_running(now)} run, and"
        f" {len(before) - len(now)} is denied at once with the reason. podberth followed a new MIG layout within"
        f" {lag.layout_seconds:.2f} s and a lost GPU within {lag.loss_seconds:.2f} s. {seconds:.1f} s in all."
    )


def _running(placements: Sequence[Placement]) -> int:
    return sum(bool(placement.node) for placement in placements)


def _rows(name: str, without: Sequence[Placement], with_podberth: Sequence[Placement]) -> list[tuple[str, str, str]]:
    count = max(len(without), len(with_podberth))
    if count > _MOST_ROWS:
        return [(f"{name} ({count} pods)", _sum(without), _sum(with_podberth))]
    names = [name] if count == 1 else [f"{name} ({number})" for number in range(1, count + 1)]
    return [(each, _where(without, number), _where(with_podberth, number)) for number, each in enumerate(names)]


def _where(placements: Sequence[Placement], number: int) -> str:
    if number >= len(placements):
        return "denied at kubectl apply"
    placement = placements[number]
    if placement.node:
        rack = simulated.rack_of(placement.node)
        return f"{placement.node}, {rack}" if rack else placement.node
    tainted = _TAINTED.search(placement.reason)
    return f"waits: taints of {tainted[1]} nodes" if tainted else "waits: no node has that"


def _sum(placements: Sequence[Placement]) -> str:
    nodes = {placement.node for placement in placements if placement.node}
    waiting = sum(not placement.node for placement in placements)
    return f"on {len(nodes)} nodes" + (f", {waiting} wait" if waiting else "")


def _spread(placements: Placements, prefix: str) -> str:
    members = [placement for name, each in placements.items() if name.startswith(prefix) for placement in each]
    if not members:
        return "-"
    racks = Counter(simulated.rack_of(placement.node) for placement in members if placement.node)
    if not racks:
        return f"all {len(members)} wait"
    return ", ".join(f"{count} in {rack}" for rack, count in sorted(racks.items()))

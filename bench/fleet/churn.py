"""Changes of simulated machines: new MIG layouts, lost GPUs and GPUs that return. Pure; the caller draws the numbers.

A machine is its shape and everything that has happened to it. Its labels and allocatable (written by the device plugin
and GPU feature discovery on a real node) and its document (written by the agent) follow from that together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from podberth.topology.codec import decode_topology
from podberth.topology.node import NodeTopology
from podberth.topology.shape_tables import SHAPES
from podberth.topology.shapes import simulate

# The layouts of one machine; mig-manager changes the layout when a label changes (nvidia.com/mig.config).
LAYOUTS: tuple[tuple[str, ...], ...] = (("dgx-a100-8", "dgx-a100-8-mig-single", "dgx-a100-8-mig-mixed"),)

MIG_STATE = "nvidia.com/mig.config.state"
_LOST = "GPU is lost"

Allocatable = dict[str, str]


@dataclass(frozen=True, slots=True)
class Machine:
    """A simulated machine at one moment."""

    name: str
    shape: str
    lost: frozenset[int] = frozenset()
    """Indexes of GPUs that fell off the bus."""
    target: str = ""
    """The shape of the new layout; empty while no change is in progress."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The labels, resources and document of a machine."""

    labels: Mapping[str, str]
    allocatable: Allocatable
    capacity: Allocatable
    topology: NodeTopology


def show(machine: Machine) -> Sight:
    """Return the labels, resources and document of a machine."""
    manifest, config_map = simulate(machine.shape, machine.name)
    topology = decode_topology(config_map)
    labels, status = dict(manifest["metadata"]["labels"]), manifest["status"]
    allocatable = dict(status["allocatable"])
    for index in machine.lost:
        for resource, amount in _units(machine.shape, index).items():
            allocatable[resource] = str(int(allocatable[resource]) - amount)
    gpus = tuple(replace(gpu, problem=_LOST) if gpu.index in machine.lost else gpu for gpu in topology.gpus)
    if machine.target:
        # mig-manager stops the GPUs' clients while it works, so the device plugin offers none.
        labels[MIG_STATE] = "pending"
        allocatable |= {name: "0" for name in allocatable if name.startswith("nvidia.com/")}
        cut = bool(SHAPES[machine.target].cut)
        gpus = tuple(replace(gpu, mig_pending=cut) for gpu in gpus)
    return Sight(labels, allocatable, dict(status["capacity"]), replace(topology, gpus=gpus))


def change(machine: Machine, draw: Random) -> Machine:
    """Let the next change happen: a change in progress ends; else a GPU is lost or returns, or a new layout begins."""
    if machine.target:
        return Machine(machine.name, machine.target)
    others = [shape for layouts in LAYOUTS if machine.shape in layouts for shape in layouts if shape != machine.shape]
    if machine.lost:
        return replace(machine, lost=frozenset())
    if others and draw.random() < 0.5:  # noqa: PLR2004 - both are equally likely
        return replace(machine, target=draw.choice(others))
    return replace(machine, lost=frozenset({draw.randrange(SHAPES[machine.shape].gpus)}))


def node_patch(before: Sight, after: Sight) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the merge patches for the Node and its status that change it to the later sight; {} for no change."""
    gone = dict.fromkeys(before.labels.keys() - after.labels.keys())
    labels = {**gone, **{key: value for key, value in after.labels.items() if before.labels.get(key) != value}}
    amounts = {
        field: {**dict.fromkeys(old.keys() - new.keys()), **{k: v for k, v in new.items() if old.get(k) != v}}
        for field, old, new in (
            ("allocatable", before.allocatable, after.allocatable),
            ("capacity", before.capacity, after.capacity),
        )
    }
    status = {field: changed for field, changed in amounts.items() if changed}
    return ({"metadata": {"labels": labels}} if labels else {}), ({"status": status} if status else {})


def doubt(before: Sight, after: Sight) -> Sight:
    """Return the names that a Node may show when it is anywhere between the two sights; without values."""

    def names(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
        return dict.fromkeys(one.keys() | other.keys(), "")

    return replace(
        after,
        labels=names(before.labels, after.labels),
        allocatable=names(before.allocatable, after.allocatable),
        capacity=names(before.capacity, after.capacity),
    )


def _units(shape: str, index: int) -> dict[str, int]:
    """Count what one GPU of a shape contributes to the node's resources."""
    row = SHAPES[shape]
    if not row.cut:
        return {row.model.resource: row.replicas}
    if index < row.whole:
        return {row.model.resource: 1}
    if not row.whole and len(row.cut) == 1:  # strategy single: an instance is offered as a GPU
        return {row.model.resource: sum(row.cut.values())}
    return {f"nvidia.com/mig-{profile}": count for profile, count in row.cut.items()}

"""The flags --topology and --simulate, by which commands get the nodes of a snapshot, or of machines that are made."""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..facts.cluster import ClusterFacts, collect
from ..facts.object_kinds import Document
from ..files.loading import read_topology, read_topology_with_holdings
from ..topology.holdings import Holdings
from ..topology.shape_labels import mig_strategy
from ..topology.shapes import SHAPES, simulate
from ..words import did_you_mean
from .access import SUGGESTED

_MOST: Final = 10_000
_COUNT: Final = re.compile("[1-9][0-9]{0,8}")


def add_topology(parser: argparse.ArgumentParser, topology_help: str) -> None:
    """Add the flags --topology and --simulate, of which one can be given; neither means that no node is known."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--topology", metavar="SNAPSHOT", type=Path, help=topology_help)
    add_simulate(source)


def add_simulate(parser: argparse._ActionsContainer) -> None:
    """Add the flag --simulate."""
    flag = parser.add_argument(
        "--simulate", metavar="SHAPE[:COUNT],…", help=f"machines that podberth ships: {', '.join(SHAPES)}"
    )
    SUGGESTED[flag] = tuple(SHAPES)


def facts_of(arguments: argparse.Namespace) -> ClusterFacts | None:
    """Return the facts of the cluster that the flags describe; None without a flag.

    Raises:
        TopologyError: the snapshot cannot be read or has no Node.
        UsageError: the value of --simulate is invalid, or a shape does not exist.
    """
    if arguments.simulate is not None:
        return collect(documents_of(arguments.simulate), now=None)
    return None if arguments.topology is None else read_topology(arguments.topology)


def facts_and_holdings_of(arguments: argparse.Namespace) -> tuple[ClusterFacts, Holdings | None]:
    """Return (the facts of the cluster that the flags describe, the accelerators that Pods of the snapshot hold).

    The second value is None without Pods. Raises as ``facts_of``.
    """
    if arguments.topology is not None:
        return read_topology_with_holdings(arguments.topology)
    return facts_of(arguments) or ClusterFacts(), None


def documents_of(text: str) -> list[Document]:
    """Return the Node and the topology ConfigMap of each machine in the text ``SHAPE[:COUNT],…`` of --simulate.

    Raises:
        UsageError: the text is not of that form, a shape does not exist, or there are too many machines.
    """
    return [document for pair in _machines(text) for document in pair]


def _machines(text: str) -> Iterator[tuple[Document, Document]]:
    wanted: Counter[str] = Counter()
    for part in text.split(","):
        shape, colon, count = part.strip().partition(":")
        if colon and not _COUNT.fullmatch(count):
            raise UsageError(f"--simulate: got {part!r}, want SHAPE or SHAPE:COUNT, the count from 1 on")
        if shape not in SHAPES:
            near, listing = did_you_mean(shape, SHAPES), "\n".join(_described())
            raise UsageError(f"--simulate: got {shape!r}, want one of these{near}\n{listing}")
        wanted[shape] += int(count or 1)
    if wanted.total() > _MOST:
        raise UsageError(f"--simulate: got {wanted.total()} machines, want {_MOST} at most")
    for shape, number in wanted.items():
        yield from (simulate(shape, f"{shape}-{index}") for index in range(number))


def _described() -> Iterator[str]:
    """Yield a line for each shape: the name, and its GPUs with the parts in which a device plugin offers them."""
    longest = max(map(len, SHAPES))
    for name, row in SHAPES.items():
        parts = f", MIG strategy {mig_strategy(row)}" if row.cut else ""
        parts += f", {row.replicas} shares each" if row.replicas > 1 else ""
        parts += ", NVLink across nodes" if row.fabric else ""
        yield f"  {name:{longest}}  {row.gpus} {row.model.product}{parts}"

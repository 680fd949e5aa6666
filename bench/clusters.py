"""Clusters of simulated GPU nodes, as many nodes in as many equivalence classes as asked for.

A class is a leaf switch: its nodes are one shape of machine and carry its label. So 10,000 nodes in 500 classes are 500
leaves of 20 nodes, of all shipped shapes in turn.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from podberth.topology.shapes import SHAPES, simulate

from .pods import TEAMS

JSON = dict[str, Any]

_ZONES = 3
_LEAF = "network.topology.nvidia.com/leaf"


def documents(nodes: int, classes: int) -> Iterator[JSON]:
    """Yield the Nodes and topology ConfigMaps, and the namespaces of the reviews."""
    for team in TEAMS:
        name = f"team-{team}"
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        }
    for number in range(nodes):
        yield from machine(number, number % classes)


def machine(number: int, leaf: int) -> tuple[JSON, JSON]:
    """Return the Node and the topology ConfigMap of a machine on that leaf."""
    shapes = list(SHAPES)
    placement = {"topology.kubernetes.io/zone": f"zone-{leaf % _ZONES}", _LEAF: f"leaf-{leaf:03d}"}
    return simulate(shapes[leaf % len(shapes)], f"node-{number:05d}", placement=placement)


def write(path: Path, nodes: int, classes: int, *, labels: Mapping[str, str] | None = None) -> Path:
    """Write a snapshot as ``kubectl get -o json`` prints it; ``labels`` are added to those of every node."""
    items = list(documents(nodes, classes))
    for item in items:
        if item["kind"] == "Node":
            item["metadata"]["labels"] |= labels or {}
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path

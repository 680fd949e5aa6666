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

CLAIM_TEMPLATES: Mapping[str, int] = {"largest-claim": 32, "small-claim": 2}
"""The ResourceClaimTemplates of namespace "default", with how many classes of devices each asks for. 32 is the most
that the API server stores (kubernetes/api resource/v1 DeviceRequestsMaxSize)."""
_ZONES = 3
_LEAF = "network.topology.nvidia.com/leaf"


def documents(nodes: int, classes: int) -> Iterator[JSON]:
    """Yield the Nodes and topology ConfigMaps, the namespaces of the reviews, and templates of claims."""
    for name in ("default", *(f"team-{team}" for team in TEAMS)):
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        }
    yield from claim_templates()
    for number in range(nodes):
        yield from machine(number, number % classes)


def claim_templates() -> Iterator[JSON]:
    """Yield the templates of claims; the first classes are of GPUs, and nobody knows what the others are of."""
    names = ("gpu.nvidia.com", "mig.nvidia.com", *(f"class-{number}.example.com" for number in range(30)))
    for template, classes in CLAIM_TEMPLATES.items():
        requests = [
            {"name": f"r{number}", "exactly": {"deviceClassName": name, "count": 1}}
            for number, name in enumerate(names[:classes])
        ]
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": template, "namespace": "default"},
            "spec": {"spec": {"devices": {"requests": requests}}},
        }


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

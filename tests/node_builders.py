"""Nodes for tests: manifests as a cluster would hold them, and the model's values. Pods are built in ``builders``."""

from collections.abc import Iterable, Mapping
from typing import Any

from podberth.facts.cluster import collect
from podberth.topology.index import Need, NodeSelection, NodeSet, TopologyIndex
from podberth.topology.node import Node
from podberth.topology.shapes import simulate

GPU = "nvidia.com/gpu"
PRODUCT = "nvidia.com/gpu.product"


def node_manifest(
    name: str,
    *,
    devices: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Mapping[str, str]] = (),
    **status: Any,
) -> dict[str, Any]:
    """Make a Ready Node with these device resources; ``status`` overrides fields of the status."""
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", **(devices or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            **status,
        },
    }


def machines(shape: str, count: int, *, start: int = 0, **options: Any) -> list[dict[str, Any]]:
    """Simulate ``count`` machines of a shape, named ``<shape>-<number>``: Nodes and their topology ConfigMaps."""
    return [
        document
        for number in range(start, start + count)
        for document in simulate(shape, f"{shape}-{number}", **options)
    ]


def nodes_of(*documents: dict[str, Any] | list[dict[str, Any]]) -> tuple[Node, ...]:
    """Decode documents and lists of them; none may be a problem."""
    flat = [one for given in documents for one in (given if isinstance(given, list) else [given])]
    objects = collect(flat, now=None)
    assert objects.problems == ()
    return objects.nodes


def index_of(*documents: dict[str, Any] | list[dict[str, Any]]) -> TopologyIndex:
    """Build an index of documents and lists of them."""
    return TopologyIndex.build(nodes_of(*documents))


def need_of(
    amount: int = 1, resource: str = GPU, *, memory_mib: int = 0, pod_spec: Mapping[str, Any] | None = None
) -> Need:
    """Say what a pod with one container that asks for ``amount`` of a resource needs."""
    return Need(((resource, amount),), amount, memory_mib, NodeSelection.of(pod_spec or {}))


def names_of(nodes: NodeSet) -> tuple[str, ...]:
    """Return the names of all nodes of a set, transient nodes included, sorted."""
    return tuple(sorted(name for part in nodes.parts for name, _ in part.nodes()))

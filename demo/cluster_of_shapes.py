"""The simulated cluster of both demonstrations: an EKS cluster with every kind of GPU node, and some hybrid nodes.

A pool is a row of ``POOLS``; ``nodes`` and ``topology`` make of all rows the manifests that such a cluster would hold.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from podberth.topology.shapes import simulate

Document = dict[str, Any]

RACK_LABEL = "fabric.topograph.run/tier-0"
"""topograph's label of the switch nearest to the node: in this cluster, the one of its rack."""

PRODUCT_LABEL = "nvidia.com/gpu.product"
_ZONE_LABEL = "topology.kubernetes.io/zone"
# The GPU operator writes one such label for each of its DaemonSets; examples/gpu-daemonset.yaml selects by it.
_OPERATOR = {"nvidia.com/gpu.deploy.dcgm-exporter": "true"}
_PLACES = {
    "rack a": {_ZONE_LABEL: "us-east-1a", RACK_LABEL: "rack-a"},
    "rack b": {_ZONE_LABEL: "us-east-1b", RACK_LABEL: "rack-b"},
    "rack c": {_ZONE_LABEL: "us-east-1b", RACK_LABEL: "rack-c"},
    "rack d": {_ZONE_LABEL: "us-east-1a", RACK_LABEL: "rack-d"},
    "zone a": {_ZONE_LABEL: "us-east-1a"},
    "zone b": {_ZONE_LABEL: "us-east-1b"},
    "on-prem": {_ZONE_LABEL: "hall-1"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Alike nodes: ``name`` starts their names and, without "gpu-", is what the demonstrations call them."""

    name: str
    shape: str = ""
    """A name of podberth's simulated machines; empty: a node without GPUs."""
    places: Mapping[str, int]
    """How many stand where, by a name of _PLACES."""
    provider: str = "eks"
    hardware: str
    """The GPUs and their links, for people."""

    @property
    def count(self) -> int:
        """How many nodes it has."""
        return sum(self.places.values())

    def node_names(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each node and where it stands."""
        places = [place for place, count in self.places.items() for _ in range(count)]
        digits = len(str(len(places)))
        return ((f"{self.name}-{number:0{digits}}", place) for number, place in enumerate(places, 1))


POOLS = (
    Pool(
        name="gpu-h100",
        shape="hgx-h100-8",
        places={"rack a": 8, "rack b": 8},
        hardware="8 H100, NVLink",
    ),
    Pool(name="gpu-gb200", shape="gb200-tray", places={"rack c": 4}, hardware="4 GB200, NVLink"),
    Pool(name="gpu-l40s", shape="l40s-8", places={"rack d": 2}, hardware="8 L40S, PCIe"),
    Pool(
        name="gpu-a100-pcie",
        shape="a100-pcie-4",
        places={"on-prem": 4},
        provider="bare",
        hardware="4 A100, NVLink pairs",
    ),
    Pool(
        name="gpu-a100-mig",
        shape="dgx-a100-8-mig-mixed",
        places={"zone a": 2},
        hardware="2 A100, 6 cut by MIG",
    ),
    Pool(name="gpu-l4", shape="l4-1", places={"zone b": 4}, hardware="1 L4"),
    Pool(name="gpu-t4-shared", shape="t4-shared", places={"zone b": 3}, hardware="1 T4, 4 time slices"),
    Pool(name="cpu", places={"zone a": 2, "zone b": 1}, hardware="no GPU"),
)


def node_count() -> int:
    """Count the nodes of all pools."""
    return sum(pool.count for pool in POOLS)


def nodes() -> list[Document]:
    """Return every Node, as its kubelet, GPU feature discovery and the cloud's controller have made it."""
    return [node for node, _ in _machines()]


def topology() -> list[Document]:
    """Return the ConfigMap that podberth's agent would keep of every node with GPUs."""
    return [config_map for _, config_map in _machines() if config_map is not None]


def pool_of(node_name: str) -> Pool:
    """Return the pool that a node belongs to."""
    return next(pool for pool in POOLS if node_name.rpartition("-")[0] == pool.name)


def taint_of(pool: Pool) -> str:
    """Write the taints of a pool's nodes, in short; empty: none. All of them are NoSchedule."""
    manifest = next(node for node in nodes() if pool_of(node["metadata"]["name"]) is pool)
    taints = manifest.get("spec", {}).get("taints", ())
    keys = [taint["key"] + (f"={taint['value']}" if taint.get("value") else "") for taint in taints]
    return ", ".join(key.removeprefix("kubernetes.io/arch=") for key in keys)


def summary(names: Iterable[str]) -> str:
    """Say in a phrase which nodes these are: "24 h100, 2 l40s"."""
    counts = Counter(pool_of(name).name.removeprefix("gpu-") for name in names)
    order = [pool.name.removeprefix("gpu-") for pool in POOLS]
    # With a no-break space, so that a number stays with what it counts.
    return ", ".join(f"{counts[name]}\u00a0{name}" for name in order if counts[name])


def rack_of(node_name: str) -> str:
    """Return the rack that a node stands in; empty where it has no such label."""
    found = next(node for node in nodes() if node["metadata"]["name"] == node_name)
    return str(found["metadata"]["labels"].get(RACK_LABEL, ""))


@cache
def _machines() -> tuple[tuple[Document, Document | None], ...]:
    """Make all nodes with their ConfigMaps, once: what is returned is shared and read only."""
    return tuple(_machine(pool, name, _PLACES[place]) for pool in POOLS for name, place in pool.node_names())


def _machine(pool: Pool, name: str, labels: Mapping[str, str]) -> tuple[Document, Document | None]:
    if pool.shape:
        return simulate(pool.shape, name, placement={**labels, **_OPERATOR}, provider=pool.provider)
    return _plain_node(name, labels), None


def _plain_node(name: str, labels: Mapping[str, str]) -> Document:
    capacity = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "kubernetes.io/hostname": name,
                "node.kubernetes.io/instance-type": "m7i.4xlarge",
                "topology.kubernetes.io/region": "us-east-1",
                **labels,
            },
        },
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"},
        },
    }

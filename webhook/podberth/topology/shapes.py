"""Simulates machines: makes the Node and the topology ConfigMap of a machine, for demos, suites and tests.

This module writes the fields that the kubelet, GPU feature discovery, the cloud and the node agent would write for such
a machine. podberth reads no field in which a simulated node differs from a real node.
"""

from collections.abc import Mapping
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from ..devices import mig, mig_placement
from ..devices.mig_tables import MigTable
from ..errors import TopologyError
from ..words import did_you_mean
from .codec import encode_topology
from .node import Fabric, Gpu, Links, LinkShape, MigInstance, MigOffer, NodeTopology
from .shape_labels import cloud_labels, mig_strategy, platform_labels, vendor_labels
from .shape_tables import SHAPES, Provider, Shape

__all__ = ["SHAPES", "simulate", "unknown"]

_CLIQUE = "nvidia.com/gpu.clique"

# A simulated node never ages: the same call gives the same bytes.
_OBSERVED = "2026-01-01T00:00:00Z"
# GKE taints its GPU pools with "present"; AKS' documentation chooses sku=gpu; NodePools of Karpenter and bare clusters
# follow the GPU operator, which tolerates the key: the resource's, unless one is here. GKE taints arm64 pools, too.
_TAINTS: Mapping[Provider, dict[str, str]] = {
    "aks": {"key": "sku", "value": "gpu"},
    "bare": {},
    "eks": {},
    "gke": {"value": "present"},
}
_ARM_TAINT = {"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"}

_PODS = "110"  # the kubelet's default maxPods
_STORAGE_GIB = 900


def simulate(
    shape: str, name: str, *, placement: Mapping[str, str] | None = None, provider: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the Node manifest and the topology ConfigMap of a machine.

    Args:
        shape: the name of a known machine, such as hgx-h100-8.
        name: the node's name.
        placement: labels that are added to the simulated labels or replace them: zone, rack, switch. For a shape in an
            NVLink domain, ``nvidia.com/gpu.clique`` also sets the cluster UUID and the clique.
        provider: the cloud provider whose labels and taint the node has; None: the default provider of the shape.

    Raises:
        TopologyError: there is no such shape, or the provider has no such machine.
    """
    if wrong := unknown(shape, provider):
        raise TopologyError(": ".join(wrong))
    row = SHAPES[shape]
    where = next(one for one in row.instance_types if provider in {None, one})
    clique = (placement or {}).get(_CLIQUE) or f"{_uuid('fabric')}.1"
    labels = {
        **platform_labels(row, name, where),
        **vendor_labels(row, where),
        **cloud_labels(row, where),
        **({_CLIQUE: clique} if row.fabric else {}),
        **(placement or {}),
    }
    return _node(row, name, labels, where), encode_topology(name, _topology(row, name, clique))


def unknown(shape: str, provider: str | None) -> tuple[str, str] | None:
    """Return ("shape" or "provider", the reason) if there is no such machine; None if there is one."""
    if shape not in SHAPES:
        return "shape", f"got {shape!r}, want one of {', '.join(SHAPES)}{did_you_mean(shape, SHAPES)}"
    providers = SHAPES[shape].instance_types
    if provider is None or provider in providers:
        return None
    return "provider", f"got {provider!r}, want one of {', '.join(providers)} for {shape}"


def _uuid(seed: str) -> str:
    return str(uuid5(NAMESPACE_DNS, f"{seed}.podberth.io"))


def _devices(row: Shape) -> dict[str, int]:
    """Return a mapping from each resource that the device plugin offers to the amount."""
    whole = row.model.resource
    if mig_strategy(row) == "single":
        return {whole: row.gpus * sum(row.cut.values())}
    if not row.cut:
        return {whole: row.gpus * row.replicas}
    cut = row.gpus - row.whole
    parts = {mig.parse(profile).resource: cut * count for profile, count in row.cut.items()}
    return {whole: row.whole, **parts} if row.whole else parts


def _node(row: Shape, name: str, labels: dict[str, str], provider: Provider) -> dict[str, Any]:
    capacity = {
        "cpu": str(row.cpus),
        "memory": f"{row.memory_gib}Gi",
        "ephemeral-storage": f"{_STORAGE_GIB}Gi",
        "pods": _PODS,
        **{resource: str(amount) for resource, amount in _devices(row).items()},
    }
    # The kubelet and the system reserve some for themselves; the amount is a setting.
    allocatable = {**capacity, "cpu": f"{row.cpus * 1000 - 1000}m", "memory": f"{row.memory_gib * 1024 - 4096}Mi"}
    taint = {"key": row.model.resource, "effect": "NoSchedule"} | {**(row.taint or _TAINTS[provider])}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": _uuid(name), "labels": labels},
        "spec": {"taints": [taint, *([{**_ARM_TAINT}] if row.arch == "arm64" else [])]},
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {"architecture": row.arch, "operatingSystem": "linux"},
        },
    }


def _topology(row: Shape, name: str, clique: str) -> NodeTopology:
    """Return the topology document that the node agent would publish."""
    table = mig.table_for(row.model.product, row.model.pci_id) if row.cut else None
    cluster, _, number = clique.rpartition(".")
    return NodeTopology(
        gpus=tuple(_gpu(row, name, index) for index in range(row.gpus)),
        links=_links(row),
        fabric=Fabric(cluster_uuid=cluster or clique, clique=_clique_number(number)) if row.fabric else None,
        mig_offers=tuple(
            MigOffer(
                profile=profile,
                pci_id=row.model.pci_id,
                max_instances=offer.max_instances,
                memory_mib=mig.memory_mib(profile, table),
            )
            for profile, offer in sorted(table.rows.items() if table else ())
        ),
        mig_instances=tuple(
            one for index in range(row.whole, row.gpus) for one in (_instances(row, index, table) if table else ())
        ),
        observed=_OBSERVED,
    )


def _gpu(row: Shape, name: str, index: int) -> Gpu:
    cut = bool(row.cut) and index >= row.whole
    return Gpu(
        index=index,
        vendor=row.model.vendor,
        uuid=f"GPU-{_uuid(f'{index}.{name}')}",
        product=row.model.product,
        pci_id=row.model.pci_id,
        memory_mib=row.model.memory_mib,
        numa_node=_numa_node(row, index),
        mig_enabled=cut,
        mig_pending=cut,
    )


def _numa_node(row: Shape, index: int) -> int:
    """Return the NUMA node of a GPU, whose machine has two sockets."""
    return index * 2 // row.gpus


def _links(row: Shape) -> Links:
    starts = range(0, row.gpus, row.island) if row.island else ()
    domains = tuple(tuple(range(start, start + row.island)) for start in starts)
    shape: LinkShape = "none" if not domains else "full-mesh" if len(domains) == 1 else "islands"
    levels = tuple(tuple(_level(row, one, other) for other in range(row.gpus)) for one in range(row.gpus))
    return Links(shape=shape, domains=domains, levels=levels)


def _level(row: Shape, one: int, other: int) -> str:
    """Return the path between two GPUs of a simulated machine as ``nvidia-smi topo -m`` prints a path."""
    if one == other:
        return "X"
    if row.island and one // row.island == other // row.island:
        return row.link
    return "NODE" if _numa_node(row, one) == _numa_node(row, other) else "SYS"


def _instances(row: Shape, index: int, table: MigTable) -> list[MigInstance]:
    """Return the MIG instances of a GPU, placed as the driver does: the largest instances on the last slices."""
    instances, start, end = [], 0, table.memory_slices
    for profile in sorted(row.cut, key=lambda profile: -mig.parse(profile).slices):
        for _ in range(row.cut[profile]):
            size = mig_placement.placements(profile, table)[0][1]
            at_end = size > 2 and end - size >= start  # noqa: PLR2004 - 3g starts at 0 or 4
            first = end - size if at_end else start
            instances.append(MigInstance(gpu=index, profile=profile, start=first, size=size))
            start, end = (start, first) if at_end else (start + size, end)
    return instances


def _clique_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0

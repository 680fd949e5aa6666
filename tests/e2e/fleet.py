"""The machines of the end-to-end cluster, all simulated, and the snapshot of them that podberth is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE

RACK = "backend.coreweave.cloud/leafgroup"
ZONE = "topology.kubernetes.io/zone"
PRODUCT = "nvidia.com/gpu.product"
H100 = "NVIDIA-H100-80GB-HBM3"


@dataclass(frozen=True, slots=True)
class Machines:
    """`count` machines of one shape in one place, named `<name>-<number>`."""

    shape: str
    name: str
    count: int
    placement: Mapping[str, str]


def _hgx(zone: str, rack: str) -> Machines:
    return Machines("hgx-h100-8", f"h100-{rack}", 4, {ZONE: zone, RACK: rack})


# A rack holds a gang of four machines, a zone one of eight: the examples' gangs have five and eight members. There are
# two of each, so that a gang can be spread.
FLEET = (
    _hgx("a", "a1"),
    _hgx("a", "a2"),
    _hgx("b", "b1"),
    _hgx("b", "b2"),
    Machines("a100-pcie-4", "a100-pcie", 2, {ZONE: "a"}),
    Machines("dgx-a100-8-mig-mixed", "a100-mig", 2, {ZONE: "b"}),
    Machines("l4-1", "l4", 2, {ZONE: "a"}),
    Machines("t4-shared", "t4", 2, {ZONE: "b"}),
    Machines("gb200-tray", "gb200", 2, {ZONE: "b", "nvidia.com/gpu.clique": "0b5b1b60-7d3a-4f0e-9f3a-2a3a5b0e7c11.1"}),
)


def manifests() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the fleet's Nodes and topology ConfigMaps."""
    pairs = [
        simulate(machines.shape, f"{machines.name}-{number}", placement=machines.placement)
        for machines in FLEET
        for number in range(machines.count)
    ]
    # A machine without GPUs, for what asks for none: GPU nodes keep that off.
    return [*(node for node, _ in pairs), gpu_node("cpu", gpus=0)], [config_map for _, config_map in pairs]


def settle(control_plane: ControlPlane) -> None:
    """Add the machines and what the node agent would publish of them."""
    nodes, config_maps = manifests()
    control_plane.add_nodes(nodes)
    control_plane.add_namespace(NAMESPACE)
    control_plane.apply(*config_maps)


def abandon(control_plane: ControlPlane) -> None:
    """Take the machines away again."""
    for node in manifests()[0]:
        control_plane.api.request("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
    control_plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def snapshot(control_plane: ControlPlane, file: Path) -> Path:
    """Write what podberth is to know of the cluster, by the command that a user runs for it."""
    file.write_text(control_plane.kubectl("get", "nodes,configmaps", "-A", "-o", "yaml").stdout)
    return file

"""The data about a node: values only. ``codec`` reads documents, ``index`` answers questions about many nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Vendor: TypeAlias = Literal["nvidia", "amd"]
"""The vendor of a GPU."""

LinkShape: TypeAlias = Literal["full-mesh", "islands", "none", "unknown"]
"""The links between a node's GPUs: all with all, in groups, none, or unknown."""

NicKind: TypeAlias = Literal["infiniband", "roce"]
"""The protocol of an RDMA device: its port's link layer is InfiniBand or Ethernet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One physical GPU in the node agent's document."""

    index: int
    """NVML's index, unique in the node."""
    vendor: Vendor = "nvidia"
    uuid: str = ""
    product: str = ""
    """NVML's name: ``NVIDIA H100 80GB HBM3``."""
    pci_id: str = ""
    """Device half of the PCI id, four upper-case hex digits; empty: unknown."""
    memory_mib: int = 0
    """0: unknown."""
    numa_node: int | None = None
    """The CPU's NUMA node nearest to it; None: unknown or no NUMA."""
    pcie_root: str = ""
    """The PCIe root complex above it as sysfs names it: ``pci0000:17``; empty: unknown."""
    mig_enabled: bool = False
    mig_pending: bool = False
    """MIG mode after the next reset. It differs from ``mig_enabled`` while the GPU waits for the reset."""
    problem: str = ""
    """The reason why it is unhealthy (an XID, row remapping, a recovery action); empty: healthy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """NVLink inside the node, or AMD's XGMI."""

    shape: LinkShape = "unknown"
    domains: tuple[tuple[int, ...], ...] = ()
    """Groups of GPU indexes in which all are linked with each other; disjoint, two or more to a group."""
    levels: tuple[tuple[str, ...], ...] = ()
    """The matrix of ``nvidia-smi topo -m``, in order of ``gpus`` (X, NV18, PIX, PHB, NODE, SYS); empty: not read.

    A cell is ``?`` where it is unknown, and ``XGMI`` for AMD's links, which are not counted.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """NVLink across nodes: nvmlDeviceGetGpuFabricInfo of a registered GPU."""

    cluster_uuid: str
    clique: int

    @property
    def label(self) -> str:
        """Return the value of GFD's label ``nvidia.com/gpu.clique``."""
        return f"{self.cluster_uuid}.{self.clique}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigOffer:
    """A MIG profile that the node's GPUs of one PCI id offer."""

    profile: str
    pci_id: str = ""
    max_instances: int = 0
    """The number on one whole GPU; 0: unknown."""
    memory_mib: int = 0
    """0: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigInstance:
    """A GPU instance that exists."""

    gpu: int
    profile: str
    start: int | None = None
    """First memory slice; None where the agent may not read placements."""
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """An RDMA device, which a pod on a near GPU should use."""

    name: str
    """The kernel's name: ``mlx5_0``."""
    kind: NicKind
    numa_node: int | None = None
    """The CPU's NUMA node nearest to the NIC; None: unknown or no NUMA."""
    pcie_root: str = ""
    """The PCIe root complex above the NIC, as for a GPU; empty: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """The place of a machine in its rack: nvmlDeviceGetPlatformInfo, Blackwell and later."""

    chassis: str
    """The chassis' serial number, or the rack's GUID as hexadecimal digits from older drivers."""
    slot: int
    """Counted with the switches of the rack."""
    tray: int
    """Counted without them."""
    host: int
    """The number of the machine in its slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A value that the node agent could not read."""

    what: str
    why: str
    gpus: tuple[int, ...] = ()
    """The GPUs that it is about; empty: the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTopology:
    """The node agent's document about one node."""

    gpus: tuple[Gpu, ...] = ()
    links: Links = field(default_factory=Links)
    fabric: Fabric | None = None
    nics: tuple[Nic, ...] = ()
    platform: Platform | None = None
    mig_offers: tuple[MigOffer, ...] = ()
    mig_instances: tuple[MigInstance, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    observed: str = ""
    """The time of its last change, RFC 3339; empty: unknown. The heartbeat Lease shows whether it is fresh."""


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """A node's taint. An absent value is the empty one, as the scheduler compares them."""

    key: str
    value: str
    effect: str

    def as_dict(self) -> dict[str, str]:
        """Return the taint as in a Node and in CEL; always with a value."""
        return {"key": self.key, "value": self.value, "effect": self.effect}


Transient: TypeAlias = Literal[
    "", "stale", "not ready", "cordoned", "MIG reconfiguring", "unhealthy GPU", "quarantined", "leaving"
]
"""Why a node's present offer will not last; empty: it will. Few values, because they split classes."""


# https://kubernetes.io/docs/reference/labels-annotations-taints/: set by the node controller and the cloud controller,
# and removed again. Then the cluster autoscaler's (cluster-autoscaler/utils/taints) and Karpenter's
# (karpenter.sh/docs).
PASSING_TAINTS: Mapping[str, Transient] = {
    "node.kubernetes.io/not-ready": "not ready",
    "node.kubernetes.io/unreachable": "not ready",
    "node.kubernetes.io/network-unavailable": "not ready",
    "node.kubernetes.io/memory-pressure": "not ready",
    "node.kubernetes.io/disk-pressure": "not ready",
    "node.kubernetes.io/pid-pressure": "not ready",
    "node.cloudprovider.kubernetes.io/uninitialized": "not ready",
    "node.kubernetes.io/unschedulable": "cordoned",
    "node.cloudprovider.kubernetes.io/shutdown": "leaving",
    "node.kubernetes.io/out-of-service": "leaving",
    "ToBeDeletedByClusterAutoscaler": "leaving",
    "karpenter.sh/disrupted": "leaving",
}
"""Taints that show a node's state and not its kind, with the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Node together with its topology document, if it has one."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    """Amounts of the recognised device resources (``devices.resources``); none of zero."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """Likewise, including unhealthy devices."""
    unrecognised: frozenset[str] = frozenset()
    """Further extended resources of the node, with names that no table knows."""
    topology: NodeTopology | None = None
    transient: Transient = ""

    @property
    def durable(self) -> Mapping[str, int]:
        """The amounts of a healthy node: allocatable, or for a transient node the larger of that and capacity."""
        if not self.transient:
            return self.allocatable
        names = self.allocatable.keys() | self.capacity.keys()
        return {name: max(self.allocatable.get(name, 0), self.capacity.get(name, 0)) for name in names}

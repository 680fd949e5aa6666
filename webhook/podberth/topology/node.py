"""The data classes that describe a node.

The classes have the data of a Node and of its topology document.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

Vendor: TypeAlias = Literal["nvidia", "amd"]
"""The vendor of a GPU."""

LinkShape: TypeAlias = Literal["full-mesh", "islands", "none", "unknown"]
"""The shape of the links between a node's GPUs: all with all, in groups, none, or unknown."""

NicKind: TypeAlias = Literal["infiniband", "roce"]
"""The protocol of an RDMA device: InfiniBand, or RoCE if the link layer of the device's port is Ethernet."""


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
    """The device half of the PCI id as four upper-case hexadecimal digits; empty: unknown."""
    memory_mib: int = 0
    """MiB of memory; 0: unknown."""
    numa_node: int | None = None
    """The NUMA node closest to the GPU; None: unknown, or the machine has no NUMA."""
    pcie_root: str = ""
    """The PCIe root complex of the GPU as sysfs names it: ``pci0000:17``; empty: unknown."""
    mig_enabled: bool = False
    mig_pending: bool = False
    """Whether the GPU will be in MIG mode after its next reset; differs from ``mig_enabled`` if a reset is pending."""
    problem: str = ""
    """The reason why the GPU is unhealthy (an XID, row remapping, a recovery action); empty: the GPU is healthy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The links between the GPUs of one node: NVLink, or AMD's XGMI."""

    shape: LinkShape = "unknown"
    domains: tuple[tuple[int, ...], ...] = ()
    """Disjoint groups of two or more GPU indexes; all GPUs of a group are linked with each other."""
    levels: tuple[tuple[str, ...], ...] = ()
    """The matrix that ``nvidia-smi topo -m`` prints, in the order of ``gpus`` (X, NV18, PIX, PHB, NODE, SYS); empty:
    not read.

    A cell is ``?`` if the path is unknown, and ``XGMI`` for AMD's links, which are not counted.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """The NVLink domain across nodes that a GPU has registered with (nvmlDeviceGetGpuFabricInfo)."""

    cluster_uuid: str
    clique: int

    @property
    def label(self) -> str:
        """The value of GFD's label ``nvidia.com/gpu.clique`` for the NVLink domain."""
        return f"{self.cluster_uuid}.{self.clique}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigOffer:
    """A MIG profile that the node's GPUs of one PCI id offer."""

    profile: str
    pci_id: str = ""
    max_instances: int = 0
    """The number of instances that one whole GPU has if all instances are of this profile; 0: unknown."""
    memory_mib: int = 0
    """MiB of memory of one instance; 0: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigInstance:
    """A MIG GPU instance that exists on a GPU."""

    gpu: int
    profile: str
    start: int | None = None
    """The first memory slice of the instance; None: the agent may not read placements."""
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """An RDMA device (NIC). A pod should use a NIC close to the pod's GPU."""

    name: str
    """The kernel's name: ``mlx5_0``."""
    kind: NicKind
    numa_node: int | None = None
    """The NUMA node closest to the NIC; None: unknown, or the machine has no NUMA."""
    pcie_root: str = ""
    """The PCIe root complex of the NIC as sysfs names it: ``pci0000:17``; empty: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """The location of a machine in its rack (nvmlDeviceGetPlatformInfo, Blackwell and later)."""

    chassis: str
    """The serial number of the chassis, or from older drivers the rack's GUID as hexadecimal digits."""
    slot: int
    """The slot's number in the rack; switches are counted."""
    tray: int
    """The tray's number in the rack; switches are not counted."""
    host: int
    """The number of the machine in the slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A value that the node agent could not read."""

    what: str
    why: str
    gpus: tuple[int, ...] = ()
    """The indexes of the GPUs whose value could not be read; empty: the value is the node's."""


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class NodeTopology:
    """The topology document of one node, as the node's agent publishes the document."""

    gpus: tuple[Gpu, ...] = ()
    links: Links = field(default_factory=Links)
    fabric: Fabric | None = None
    nics: tuple[Nic, ...] = ()
    platform: Platform | None = None
    mig_offers: tuple[MigOffer, ...] = ()
    mig_instances: tuple[MigInstance, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    observed: str = ""
    """The time when the document last changed, RFC 3339; empty: unknown. Only the heartbeat Lease shows freshness."""


class Taint(NamedTuple):
    """A taint of a node. An absent value is stored as an empty value, as in the scheduler.

    Indexes hash the taints of every class of nodes, and a tuple takes a tenth of the time of a dataclass.
    """

    key: str
    value: str
    effect: str


Transient: TypeAlias = Literal[
    "", "stale", "not ready", "cordoned", "MIG reconfiguring", "unhealthy GPU", "quarantined", "leaving"
]
"""The reason why a node's current resources are temporary; empty: the resources are not temporary. Nodes with different
reasons are in different classes.
"""


# https://kubernetes.io/docs/reference/labels-annotations-taints/: set by the node controller and the cloud controller,
# and removed again. Then the cluster autoscaler's (cluster-autoscaler/utils/taints) and Karpenter's
# (karpenter.sh/docs). Then those of a node that starts, which Karpenter (sigs.k8s.io/karpenter pkg/apis/v1/taints.go),
# Cluster API (kubernetes-sigs/cluster-api NodeUninitializedTaint), Cilium (docs.cilium.io, "Considerations on Node Pool
# Taints") and aws-ebs-csi-driver (pkg/driver/constants.go) remove.
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
    "karpenter.sh/unregistered": "not ready",
    "node.cluster.x-k8s.io/uninitialized": "not ready",
    "node.cilium.io/agent-not-ready": "not ready",
    "ebs.csi.aws.com/agent-not-ready": "not ready",
}
"""Taints that show a temporary state of a node, each with the reason (``Transient``) that the taint stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Node object together with the node's topology document, if there is one."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    """Allocatable amounts of the accelerator resources in ``devices.resources``; amounts of zero are left out."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """Capacity of the same resources, unhealthy devices included; amounts of zero are left out."""
    unrecognised: frozenset[str] = frozenset()
    """The names of the node's other extended resources, which podberth does not know."""
    topology: NodeTopology | None = None
    transient: Transient = ""

    @property
    def durable(self) -> Mapping[str, int]:
        """The amounts of resources that the node offers when the node is healthy.

        For a transient node, the amount is the larger of allocatable and capacity. For any other node, the amount is
        allocatable.
        """
        if not self.transient:
            return self.allocatable
        names = self.allocatable.keys() | self.capacity.keys()
        return {name: max(self.allocatable.get(name, 0), self.capacity.get(name, 0)) for name in names}

"""The raw readings of a node's devices, with the names and values of the vendor's library.

The node agent fills these classes from the vendor's library. A value that could not be read is None, and
``Observation.unseen`` then has the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .node import Nic, Unseen, Vendor

PeerKind: TypeAlias = Literal["gpu", "switch", "other"]
"""The kind of device at the other end of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PciPlace:
    """The position of a PCI device, as in sysfs."""

    numa_node: int | None
    path: tuple[str, ...]
    """The path from the root complex (``pci0000:17``) over the bridges to the device; empty: unknown."""

    @property
    def root(self) -> str:
        """The name of the PCIe root complex; empty: unknown."""
        return self.path[0] if self.path else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedLink:
    """An active link of a GPU: an NVLink, or an XGMI link of AMD."""

    peer: PeerKind
    address: str = ""
    """The PCI address of the GPU at the other end; empty if the device at the other end is no GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedFabric:
    """The result of nvmlDeviceGetGpuFabricInfo for one GPU."""

    state: int
    """The state of the registration: 0 not supported, 1 not started, 2 in progress, 3 completed."""
    status: int = 0
    """The nvmlReturn_t of the registration; the value has a meaning only if the registration is completed."""
    cluster_uuid: bytes = bytes(16)
    clique: int = 0
    unhealthy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPlatform:
    """The result of nvmlDeviceGetPlatformInfo; ``chassis`` is raw bytes, because it may be no text."""

    chassis: bytes
    slot: int
    tray: int
    host: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedProfile:
    """A MIG GPU instance profile that the driver offers; ``name`` has the driver's format: ``MIG 1g.10gb+me``."""

    name: str
    instances: int
    memory_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedInstance:
    """A MIG GPU instance, as read from a MIG device of the instance.

    ``name`` is the name of the MIG device, with the profile at the end.
    """

    id: int
    name: str
    placement: tuple[int, int] | None = None
    """The first memory slice and the number of memory slices; None: the agent may not read placements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The health of a GPU, as reported by the driver; None stands for an unknown value."""

    faults: tuple[str, ...] = ()
    """The errors of driver calls that show a fault of the GPU: ``gpu is lost``."""
    recovery_action: int | None = None
    """The nvmlDeviceGpuRecoveryAction_t that the driver recommends; 0: none."""
    remap: tuple[bool, bool] | None = None
    """The remapping of memory rows (pages on older GPUs): whether one is pending until the next reset, and whether one
    failed.
    """
    unrepairable_memory: bool | None = None
    uncorrectable_errors: int | None = None
    """The number of uncorrectable ECC errors since the driver was loaded."""
    xids: tuple[int, ...] = ()
    """The critical XIDs that the reader has received since the driver was loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedGpu:
    """The readings of one GPU."""

    index: int
    vendor: Vendor = "nvidia"
    uuid: str = ""
    product: str = ""
    address: str = ""
    """The PCI address in sysfs' format: ``0000:17:00.0``."""
    pci_id: str = ""
    memory_mib: int = 0
    mig_mode: tuple[bool, bool] | None = None
    """Whether the GPU is in MIG mode now, and after the next reset; None: no MIG, or not readable."""
    profiles: tuple[ObservedProfile, ...] = ()
    instances: tuple[ObservedInstance, ...] = ()
    links: tuple[ObservedLink, ...] | None = ()
    """The active links of the GPU; None: the links could not be read."""
    fabric: ObservedFabric | None = None
    platform: ObservedPlatform | None = None
    health: Health = field(default_factory=Health)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPair:
    """The path between two GPUs, as reported by the vendor's library."""

    level: int | None = None
    """The nvmlGpuTopologyLevel_t of the path: 0, 10 … 50."""
    linked: bool | None = None
    """Whether the GPUs can reach each other over NVLink (nvmlDeviceGetP2PStatus, the NVLINK index)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All readings of a node at one time."""

    gpus: tuple[ObservedGpu, ...] = ()
    hidden: int = 0
    """The number of GPUs that the driver has and that its library does not list."""
    pairs: Mapping[tuple[int, int], ObservedPair] = field(default_factory=dict)
    """The pairs of GPUs by the two indexes of the GPUs, the smaller index first."""
    places: Mapping[str, PciPlace] = field(default_factory=dict)
    """The positions of PCI devices by PCI address."""
    nics: tuple[Nic, ...] = ()
    unseen: tuple[Unseen, ...] = ()

"""The readings of a node, before anything is derived from them: values only, in the terms of the vendor's library.

A reader (``podberth.agent``) fills these in; ``derive`` interprets them. None stands for "could not be read", and then
``Observation.unseen`` has the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .model import NicKind, Unseen, Vendor

PeerKind: TypeAlias = Literal["gpu", "switch", "other"]
"""The device at the far end of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PciPlace:
    """The place of a PCI device in sysfs."""

    numa_node: int | None
    path: tuple[str, ...]
    """The path from the root complex (``pci0000:17``) over the bridges to the device itself; empty: unknown."""

    @property
    def root(self) -> str:
        """The root complex; empty: unknown."""
        return self.path[0] if self.path else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedLink:
    """An active link of a GPU: one NVLink, or one of AMD's XGMI."""

    peer: PeerKind
    address: str = ""
    """The peer's PCI address, if it is a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedFabric:
    """nvmlDeviceGetGpuFabricInfo of one GPU."""

    state: int
    """0 not supported, 1 not started, 2 in progress, 3 completed."""
    status: int = 0
    """An nvmlReturn_t, of a completed registration only."""
    cluster_uuid: bytes = bytes(16)
    clique: int = 0
    unhealthy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPlatform:
    """nvmlDeviceGetPlatformInfo: raw bytes, because none of them is text for certain."""

    chassis: bytes
    slot: int
    tray: int
    host: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedProfile:
    """A GPU instance profile that the driver offers; ``name`` in its format: ``MIG 1g.10gb+me``."""

    name: str
    instances: int
    memory_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedInstance:
    """A GPU instance, known by one of its MIG devices; ``name`` is the device's, with the profile at its end."""

    id: int
    name: str
    placement: tuple[int, int] | None = None
    """Start and size in memory slices; None: may not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The health of a GPU according to itself; None: unknown."""

    faults: tuple[str, ...] = ()
    """Errors of calls that show a state of the GPU: ``gpu is lost``."""
    recovery_action: int | None = None
    """nvmlDeviceGpuRecoveryAction_t; 0: none."""
    remap: tuple[bool, bool] | None = None
    """Remapping of memory rows, or of pages on older GPUs: whether one waits for the next reset, and whether one
    failed."""
    unrepairable_memory: bool | None = None
    uncorrectable_errors: int | None = None
    """ECC errors since the driver was loaded."""
    xids: tuple[int, ...] = ()
    """Critical ones since the driver was loaded, as far as the reader was listening."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedGpu:
    """One GPU."""

    index: int
    vendor: Vendor = "nvidia"
    uuid: str = ""
    product: str = ""
    address: str = ""
    """The address on the PCI bus in sysfs' format: ``0000:17:00.0``."""
    pci_id: str = ""
    memory_mib: int = 0
    mig_mode: tuple[bool, bool] | None = None
    """Current and pending; None: it has none, or it could not be read."""
    profiles: tuple[ObservedProfile, ...] = ()
    instances: tuple[ObservedInstance, ...] = ()
    links: tuple[ObservedLink, ...] | None = ()
    """The active ones; None: could not be read."""
    fabric: ObservedFabric | None = None
    platform: ObservedPlatform | None = None
    health: Health = field(default_factory=Health)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPair:
    """The library's data about two GPUs."""

    level: int | None = None
    """nvmlGpuTopologyLevel_t: 0, 10 … 50."""
    linked: bool | None = None
    """Whether they can reach each other over NVLink (nvmlDeviceGetP2PStatus, the NVLINK index)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedNic:
    """An RDMA device."""

    name: str
    kind: NicKind
    place: PciPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A node according to its readers at one time."""

    gpus: tuple[ObservedGpu, ...] = ()
    pairs: Mapping[tuple[int, int], ObservedPair] = field(default_factory=dict)
    """By two indexes, the smaller first."""
    places: Mapping[str, PciPlace] = field(default_factory=dict)
    """By PCI address."""
    nics: tuple[ObservedNic, ...] = ()
    unseen: tuple[Unseen, ...] = ()

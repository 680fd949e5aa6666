"""What the GPUs of a node do at one time: values only. None of it is in the node's document, for it never rests.

None stands for "could not be read, or there is no such thing"; what could not be read is in ``Usage.unseen`` too.
"""

from dataclasses import dataclass

from .model import NodeTopology, Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceUsage:
    """One MIG device."""

    uuid: str
    """As the driver spells it: ``MIG-`` and a UUID."""
    gpu_instance: int
    """The driver's id of the GPU instance that it is in."""
    profile: str
    """As the driver spells it: ``1g.10gb``, or ``1c.3g.40gb`` of a compute instance that has only a part of it."""
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUsage:
    """One GPU."""

    index: int
    minor: int | None = None
    """The N of ``/dev/nvidiaN``."""
    address: str = ""
    """On the PCI bus, as sysfs spells it: ``0000:17:00.0``."""
    utilization: float | None = None
    """The share of the last moment (NVIDIA: a second or less) in which anything ran on it, 0 to 1."""
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    instances: tuple[InstanceUsage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """All GPUs of a node."""

    gpus: tuple[GpuUsage, ...] = ()
    unseen: tuple[Unseen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the agent saw in one look at its devices."""

    topology: NodeTopology
    usage: Usage

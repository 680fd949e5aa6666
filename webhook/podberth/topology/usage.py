"""The use of a node's GPUs at one time: values only. The node's document has none of it: it always changes.

None stands for "could not be read, or does not exist"; unreadable values are in ``Usage.unseen`` too.
"""

from dataclasses import dataclass

from .model import NodeTopology, Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceUsage:
    """One MIG device."""

    uuid: str
    """The driver's format: ``MIG-`` and a UUID."""
    gpu_instance: int
    """The driver's id of its GPU instance."""
    profile: str
    """The driver's format: ``1g.10gb``, or ``1c.3g.40gb`` for a compute instance that has only a part of it."""
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUsage:
    """One GPU."""

    index: int
    minor: int | None = None
    """The N of ``/dev/nvidiaN``."""
    address: str = ""
    """The address on the PCI bus in sysfs' format: ``0000:17:00.0``."""
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
    """One reading of the agent's devices."""

    topology: NodeTopology
    usage: Usage

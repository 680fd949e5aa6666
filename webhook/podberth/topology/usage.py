"""The use of a node's GPUs at one time, and the containers that hold each.

The node's document has none of it, because it always changes. None stands for "could not be read, or does not exist";
unreadable values are in ``Usage.unseen`` too. The kubelet lists device ids: their GPUs are found here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..devices.device_ids import DeviceName
from ..devices.resources import COUNTED_KINDS, recognise, recognise_class
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One device that a container was given, according to the kubelet."""

    namespace: str
    pod: str
    container: str
    resource: str
    """The extended resource, or the DRA driver that allocated the device to a claim."""
    device: DeviceName | None
    """None: its name has no known format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A container with a GPU, or a MIG device of it, that it was given."""

    gpu: int
    """The index of the GPU on its node."""
    mig_uuid: str = ""
    """Empty: the GPU itself, a share of it, or an unknown one of its MIG devices."""
    namespace: str
    pod: str
    container: str
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The containers that hold GPUs and MIG devices of one node, as far as they are known."""

    holders: Mapping[Holder, int]
    """The number of devices; above 1 where one container has several shares of one GPU."""
    unmatched: int
    """The number of held accelerators that match no GPU of this node by any known name."""

    def held(self, gpu: int, mig_uuid: str | None = None) -> bool | None:
        """Return whether a container holds a GPU, or a MIG device of it; None: an unknown device may be this one."""
        if any(holder.gpu == gpu and mig_uuid in {None, holder.mig_uuid} for holder in self.holders):
            return True
        # If a container holds a GPU by its number alone, the MIG device is unknown.
        somewhere = any(holder.gpu == gpu and not holder.mig_uuid for holder in self.holders)
        return None if self.unmatched or somewhere else False


def allocate(grants: Iterable[Grant], look: Look) -> Allocation:
    """Find the GPU of every grant; other devices (a NIC, a sound card) are skipped."""
    holders: Counter[Holder] = Counter()
    unmatched = 0
    places = _places(look)
    for grant in grants:
        device = grant.device
        # A UUID is proof enough, because a resource may have any configured name.
        if (device is None or not (device.gpu_uuid or device.mig_uuid)) and not _is_accelerator(grant.resource):
            continue
        place = places.get(device) if device is not None else None
        if place is None:
            unmatched += 1
            continue
        gpu, mig_uuid = place
        who = {"namespace": grant.namespace, "pod": grant.pod, "container": grant.container}
        holders[Holder(gpu=gpu, mig_uuid=mig_uuid, resource=grant.resource, **who)] += 1
    return Allocation(holders=holders, unmatched=unmatched)


def _is_accelerator(resource: str) -> bool:
    known = recognise(resource) or recognise_class(resource)
    return known is not None and known.kind in COUNTED_KINDS


def _places(look: Look) -> dict[DeviceName, tuple[int, str]]:
    """List every name of a device of this node, with its GPU and its MIG device's UUID or nothing."""
    uuids = {gpu.index: gpu.uuid for gpu in look.topology.gpus}
    places = {DeviceName(gpu_uuid=uuid): (index, "") for index, uuid in uuids.items() if uuid}
    for gpu in look.usage.gpus:
        if gpu.minor is not None:
            places[DeviceName(minor=gpu.minor)] = gpu.index, ""
        if gpu.address:
            places[DeviceName(pci_address=gpu.address)] = gpu.index, ""
        for one in gpu.instances:
            place = gpu.index, one.uuid
            places[DeviceName(mig_uuid=one.uuid)] = place
            places[DeviceName(gpu_uuid=uuids.get(gpu.index, ""), gpu_instance=one.gpu_instance)] = place
            places[DeviceName(minor=gpu.minor, gpu_instance=one.gpu_instance)] = place
    return places

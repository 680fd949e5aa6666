"""The current use of a node's GPUs, and the containers that hold each GPU.

The topology document does not contain the current use, because the use changes all the time. A value that is None could
not be read or does not exist; ``Usage.unseen`` lists unreadable values. The kubelet lists ids of devices, and this
module finds the GPU of each id.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..devices.device_ids import DeviceName
from ..devices.resources import COUNTED_KINDS, DEVICE_CLASSES, recognise
from .node import NodeTopology, Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceUsage:
    """The present use of one MIG device."""

    uuid: str
    """The UUID in the driver's format: ``MIG-`` and a UUID."""
    gpu_instance: int
    """The driver's id of the GPU instance that the device belongs to."""
    profile: str
    """The profile in the driver's format: ``1g.10gb``, or ``1c.3g.40gb`` for a part of a GPU instance."""
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUsage:
    """The present use of one GPU."""

    index: int
    minor: int | None = None
    """The number N in the device file ``/dev/nvidiaN``; None: unknown."""
    address: str = ""
    """The PCI address in sysfs' format: ``0000:17:00.0``."""
    utilization: float | None = None
    """The share of the last sample period (NVIDIA: a second or less) in which the GPU was busy, 0 to 1."""
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    instances: tuple[InstanceUsage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The present use of all GPUs of a node."""

    gpus: tuple[GpuUsage, ...] = ()
    unseen: tuple[Unseen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The topology and the usage of a node's devices, as read by the agent at one time."""

    topology: NodeTopology
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One device that the kubelet has given to a container."""

    namespace: str
    pod: str
    container: str
    resource: str
    """The extended resource of the device, or the DRA driver that allocated the device to a claim."""
    device: DeviceName | None
    """The device's identity, parsed from the device's id; None: the id has no known format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A container, and the GPU, or MIG device of a GPU, that the container holds."""

    gpu: int
    """The index of the GPU on its node."""
    mig_uuid: str = ""
    """The UUID of the MIG device; empty: the container holds the GPU, a part of a shared GPU, or an unknown MIG device.
    """
    namespace: str
    pod: str
    container: str
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The containers that hold GPUs or MIG devices of a node, as far as the kubelet reports them."""

    holders: Mapping[Holder, int]
    """The number of devices for each holder; above 1 if a container has several shares of one GPU."""
    unmatched: int
    """The number of held accelerators whose name matches no GPU of the node."""

    def held(self, gpu: int, mig_uuid: str | None = None) -> bool | None:
        """Return whether a container holds the GPU ``gpu``, or the MIG device ``mig_uuid`` of the GPU.

        None if a container holds an unknown device, which may be that GPU or MIG device.
        """
        if any(holder.gpu == gpu and mig_uuid in {None, holder.mig_uuid} for holder in self.holders):
            return True
        # If a container holds a GPU by its number alone, the MIG device is unknown.
        somewhere = any(holder.gpu == gpu and not holder.mig_uuid for holder in self.holders)
        return None if self.unmatched or somewhere else False


def allocate(grants: Iterable[Grant], look: Look) -> Allocation:
    """Return the known holders of accelerators, from the devices that the kubelet has given out.

    Other devices (a NIC, a sound card) are skipped.
    """
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
    known = recognise(resource) or DEVICE_CLASSES.get(resource)
    return known is not None and known.kind in COUNTED_KINDS


def _places(look: Look) -> dict[DeviceName, tuple[int, str]]:
    """Return a mapping from each known name of a device of the node to (index of the GPU, MIG device's UUID or "")."""
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

"""Reads AMD's GPUs from the topology that the kernel driver (KFD) publishes in sysfs.

Reading sysfs needs no library and no privilege, and gives no events. The layout is described in Linux,
drivers/gpu/drm/amd/amdkfd/kfd_topology.c. There is a folder for each CPU and each GPU, and for each part of a
partitioned GPU (CPX). The parts of a GPU differ only in the function number of the PCI address, and are reported as one
GPU.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import DeviceError
from ..topology.node import Unseen
from ..topology.observation import Health, Observation, ObservedGpu, ObservedLink
from ..topology.usage import GpuUsage, Usage
from .sysfs import Sysfs, read_text

_NODES = "class/kfd/kfd/topology/nodes"
_XGMI = 11  # include/uapi/linux/kfd_sysfs.h, HSA_IOLINKTYPE_XGMI; 2 is PCIe

Properties = Mapping[str, int]


class KfdReader:
    """Reads AMD's GPUs from the topology of the kernel's compute driver."""

    def __init__(self, sysfs: Sysfs) -> None:
        """Create the reader, if the driver is loaded.

        Raises:
            DeviceError: the driver is not loaded, or has no GPU.
        """
        self._sysfs = sysfs
        self.read()

    def read(self) -> Observation:
        """Read all GPUs now.

        Raises:
            DeviceError: the driver is gone, or lists no GPU, as at first when the driver is loaded again.
        """
        root = self._sysfs.root / _NODES
        try:
            numbers = sorted(int(entry.name) for entry in root.iterdir() if entry.name.isdigit())
        except OSError as error:  # also if the driver goes while the folder is listed
            raise DeviceError(f"AMD: no {root}; load the kernel module amdgpu") from error
        nodes = {number: _properties(root / str(number) / "properties") for number in numbers}
        addresses = {number: _address(node) for number, node in nodes.items() if node and node.get("simd_count")}
        parts: dict[str, list[int]] = {}
        for number, address in addresses.items():
            parts.setdefault(address, []).append(number)
        if not parts:
            raise DeviceError(f"AMD: no GPU in {root}; let the container have /dev/kfd and /dev/dri")
        gpus = []
        for index, (address, members) in enumerate(parts.items()):
            first = nodes[members[0]] or {}
            peers = {addresses.get(to, address) for member in members for to in _xgmi(root / str(member))} - {address}
            gpus.append(self._gpu(index, address, first, sorted(peers)))
        # A container without the device may not read its properties (kfd_topology.c asks the device cgroup).
        hidden = any(node is None for node in nodes.values())
        unseen = (Unseen(what="GPU", why="its KFD properties need access to the device"),) if hidden else ()
        return Observation(gpus=tuple(gpus), unseen=unseen)

    def usage(self, seen: Observation) -> Usage:
        """Return the utilization and the memory of the GPUs in the observation ``seen``, read now.

        The parts of a partitioned GPU count as one GPU.
        """
        return Usage(gpus=tuple(self._usage(gpu.index, gpu.address) for gpu in seen.gpus))

    def wait(self, seconds: float) -> bool:
        """Sleep for ``seconds`` and return False: sysfs notifies nobody of a change."""
        time.sleep(seconds)
        return False

    def close(self) -> None:
        """Do nothing: no driver and no file is open."""

    def _gpu(self, index: int, address: str, node: Properties, peers: list[str]) -> ObservedGpu:
        device = self._sysfs.root / "bus/pci/devices" / address
        return ObservedGpu(
            index=index,
            vendor="amd",
            uuid=f"GPU-{node['unique_id']:016x}" if node.get("unique_id") else "",
            product=read_text(device / "product_name") or "",
            address=address,
            pci_id=f"{node.get('device_id', 0):04X}",
            memory_mib=(_number(device / "mem_info_vram_total") or 0) >> 20,
            links=tuple(ObservedLink(peer="gpu", address=peer) for peer in peers),
            health=Health(uncorrectable_errors=_uncorrectable(read_text(device / "ras/umc_err_count"))),
        )

    def _usage(self, index: int, address: str) -> GpuUsage:
        # https://docs.kernel.org/gpu/amdgpu/thermal.html and .../driver-misc.html; a model may lack any of them
        device = self._sysfs.root / "bus/pci/devices" / address
        busy = _number(device / "gpu_busy_percent")
        return GpuUsage(
            index=index,
            address=address,
            utilization=None if busy is None else busy / 100,
            memory_used_bytes=_number(device / "mem_info_vram_used"),
            memory_total_bytes=_number(device / "mem_info_vram_total"),
        )


def _number(file: Path) -> int | None:
    """Return the number in a sysfs file; None if the file cannot be read or has no number."""
    text = read_text(file) or ""
    return int(text) if text.isascii() and text.isdigit() else None


def _properties(file: Path) -> Properties | None:
    """Return the names and numbers in a file of the KFD topology; None if the file cannot be read or is empty."""
    text = read_text(file)
    pairs = (line.partition(" ") for line in (text or "").splitlines())
    return {name: int(value) for name, _, value in pairs if value.isdigit()} or None


def _address(node: Properties) -> str:
    """Return the PCI address of a GPU in the format of sysfs.

    The function number is always 0, because function numbers only distinguish the parts of one GPU.
    """
    location = node.get("location_id", 0)
    return f"{node.get('domain', 0):04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.0"


def _xgmi(node: Path) -> Iterator[int]:
    """Yield the numbers of the KFD nodes to which the KFD node in the folder ``node`` is linked by xGMI."""
    for file in sorted(node.glob("io_links/*/properties")):
        link = _properties(file) or {}
        if link.get("type") == _XGMI and "node_to" in link:
            yield link["node_to"]


def _uncorrectable(text: str | None) -> int | None:
    """Return the number of uncorrectable errors, from the line ``ue: 0``; None if there is no such line."""
    counts = dict(line.split(": ", 1) for line in (text or "").splitlines() if ": " in line)
    errors = counts.get("ue", "")
    return int(errors) if errors.isascii() and errors.isdigit() else None

"""Reads from sysfs where PCI devices are attached, and which RDMA devices the node has.

Everything read here is world-readable. sysfs is the only source of a GPU's NUMA node, because NVML's own call answers
only if the GPU itself is a NUMA node (Grace).

https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci and .../stable/sysfs-class-infiniband
"""

import re
from pathlib import Path

from ..topology.node import Nic, NicKind
from ..topology.observation import PciPlace

_ROOT_COMPLEX = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_LINK_LAYERS: dict[str, NicKind] = {"InfiniBand": "infiniband", "Ethernet": "roce"}


class Sysfs:
    """Reads a sysfs that is mounted at ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def has_pci(self) -> bool:
        """Return whether sysfs shows any PCI devices; some sandboxes hide all of them."""
        return (self.root / "bus/pci/devices").is_dir()

    def place(self, address: str) -> PciPlace | None:
        """Return the position of a device on the PCI bus; None if there is no device at ``address`` (0000:17:00.0)."""
        device = self.root / "bus/pci/devices" / address
        if not address or not device.is_dir():
            return None
        return _place(device)

    def bound_to(self, driver: str) -> frozenset[str]:
        """Return the addresses of the PCI devices that are bound to a kernel driver, except virtual functions."""
        entries = _entries(self.root / "bus/pci/drivers" / driver)
        return frozenset(
            entry.name for entry in entries if _ADDRESS.fullmatch(entry.name) and not (entry / "physfn").exists()
        )

    def nics(self) -> tuple[Nic, ...]:
        """Return the node's InfiniBand and RoCE devices, except virtual functions, which are separate resources."""
        found = []
        for entry in _entries(self.root / "class/infiniband"):
            device = entry / "device"
            kind = _LINK_LAYERS.get(read_text(entry / "ports/1/link_layer") or "")
            if kind is not None and device.is_dir() and not (device / "physfn").exists():
                place = _place(device)
                found.append(Nic(name=entry.name, kind=kind, numa_node=place.numa_node, pcie_root=place.root))
        return tuple(found)


def read_text(file: Path) -> str | None:
    """Return the text of a sysfs file without leading and trailing white space; None if the file cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _place(device: Path) -> PciPlace:
    parts = device.resolve().parts
    start = next((number for number, part in enumerate(parts) if _ROOT_COMPLEX.fullmatch(part)), len(parts))
    node = read_text(device / "numa_node") or ""
    # -1 is "no NUMA, or the firmware does not say"
    return PciPlace(numa_node=int(node) if node.isascii() and node.isdigit() else None, path=parts[start:])


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []

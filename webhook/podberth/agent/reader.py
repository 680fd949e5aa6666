"""Defines the interface of the readers of accelerators, one for each vendor, and lists the readers.

A reader calls one vendor's driver and reports in the types of ``topology.observation``. A reader never guesses, and an
unreadable part never makes the whole reading fail: unreadable parts are named in the observation's ``unseen``. A
DeviceError is raised only if the driver does not answer at all.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from ..errors import DeviceError, without_extra
from ..topology.node import Unseen, Vendor
from ..topology.observation import Observation
from ..topology.usage import Usage
from .kfd import KfdReader
from .sysfs import Sysfs


class Reader(Protocol):
    """Reads one vendor's accelerators on the node."""

    def read(self) -> Observation:
        """Read all accelerators now.

        Raises:
            DeviceError: the driver does not answer.
        """

    def usage(self, seen: Observation) -> Usage:
        """Return the usage of the accelerators in the observation ``seen``, read now.

        Raises:
            DeviceError: the driver no longer answers.
        """

    def wait(self, seconds: float) -> bool:
        """Wait until a device reports a change (True), or until ``seconds`` have passed (False)."""

    def close(self) -> None:
        """Close the driver."""


def _nvidia(sysfs: Sysfs) -> Reader:
    try:
        from .nvidia import NvidiaReader  # noqa: PLC0415 - its library is an extra, which AMD's nodes do not need
    except ModuleNotFoundError as error:
        raise DeviceError(f"NVIDIA: {without_extra(error, 'agent')}") from error
    return NvidiaReader(sysfs)


READERS: dict[Vendor, Callable[[Sysfs], Reader]] = {"nvidia": _nvidia, "amd": KfdReader}
"""A mapping from a vendor to the function that opens the vendor's reader.

The function raises a DeviceError if the driver cannot be opened.
"""


def open_reader(sysfs: Sysfs, vendor: Vendor | None = None) -> Reader:
    """Open the reader of ``vendor``'s accelerators; if None, the reader of the first vendor whose driver is found.

    Raises:
        DeviceError: no reader can be opened; the message has every reader's reason.
    """
    said = []
    for each in READERS if vendor is None else (vendor,):
        try:
            return READERS[each](sysfs)
        except DeviceError as error:
            said.append(str(error))
    raise DeviceError("no accelerators can be read here; " + "; ".join(said))


def located(seen: Observation, sysfs: Sysfs) -> Observation:
    """Return an observation with the PCI positions of the accelerators and of the network cards added."""
    if not sysfs.has_pci():
        return replace(seen, unseen=(*seen.unseen, Unseen(what="NUMA nodes and NICs", why="no PCI devices in sysfs")))
    places = {gpu.address: place for gpu in seen.gpus if (place := sysfs.place(gpu.address)) is not None}
    lost = tuple(gpu.index for gpu in seen.gpus if gpu.address and gpu.address not in places)
    unseen = (Unseen(what="NUMA node", why="the GPU is not in sysfs", gpus=lost),) if lost else ()
    return replace(seen, places=places, nics=sysfs.nics(), unseen=(*seen.unseen, *unseen))

"""What a reader of accelerators is, and which there are.

A reader talks to one vendor's driver and tells what it sees in the terms of ``topology.observation``. It never guesses
and never fails for a part: what it could not read it names in ``unseen``. Only a driver that does not answer at all is
a DeviceError.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from ..errors import DeviceError
from ..topology.model import Unseen, Vendor
from ..topology.observation import Observation
from ..topology.usage import Usage
from .sysfs import Sysfs


class Reader(Protocol):
    """One vendor's accelerators on this node."""

    def read(self) -> Observation:
        """Look at everything now.

        Raises:
            DeviceError: the driver does not answer.
        """
        ...

    def wait(self, seconds: float) -> bool:
        """Wait until a device says that it changed, which is True, or until the time is up."""
        ...

    def close(self) -> None:
        """Let the driver go."""
        ...


class UsageReader(Reader, Protocol):
    """A reader that also tells what the accelerators do."""

    def usage(self, seen: Observation) -> Usage:
        """Ask the accelerators of a look what they do now.

        Raises:
            DeviceError: the driver does not answer any more.
        """
        ...


def _nvidia(_sysfs: Sysfs) -> UsageReader:
    try:
        from .nvidia import NvidiaReader  # noqa: PLC0415 - its library is an extra, which AMD's nodes do not need
    except ModuleNotFoundError as error:
        raise DeviceError(f"NVIDIA: no module {error.name}; do: pip install 'podberth[agent]'") from error
    return NvidiaReader()


def _amd(sysfs: Sysfs) -> UsageReader:
    from .kfd import KfdReader  # noqa: PLC0415 - as above

    return KfdReader(sysfs)


READERS: dict[Vendor, Callable[[Sysfs], UsageReader]] = {"nvidia": _nvidia, "amd": _amd}
"""A reader for each vendor; it opens the driver, or raises a DeviceError."""


def open_reader(sysfs: Sysfs, vendor: Vendor | None = None) -> UsageReader:
    """Open the vendor's reader, or of all the first that has a driver here.

    Raises:
        DeviceError: there is none, with what each says.
    """
    said = []
    for each in READERS if vendor is None else (vendor,):
        try:
            return READERS[each](sysfs)
        except DeviceError as error:
            said.append(str(error))
    raise DeviceError("no accelerators can be read here; " + "; ".join(said))


def observe(reader: Reader, sysfs: Sysfs) -> Observation:
    """Read the accelerators, and where they and the NICs hang.

    Raises:
        DeviceError: the driver does not answer.
    """
    seen = reader.read()
    if not sysfs.has_pci():
        return replace(seen, unseen=(*seen.unseen, Unseen(what="NUMA nodes and NICs", why="no PCI devices in sysfs")))
    places = {gpu.address: place for gpu in seen.gpus if (place := sysfs.place(gpu.address)) is not None}
    lost = tuple(gpu.index for gpu in seen.gpus if gpu.address and gpu.address not in places)
    unseen = (Unseen(what="NUMA node", why="the GPU is not in sysfs", gpus=lost),) if lost else ()
    return replace(seen, places=places, nics=sysfs.nics(), unseen=(*seen.unseen, *unseen))

"""Calls NVML through nvidia-ml-py (``pynvml``), and directly if a call has no usable wrapper.

Besides this module, only ``nvidia_usage`` imports ``pynvml``. ``pynvml`` 13.615.71 has four bugs. This module avoids
each bug, with a test:

- ``NVML_P2P_CAPS_INDEX_READ`` is a tuple because of an extra comma. podberth uses a number of its own.
- A ``c_char`` field is decoded as UTF-8 up to the first NUL, which breaks the bytes of nvmlPlatformInfo_t. podberth
  takes these bytes from memory by their offset.
- ``nvmlDeviceGetUnrepairableMemoryFlag_v1`` passes a structure that starts with a version, unlike nvml.h's,
  and so always returns 0. podberth makes the call with the structure of nvml.h.
- The calls for the fabric information fill a structure of the caller's. The field ``state`` (v3) has four bytes in
  ``pynvml``; in nvml.h, it has one byte, and three bytes are padding. podberth uses only the first byte.

A function that takes the handle of a GPU raises ``pynvml.NVMLError`` if NVML refuses or fails. ``NvmlRound.ask`` makes
the call and returns None in that case, with a note of the unread facts and the reason. ``NvmlRound.ask`` raises
``Gone`` if the driver disappeared.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import pynvml

from ..errors import DeviceError
from ..topology.node import Unseen
from ..topology.observation import ObservedFabric, ObservedLink, ObservedPlatform, ObservedProfile

T = TypeVar("T")

_P2P_NVLINK = 2  # nvml.h, NVML_P2P_CAPS_INDEX_NVLINK

_XID = pynvml.nvmlEventTypeXidCriticalError
_EVENTS = (
    _XID
    | pynvml.nvmlEventTypeDoubleBitEccError
    | pynvml.nvmlEventTypeGpuUnavailableError
    | pynvml.nvmlEventTypeGpuRecoveryAction
)

_NAMES: dict[int, str] = {
    code: name.removeprefix("NVML_ERROR_").lower().replace("_", " ")
    for name, code in vars(pynvml).items()
    if name.startswith("NVML_ERROR_") and isinstance(code, int)
}

# Error codes that report a fault of the GPU.
_FAULTS = frozenset(
    {
        pynvml.NVML_ERROR_GPU_IS_LOST,
        pynvml.NVML_ERROR_RESET_REQUIRED,
        pynvml.NVML_ERROR_INSUFFICIENT_POWER,
        pynvml.NVML_ERROR_IRQ_ISSUE,
        pynvml.NVML_ERROR_CORRUPTED_INFOROM,
    }
)
# The driver is gone, or was restarted.
_GONE = frozenset(
    {
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    }
)
# Error codes that say that the GPU does not have the feature.
_NOTHING = frozenset({pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_NOT_FOUND})
_NO_SUCH = frozenset({pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_INVALID_ARGUMENT})
_NO_DEVICE = frozenset({pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_INVALID_ARGUMENT})
_WORDS = {
    pynvml.NVML_ERROR_NO_PERMISSION: "needs privilege",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "the driver is too old for it",
}

_CANNOT_START = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "found no libnvidia-ml.so.1; install the driver, or run the container with "
    "the nvidia runtime",
    # Also where a container lacks the file.
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the driver is not loaded, or /dev/nvidiactl is not here; load the kernel "
    "module nvidia, or run the container with the nvidia runtime",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "the library is of another version than the driver; start this process "
    "again, with the driver's own library",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission to open the driver; let the process open /dev/nvidiactl",
    # A file with EPERM: runc with the file in the container and not in its device cgroup.
    pynvml.NVML_ERROR_UNKNOWN: "nvmlInit: unknown; if /dev/nvidiactl is here, the device cgroup of its container "
    "forbids it: run the container with the nvidia runtime",
}


class Gone(Exception):  # noqa: N818 - a state of the driver, not a fault
    """The driver was unloaded or restarted, so every handle is invalid. The text names the NVML error."""


def _unless(codes: frozenset[int], call: Callable[..., T], *arguments: object) -> T | None:
    """Return the result of ``call(*arguments)``; None if NVML answers with an error code in ``codes``."""
    try:
        return call(*arguments)
    except pynvml.NVMLError as error:
        if int(error.value) not in codes:
            raise
    return None


def name_of(code: int) -> str:
    """Return NVML's text for an error code (nvmlReturn_t), for example ``gpu is lost``."""
    return _NAMES.get(code, f"error {code}")


class NvmlRound:
    """One series of calls to NVML, with notes about the calls that failed."""

    def __init__(self) -> None:
        self.unseen: list[Unseen] = []
        self.faults: dict[int, dict[str, None]] = {}
        """A mapping from a GPU's index to the GPU's faults, in the order in which the faults were found."""

    def ask(self, what: str, gpus: tuple[int, ...], call: Callable[..., T], *arguments: object) -> T | None:
        """Return the result of ``call(*arguments)``; None if the GPU lacks the feature or the call failed.

        ``gpus`` are the indexes of the GPUs that the call is about. A fault of a single GPU is noted in ``faults``. Any
        other failure is noted in ``unseen``, under ``what``, the name of the facts that could not be read.

        Raises:
            Gone: the driver was restarted, or does not answer any more.
        """
        try:
            return call(*arguments)
        except pynvml.NVMLError as error:
            code = int(error.value)
            why = _WORDS.get(code, f"NVML: {name_of(code)}")
        except UnicodeDecodeError:
            code, why = pynvml.NVML_SUCCESS, "is not UTF-8"
        if code in _GONE:
            raise Gone(name_of(code))
        if code in _FAULTS and len(gpus) == 1:  # of two GPUs, either may be at fault
            self.faults.setdefault(gpus[0], {})[name_of(code)] = None
        elif code not in _NOTHING:
            self.unseen.append(Unseen(what=what, why=why, gpus=gpus))
        return None


def start() -> None:
    """Load and initialise the NVML library.

    Raises:
        DeviceError: there is no driver, or the driver cannot be opened.
    """
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        code = int(error.value)
        said = _CANNOT_START.get(code, f"nvmlInit: {name_of(code)}")
        raise DeviceError(f"NVIDIA: {said}", lasting=code == pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH) from error


def stop() -> None:
    """Close the NVML library, even if the driver is gone already."""
    with suppress(pynvml.NVMLError):
        pynvml.nvmlShutdown()


def device_count() -> int:
    """Return the number of the driver's GPUs.

    Raises:
        Gone: the driver was restarted or is gone.
    """
    try:
        return int(pynvml.nvmlDeviceGetCount())
    except pynvml.NVMLError as error:
        raise Gone(name_of(int(error.value))) from error


device: Callable[[int], Any] = pynvml.nvmlDeviceGetHandleByIndex
"""Return the handle of the GPU with an index; the handle is valid until the driver restarts."""
uuid: Callable[[Any], str] = pynvml.nvmlDeviceGetUUID
"""Return a GPU's UUID, such as ``GPU-8f6d...``: the prefix ``GPU-`` and a UUID."""
product: Callable[[Any], str] = pynvml.nvmlDeviceGetName
"""Return a device's product name; a MIG device's name includes ``MIG`` and the profile."""
gpu_instance: Callable[[Any], int] = pynvml.nvmlDeviceGetGpuInstanceId
"""Return the number of the GPU instance to which a MIG device belongs."""
level: Callable[[Any, Any], int] = pynvml.nvmlDeviceGetTopologyCommonAncestor
"""Return the closest common ancestor of two GPUs in the PCI topology, as an nvmlGpuTopologyLevel_t."""
new_events: Callable[[], Any] = pynvml.nvmlEventSetCreate
"""Return a new, empty set of events; ``listen`` adds events to the set, and ``next_event`` waits for an event."""


def pci(gpu: Any) -> tuple[str, str]:
    """Return a GPU's PCI address as in sysfs (``0000:17:00.0``), and its PCI device id in hexadecimal (``2330``)."""
    info = pynvml.nvmlDeviceGetPciInfo_v3(gpu)
    return _address(info), f"{info.pciDeviceId >> 16:04X}"


def _address(info: Any) -> str:
    return f"{info.domain:04x}:{info.bus:02x}:{info.device:02x}.0"


def memory_mib(gpu: Any) -> int:
    """Return the memory of a GPU in MiB. The call needs privilege if the GPU is in MIG mode."""
    return int(pynvml.nvmlDeviceGetMemoryInfo(gpu).total) >> 20


def mig_mode(gpu: Any) -> tuple[bool, bool]:
    """Return (whether MIG mode is enabled now, whether MIG mode will be enabled after the GPU's next reset)."""
    current, pending = pynvml.nvmlDeviceGetMigMode(gpu)
    return bool(current), bool(pending)


def profiles(gpu: Any) -> tuple[ObservedProfile, ...]:
    """Return the MIG profiles that a GPU supports.

    Each profile has the maximum number of its instances on the GPU, and the memory of one instance in MiB.

    Raises:
        pynvml.NVMLError: the profiles cannot be read; a profile that the GPU lacks is left out.
    """
    found = []
    for profile in range(pynvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        # A profile that this model lacks, or that this driver has never heard of, is left out.
        info = _unless(_NO_SUCH, partial(pynvml.nvmlDeviceGetGpuInstanceProfileInfo, version=2), gpu, profile)
        if info is not None:
            found.append(ObservedProfile(name=info.name, instances=info.instanceCount, memory_mib=info.memorySizeMB))
    return tuple(found)


def mig_devices(gpu: Any) -> tuple[tuple[int, str], ...]:
    """Return, for each MIG device of a GPU, the number of the GPU instance and the product name.

    The call needs no privilege; NVML's own list of the GPU instances would need privilege.
    """
    return tuple((gpu_instance(one), product(one)) for one in mig_handles(gpu))


def mig_handles(gpu: Any) -> Iterator[Any]:
    """Yield the handles of a GPU's MIG devices; empty slots are skipped."""
    for slot in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
        one = _unless(_NO_DEVICE, pynvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu, slot)
        if one is not None:
            yield one


def placement(gpu: Any, instance: int) -> tuple[int, int]:
    """Return (first memory slice, number of memory slices) of a GPU instance. The call needs privilege."""
    info = pynvml.nvmlGpuInstanceGetInfo(pynvml.nvmlDeviceGetGpuInstanceById(gpu, instance))
    return int(info.placement.start), int(info.placement.size)


def active_links(gpu: Any) -> tuple[ObservedLink, ...]:
    """Return the NVLinks of a GPU that are up. For a link to an NVSwitch, the GPU at the far end is unknown."""
    links = range(pynvml.NVML_NVLINK_MAX_LINKS)
    return tuple(_link(gpu, link) for link in links if _unless(_NO_SUCH, pynvml.nvmlDeviceGetNvLinkState, gpu, link))


def _link(gpu: Any, link: int) -> ObservedLink:
    match pynvml.nvmlDeviceGetNvLinkRemoteDeviceType(gpu, link):
        case pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH:
            return ObservedLink(peer="switch")
        case pynvml.NVML_NVLINK_DEVICE_TYPE_GPU:
            return ObservedLink(peer="gpu", address=_address(pynvml.nvmlDeviceGetNvLinkRemotePciInfo(gpu, link)))
        case _:
            return ObservedLink(peer="other")


def linked(one: Any, other: Any) -> bool:
    """Return whether two GPUs can reach each other over NVLink."""
    return bool(pynvml.nvmlDeviceGetP2PStatus(one, other, _P2P_NVLINK) == pynvml.NVML_P2P_STATUS_OK)


def uncorrectable_errors(gpu: Any) -> int:
    """Return the number of uncorrectable ECC errors since the driver was loaded."""
    kind, since = pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
    return int(pynvml.nvmlDeviceGetTotalEccErrors(gpu, kind, since))


def remap_state(gpu: Any) -> tuple[bool, bool]:
    """Return (whether memory rows of a GPU wait to be remapped, whether a remapping has failed).

    On GPUs that retire pages instead of remapping rows, the first value says whether pages wait to be retired.
    """
    try:
        _, _, pending, failed = pynvml.nvmlDeviceGetRemappedRows(gpu)
    except pynvml.NVMLError as error:
        if int(error.value) != pynvml.NVML_ERROR_NOT_SUPPORTED:
            raise
        return bool(pynvml.nvmlDeviceGetRetiredPagesPendingStatus(gpu)), False
    return bool(pending), bool(failed)


def recovery_action(gpu: Any) -> int:
    """Return the action that would repair a GPU, as an nvmlDeviceGpuRecoveryAction_t.

    Raises:
        pynvml.NVMLError: the driver does not report the action, or is older than the NVML field for the action.
    """
    [value] = pynvml.nvmlDeviceGetFieldValues(gpu, [pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])
    if value.nvmlReturn == pynvml.NVML_ERROR_INVALID_ARGUMENT:  # the driver does not know this field
        raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    if value.nvmlReturn:
        raise pynvml.NVMLError(value.nvmlReturn)
    return int(value.value.uiVal)


class _UnrepairableMemory(ctypes.Structure):
    """The structure nvmlUnrepairableMemoryStatus_v1_t, as nvml.h declares it."""

    _fields_ = (("bUnrepairableMemory", ctypes.c_uint),)


def unrepairable_memory(gpu: Any) -> bool:
    """Return whether a GPU's memory is permanently broken.

    Raises:
        pynvml.NVMLError: the driver does not report the state, as for GPUs older than Hopper.
    """
    status = _UnrepairableMemory()
    _call("nvmlDeviceGetUnrepairableMemoryFlag_v1", gpu, ctypes.byref(status))
    return bool(status.bUnrepairableMemory)


def fabric(gpu: Any) -> ObservedFabric:
    """Return the NVLink domain of a GPU: cluster UUID, clique and state.

    The values come from nvmlDeviceGetGpuFabricInfo_v4, which lists several cliques: the first clique for unicast is
    taken. If the driver is older, the values come from nvmlDeviceGetGpuFabricInfoV.
    """
    try:
        v4 = pynvml.c_nvmlGpuFabricInfo_v4_t()
        pynvml.nvmlDeviceGetGpuFabricInfo_v4(gpu, ctypes.byref(v4))
    except pynvml.NVMLError as error:
        if int(error.value) not in {pynvml.NVML_ERROR_FUNCTION_NOT_FOUND, pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH}:
            raise
    else:
        # nvml.h: the clique of earlier versions is the first entry for unicast pointers
        unicast = [each.id for each in v4.cliques[: v4.numCliques] if each.type == 0]
        return _fabric(v4, unicast[0] if unicast else 0)
    try:
        v3 = pynvml.c_nvmlGpuFabricInfo_v3_t()
        pynvml.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(v3))
    except pynvml.NVMLError as error:
        if int(error.value) != pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
            raise
        v2 = pynvml.c_nvmlGpuFabricInfo_v2_t()
        pynvml.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(v2))
        return _fabric(v2, v2.cliqueId)
    return _fabric(v3, v3.cliqueId)


def _fabric(info: Any, clique: int) -> ObservedFabric:
    summary = getattr(info, "healthSummary", pynvml.NVML_GPU_FABRIC_HEALTH_SUMMARY_NOT_SUPPORTED)
    return ObservedFabric(
        state=info.state & 0xFF,
        status=info.status,
        cluster_uuid=bytes(info.clusterUuid),
        clique=clique,
        unhealthy=summary == pynvml.NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY,
    )


def platform(gpu: Any) -> ObservedPlatform:
    """Return the GPU's position in its rack; without a rack (H100), the chassis's serial number may be all zeros.

    Raises:
        pynvml.NVMLError: the driver does not report the position.
    """
    try:
        v2 = pynvml.c_nvmlPlatformInfo_v2_t()
        pynvml.nvmlDeviceGetPlatformInfo(gpu, ctypes.byref(v2))
    except pynvml.NVMLError as error:
        if int(error.value) != pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
            raise
        v1 = pynvml.c_nvmlPlatformInfo_v1_t()
        pynvml.nvmlDeviceGetPlatformInfo(gpu, ctypes.byref(v1))
        return _platform(v1, ("rackGuid", "chassisPhysicalSlotNumber", "computeSlotIndex", "nodeIndex"))
    return _platform(v2, ("chassisSerialNumber", "slotNumber", "trayIndex", "hostId"))


def _platform(info: Any, names: tuple[str, str, str, str]) -> ObservedPlatform:
    raw = bytes(info)
    chassis, *numbers = (raw[at.offset : at.offset + at.size] for at in (getattr(type(info), name) for name in names))
    slot, tray, host = (number[0] for number in numbers)
    return ObservedPlatform(chassis=chassis, slot=slot, tray=tray, host=host)


def listen(events: Any, gpu: Any) -> None:
    """Add a GPU's events to the set ``events``: the events that podberth reads and that the GPU supports."""
    pynvml.nvmlDeviceRegisterEvents(gpu, pynvml.nvmlDeviceGetSupportedEventTypes(gpu) & _EVENTS, events)


def next_event(events: Any, seconds: float) -> tuple[int, int] | None:
    """Wait for an event of the set ``events``; return (the number that identifies the event's GPU, the XID).

    The XID is 0 if the event is not an XID error. None if no event came within ``seconds``.

    Raises:
        Gone: the driver can no longer wait for the set of events.
    """
    try:
        event = pynvml.nvmlEventSetWait_v2(events, max(int(seconds * 1000), 1))
    except pynvml.NVMLError as error:
        if int(error.value) == pynvml.NVML_ERROR_TIMEOUT:
            return None
        raise Gone(name_of(int(error.value))) from error
    return identity(event.device), int(event.eventData) if event.eventType == _XID else 0


def free_events(events: Any) -> None:
    """Free the set ``events``, even if the driver is gone already."""
    with suppress(pynvml.NVMLError):
        pynvml.nvmlEventSetFree(events)


def identity(gpu: Any) -> int:
    """Return a number that is different for each GPU's handle, within one session with the driver."""
    return ctypes.cast(gpu, ctypes.c_void_p).value or 0


def _call(name: str, *arguments: object) -> None:
    """Call the function ``name`` of the NVML library, for which the Python module pynvml has no usable wrapper."""
    code = pynvml._nvmlGetFunctionPointer(name)(*arguments)  # noqa: SLF001 - the wrappers' own way to the library
    if code:
        raise pynvml.NVMLError(code)

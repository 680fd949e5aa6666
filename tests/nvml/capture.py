"""Calls every function of NVML that the agent calls, on the first GPU, and prints how the library answered.

    python -m nvml.capture > captures/NAME.json

An answer is a return code and, if the call succeeded, the facts that belong to the model of GPU and to the driver.
What belongs to one GPU or to one moment (UUID, bus, memory in use) is left out. A GPU instance is never asked: there is
none on a GPU without MIG mode. Nothing of the GPU is changed.
"""

import ctypes
import json
import re
import signal
import sys
import time
from collections.abc import Callable
from ctypes import byref, c_char, c_uint, c_ulonglong, c_void_p
from functools import partial
from typing import Any

import pynvml

Answers = dict[str, list[object]]
"""The return code and the facts of each call, by function and variant."""

_LINKS = (0, 1, 2, 3, 4, 5, 11, 12, 17, 18, pynvml.NVML_NVLINK_MAX_LINKS - 1, pynvml.NVML_NVLINK_MAX_LINKS)
_UUID = re.compile(rb"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SIGNAL_SECONDS = 0.05
_WAIT_MILLISECONDS = 5000
_NO_STRUCTURE = 0xFF00_0000 | 4  # a version that no structure of nvml.h has


class Library:
    """The driver's library, called as C calls it: without the wrappers of ``pynvml``."""

    def __init__(self) -> None:
        """Load the library."""
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        self.answers: Answers = {}

    def call(
        self, name: str, *arguments: Any, variant: object = "", facts: Callable[[], tuple[object, ...]] = tuple
    ) -> bool:
        """Call a function and keep its answer; return whether the call succeeded."""
        try:
            code = getattr(self._library, name)(*arguments)
        except AttributeError:
            code = pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
        self.answers[f"{name} {variant}".strip()] = [code, *(facts() if code == pynvml.NVML_SUCCESS else ())]
        return bool(code == pynvml.NVML_SUCCESS)


def capture() -> Answers:
    """Return the answers about the first GPU."""
    library = Library()
    count, gpu = c_uint(), c_void_p()
    library.call("nvmlDeviceGetCount_v2", byref(count), variant="before nvmlInit")
    library.call("nvmlShutdown", variant="before nvmlInit")
    if not library.call("nvmlInitWithFlags", 0):
        return library.answers
    library.call("nvmlDeviceGetCount_v2", byref(count))
    library.call("nvmlDeviceGetHandleByIndex_v2", count.value, byref(c_void_p()), variant="of no GPU")
    if library.call("nvmlDeviceGetHandleByIndex_v2", 0, byref(gpu)):
        for part in (_identity, _memory, _links, _fabric, _platform, _mig, _health, _events):
            part(library, gpu)
    library.call("nvmlInitWithFlags", 0, variant="again")
    library.call("nvmlShutdown", variant="of the second session")
    library.call("nvmlDeviceGetUUID", gpu, ctypes.create_string_buffer(96), 96, variant="in the first session")
    library.call("nvmlShutdown")
    library.call("nvmlDeviceGetUUID", gpu, ctypes.create_string_buffer(96), 96, variant="after nvmlShutdown")
    library.call("nvmlDeviceGetCount_v2", byref(count), variant="after nvmlShutdown")
    return library.answers


def _identity(library: Library, gpu: c_void_p) -> None:
    name, uuid = (c_char * 96)(), (c_char * 96)()
    minor, rates, info = c_uint(), pynvml.c_nvmlUtilization_t(), pynvml.nvmlPciInfo_t()
    library.call("nvmlDeviceGetName", gpu, name, 96, facts=lambda: (name.value.decode(),))
    library.call("nvmlDeviceGetUUID", gpu, uuid, 96, facts=lambda: (bool(_UUID.fullmatch(uuid.value)),))
    library.call("nvmlDeviceGetMinorNumber", gpu, byref(minor))
    library.call("nvmlDeviceGetPciInfo_v3", gpu, byref(info), facts=lambda: (f"{info.pciDeviceId:08X}",))
    library.call("nvmlDeviceGetUtilizationRates", gpu, byref(rates))


def _memory(library: Library, gpu: c_void_p) -> None:
    v1, v2 = pynvml.c_nvmlMemory_t(), pynvml.c_nvmlMemory_v2_t(version=pynvml.nvmlMemory_v2)
    library.call("nvmlDeviceGetMemoryInfo", gpu, byref(v1), facts=lambda: (v1.total >> 20,))
    library.call(
        "nvmlDeviceGetMemoryInfo_v2",
        gpu,
        byref(v2),
        facts=lambda: (
            v2.total >> 20,
            f"v1 counts what is reserved as used: {v1.used == v2.used + v2.reserved}",
            f"adds up: {v2.used + v2.free + v2.reserved == v2.total}",
        ),
    )
    _of_no_version(library, "nvmlDeviceGetMemoryInfo_v2", pynvml.c_nvmlMemory_v2_t(), gpu)


def _of_no_version(library: Library, function: str, structure: Any, *arguments: object) -> None:
    """Call a function with a structure of a version that no driver knows."""
    structure.version = _NO_STRUCTURE
    library.call(function, *arguments, byref(structure), variant="of no version")


def _links(library: Library, gpu: c_void_p) -> None:
    for link in _LINKS:
        active, kind, info = c_uint(), c_uint(), pynvml.nvmlPciInfo_t()
        library.call("nvmlDeviceGetNvLinkState", gpu, link, byref(active), variant=link, facts=_number(active))
        library.call("nvmlDeviceGetNvLinkRemoteDeviceType", gpu, link, byref(kind), variant=link, facts=_number(kind))
        library.call("nvmlDeviceGetNvLinkRemotePciInfo_v2", gpu, link, byref(info), variant=link)
    level, status = c_uint(), c_uint()
    library.call("nvmlDeviceGetTopologyCommonAncestor", gpu, gpu, byref(level), variant="of one GPU")
    library.call("nvmlDeviceGetP2PStatus", gpu, gpu, 2, byref(status), variant="of one GPU")


def _fabric(library: Library, gpu: c_void_p) -> None:
    v4 = pynvml.c_nvmlGpuFabricInfo_v4_t()
    library.call("nvmlDeviceGetGpuFabricInfo_v4", gpu, byref(v4), facts=partial(_fabric_facts, v4))
    for version, made in (("v3", pynvml.c_nvmlGpuFabricInfo_v3_t()), ("v2", pynvml.c_nvmlGpuFabricInfo_v2_t())):
        library.call(
            "nvmlDeviceGetGpuFabricInfoV",
            gpu,
            byref(made),
            variant=version,
            facts=partial(_fabric_facts, made),
        )
    _of_no_version(library, "nvmlDeviceGetGpuFabricInfoV", pynvml.c_nvmlGpuFabricInfo_v3_t(), gpu)


def _fabric_facts(info: Any) -> tuple[object, ...]:
    return info.state & 0xFF, info.status, f"reaches other machines: {any(info.clusterUuid)}"


def _platform(library: Library, gpu: c_void_p) -> None:
    for version, made in (("v2", pynvml.c_nvmlPlatformInfo_v2_t()), ("v1", pynvml.c_nvmlPlatformInfo_v1_t())):
        library.call("nvmlDeviceGetPlatformInfo", gpu, byref(made), variant=version)
    _of_no_version(library, "nvmlDeviceGetPlatformInfo", pynvml.c_nvmlPlatformInfo_v2_t(), gpu)


def _mig(library: Library, gpu: c_void_p) -> None:
    current, pending, most, own = c_uint(), c_uint(), c_uint(), c_uint()
    library.call(
        "nvmlDeviceGetMigMode",
        gpu,
        byref(current),
        byref(pending),
        facts=lambda: (current.value, pending.value),
    )
    library.call("nvmlDeviceGetMaxMigDeviceCount", gpu, byref(most), facts=_number(most))
    for slot in (0, 6, 7, 8):
        library.call("nvmlDeviceGetMigDeviceHandleByIndex", gpu, slot, byref(c_void_p()), variant=slot)
    library.call("nvmlDeviceGetGpuInstanceId", gpu, byref(own), variant="of a GPU")
    library.call("nvmlDeviceGetGpuInstanceById", gpu, 1, byref(c_void_p()))
    for profile in range(pynvml.NVML_GPU_INSTANCE_PROFILE_COUNT + 1):
        info = pynvml.c_nvmlGpuInstanceProfileInfo_v2_t()
        library.call(
            "nvmlDeviceGetGpuInstanceProfileInfoV",
            gpu,
            profile,
            byref(info),
            variant=profile,
            facts=partial(_profile_facts, info),
        )
    _of_no_version(library, "nvmlDeviceGetGpuInstanceProfileInfoV", pynvml.c_nvmlGpuInstanceProfileInfo_v2_t(), gpu, 0)


def _profile_facts(info: Any) -> tuple[object, ...]:
    return info.name, info.instanceCount, info.memorySizeMB


def _health(library: Library, gpu: c_void_p) -> None:
    fields = (pynvml.c_nvmlFieldValue_t * 2)()
    fields[0].fieldId, fields[1].fieldId = pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, 0xFFFF
    library.call(
        "nvmlDeviceGetFieldValues",
        gpu,
        2,
        byref(fields),
        facts=lambda: (fields[0].nvmlReturn, fields[0].valueType, fields[0].value.uiVal, fields[1].nvmlReturn),
    )
    rows = [c_uint() for _ in range(4)]
    library.call(
        "nvmlDeviceGetRemappedRows", gpu, *map(byref, rows), facts=lambda: tuple(row.value for row in rows[2:])
    )
    pages, flag, errors = c_uint(), c_uint(), c_ulonglong()
    library.call("nvmlDeviceGetRetiredPagesPendingStatus", gpu, byref(pages), facts=_number(pages))
    library.call("nvmlDeviceGetUnrepairableMemoryFlag_v1", gpu, byref(flag), facts=_number(flag))
    library.call(
        "nvmlDeviceGetTotalEccErrors",
        gpu,
        pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
        pynvml.NVML_VOLATILE_ECC,
        byref(errors),
        facts=_number(errors),
    )


def _events(library: Library, gpu: c_void_p) -> None:
    events, types, every, none = c_void_p(), c_ulonglong(), c_ulonglong(0xFFFF_FFFF), c_ulonglong(0)
    library.call("nvmlDeviceGetSupportedEventTypes", gpu, byref(types), facts=lambda: (f"{types.value:#x}",))
    if not library.call("nvmlEventSetCreate", byref(events)):
        return
    library.call("nvmlDeviceRegisterEvents", gpu, none, events, variant="of no type")
    library.call("nvmlDeviceRegisterEvents", gpu, every, events, variant="of more types than the supported")
    # A busy GPU changes its clocks all the time; XIDs are what the agent waits for, and a healthy GPU has none.
    xid = c_ulonglong(pynvml.nvmlEventTypeXidCriticalError)
    library.call("nvmlDeviceRegisterEvents", gpu, xid, events, variant="of XIDs")
    library.call("nvmlEventSetWait_v2", events, byref(pynvml.c_nvmlEventData_t()), 1)
    _interrupted_wait(library, events)
    library.call("nvmlEventSetFree", events)


def _interrupted_wait(library: Library, events: c_void_p) -> None:
    """Wait for an event, and get a signal instead."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    started = time.monotonic()
    # Again and again: on a busy machine the first may come before the wait has begun.
    signal.setitimer(signal.ITIMER_REAL, _SIGNAL_SECONDS, _SIGNAL_SECONDS)
    library.call(
        "nvmlEventSetWait_v2",
        events,
        byref(pynvml.c_nvmlEventData_t()),
        _WAIT_MILLISECONDS,
        variant="and a signal",
    )
    signal.setitimer(signal.ITIMER_REAL, 0)
    in_time = time.monotonic() - started < _WAIT_MILLISECONDS / 1000
    library.answers["nvmlEventSetWait_v2 and a signal"].append(f"ends at the signal: {in_time}")
    signal.signal(signal.SIGALRM, before)


def _number(value: c_uint | c_ulonglong) -> Callable[[], tuple[object, ...]]:
    return lambda: (value.value,)


if __name__ == "__main__":
    rows = [f"  {json.dumps(name)}: {json.dumps(answer)}" for name, answer in capture().items()]
    sys.stdout.write("{\n" + ",\n".join(rows) + "\n}\n")

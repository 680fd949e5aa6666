"""Reads the usage of NVIDIA's GPUs through NVML after each reading of the GPUs, in the session of ``agent.nvidia``.

Besides ``agent.nvml``, only this module imports ``pynvml``. Only the memory of a GPU in MIG mode needs privilege; the
memory of the GPU's MIG devices does not. NVML reports no utilization of a GPU in MIG mode, nor of the GPU's MIG
devices.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from collections.abc import Iterable
from typing import Any

import pynvml

from ..topology.usage import GpuUsage, InstanceUsage, Usage
from . import nvml
from .nvml import NvmlRound

_PERCENT = 100


def usage_of(addresses: Iterable[tuple[int, str]]) -> Usage:
    """Return the usage of GPUs, read now; ``addresses`` has (index in NVML, PCI address) for each GPU.

    Raises:
        Gone: the driver was restarted, or does not answer any more.
    """
    asking = NvmlRound()
    gpus = []
    for index, address in addresses:
        device = asking.ask("GPU", (index,), nvml.device, index)
        gpus.append(GpuUsage(index=index, address=address) if device is None else _gpu(asking, index, address, device))
    # A faulty GPU's problem is reported already.
    unseen = tuple(each for each in asking.unseen if not asking.faults.keys() & set(each.gpus))
    return Usage(gpus=tuple(gpus), unseen=unseen)


def _gpu(asking: NvmlRound, index: int, address: str, device: Any) -> GpuUsage:
    ask, whose = asking.ask, (index,)
    used, total = ask("memory in use", whose, _memory, device) or (None, None)
    return GpuUsage(
        index=index,
        address=address,
        minor=ask("minor number", whose, lambda gpu: int(pynvml.nvmlDeviceGetMinorNumber(gpu)), device),
        utilization=ask(
            "utilization", whose, lambda gpu: int(pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu) / _PERCENT, device
        ),
        memory_used_bytes=used,
        memory_total_bytes=total,
        instances=tuple(
            one
            for each in ask("MIG devices", whose, _mig_devices, device) or ()
            if (one := _instance(asking, index, each)) is not None
        ),
    )


def _instance(asking: NvmlRound, index: int, device: Any) -> InstanceUsage | None:
    """Return the usage of a MIG device, read now; None if the device's UUID, GPU instance or product name is unknown.

    ``index`` is the index of the device's GPU, for messages.
    """
    ask, whose = asking.ask, (index,)
    uuid = ask("MIG devices", whose, nvml.uuid, device)
    gpu_instance = ask("MIG devices", whose, nvml.gpu_instance, device)
    name = ask("MIG devices", whose, nvml.product, device)
    if uuid is None or gpu_instance is None or name is None:
        return None
    used, total = ask("memory in use of MIG devices", whose, _memory, device) or (None, None)
    return InstanceUsage(
        uuid=uuid,
        gpu_instance=gpu_instance,
        profile=name.rpartition("MIG ")[2],
        memory_used_bytes=used,
        memory_total_bytes=total,
    )


def _memory(device: Any) -> tuple[int, int]:
    """Return (used memory, total memory) of a device, in bytes.

    With drivers before R510, the memory that the driver reserves counts as used.
    """
    try:
        info = pynvml.nvmlDeviceGetMemoryInfo(device, version=pynvml.nvmlMemory_v2)
    except pynvml.NVMLError as error:
        if int(error.value) not in {pynvml.NVML_ERROR_FUNCTION_NOT_FOUND, pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH}:
            raise
        info = pynvml.nvmlDeviceGetMemoryInfo(device)
    return int(info.used), int(info.total)


def _mig_devices(gpu: Any) -> list[Any]:
    """Return the handles of a GPU's MIG devices; an empty list if the GPU is not in MIG mode."""
    return list(nvml.mig_handles(gpu)) if nvml.mig_mode(gpu)[0] else []

"""What a DRA driver brings into a cluster: DeviceClasses and ResourceSlices. The scheduler needs no more of it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Document = dict[str, Any]

GPU_DRIVER, NIC_DRIVER, CHANNEL_DRIVER = "gpu.nvidia.com", "rdma.example.com", "compute-domain.nvidia.com"
PCIE_ROOT, NUMA_NODE = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"
MEMORY_SLICES = 8
"""The memory slices of a GPU that can be cut (A100 to B200)."""


def device_class(name: str, driver: str, kind: str = "", **spec: Any) -> Document:
    """Return a class of all devices of a driver, or of those with this attribute ``type``."""
    expression = f"device.driver == '{driver}'"
    if kind:
        expression += f" && device.attributes['{driver}'].type == '{kind}'"
    selectors = [{"cel": {"expression": expression}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **spec},
    }


def resource_slice(node: str, driver: str, *roots: str, numa: tuple[int, ...] = ()) -> Document:
    """Return a node's devices of a driver, one below each of these PCIe roots; ``numa`` are their NUMA nodes."""
    prefix = driver.partition(".")[0]
    devices: list[Document] = [
        {"name": f"{prefix}-{number}", "attributes": {PCIE_ROOT: {"string": root}}} for number, root in enumerate(roots)
    ]
    for device in devices:
        device["attributes"]["type"] = {"string": prefix}
    for device, number in zip(devices, numa, strict=False):
        device["attributes"][NUMA_NODE] = {"int": number}
    return _slice(f"{node}-{prefix}", node, driver, 1, devices=devices)


def partitionable(
    node: str,
    profiles: Mapping[str, tuple[int, int, tuple[int, ...]]],
    *,
    cut: int = 1,
    whole: int = 1,
    memory_mib: int = 40960,
) -> tuple[Document, ...]:
    """Return the slices of a node with ``cut`` GPUs that can be cut and ``whole`` ones, as NVIDIA's driver says it.

    ``profiles`` are those of a GPU with (memory in MiB, memory slices of one, first memory slice of each placement).
    Devices that overlap consume the same counters of their GPU (deviceinfo.go); a GPU has ``memory_mib``.
    """
    count = cut + whole + 1
    sets = [{"name": f"gpu-{gpu}", "counters": _counters(range(MEMORY_SLICES))} for gpu in range(cut)]
    counters = _slice(f"{node}-counters", node, GPU_DRIVER, count, sharedCounters=sets)
    gpus = (
        _slice(
            f"{node}-gpu-{gpu}",
            node,
            GPU_DRIVER,
            count,
            devices=list(_partitions(gpu, profiles if gpu < cut else {}, memory_mib)),
        )
        for gpu in range(cut + whole)
    )
    return (counters, *gpus)


def allocated_claim(
    pool: str, *devices: str, pods: tuple[str, ...] = ("train-0",), driver: str = GPU_DRIVER, **result: Any
) -> Document:
    """Return a ResourceClaim that holds devices of a pool, reserved for pods; ``result`` are fields of each device."""
    results = [{"request": "r", "driver": driver, "pool": pool, "device": name, **result} for name in devices]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team", "name": "gpus"},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": name} for name in pods],
        },
    }


def _partitions(
    gpu: int, profiles: Mapping[str, tuple[int, int, tuple[int, ...]]], memory_mib: int
) -> Iterator[Document]:
    yield _device(gpu, "gpu", memory_mib, range(MEMORY_SLICES if profiles else 0))
    for profile, (memory, size, starts) in profiles.items():
        for start in starts:
            device = _device(gpu, "mig", memory, range(start, start + size), partition_name(gpu, profile, start))
            device["attributes"]["profile"] = {"string": profile}
            yield device


def partition_name(gpu: int, profile: str, start: int) -> str:
    """Return the name of the device that is an instance of a GPU at a place."""
    return f"gpu-{gpu}-mig-{profile.replace('.', '')}-{start}"


def _device(gpu: int, kind: str, memory: int, slices: Iterable[int], name: str = "") -> Document:
    consumed = _counters(slices)
    return {
        "name": name or f"gpu-{gpu}",
        "attributes": {"type": {"string": kind}},
        "capacity": {"memory": {"value": f"{memory}Mi"}},
        **({"consumesCounters": [{"counterSet": f"gpu-{gpu}", "counters": consumed}]} if consumed else {}),
    }


def _counters(slices: Iterable[int]) -> Document:
    return {f"memory-slice-{number}": {"value": "1"} for number in slices}


def _slice(name: str, node: str, driver: str, count: int, **spec: Any) -> Document:
    pool = {"name": node, "generation": 1, "resourceSliceCount": count}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": driver, "nodeName": node, "pool": pool, **spec},
    }


def attributes(slices: list[Document], node: str, attribute: str) -> dict[tuple[str, str], Document | None]:
    """Return an attribute of every device of a node, by the device's name and driver; None where it has none."""
    return {
        (device["name"], each["spec"]["driver"]): device["attributes"].get(attribute)
        for each in slices
        if each["spec"]["nodeName"] == node
        for device in each["spec"]["devices"]
    }

"""What a DRA driver brings into a cluster: DeviceClasses and ResourceSlices. The scheduler needs no more of it."""

from collections.abc import Iterable, Mapping
from typing import Any

Document = dict[str, Any]

GPU_DRIVER, NIC_DRIVER, CHANNEL_DRIVER = "gpu.nvidia.com", "rdma.example.com", "compute-domain.nvidia.com"
PCIE_ROOT, NUMA_NODE = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"


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


def partitionable(node: str, slices: Mapping[str, tuple[int, int, tuple[int, ...]]]) -> tuple[Document, Document]:
    """Return the slices of a node with two GPUs of 40 GiB, of which the first can be cut, as NVIDIA's driver says it.

    ``slices`` are profiles with (memory in MiB, memory slices of one, first memory slice of each placement). Devices
    that overlap consume the same counters of their GPU (deviceinfo.go).
    """
    counters = {f"memory-slice-{number}": {"value": "1"} for number in range(8)}
    devices = [_device("gpu-0", "gpu", 40960, range(8)), _device("gpu-1", "gpu", 40960, ())]
    for profile, (memory, size, starts) in slices.items():
        name = f"gpu-0-mig-{profile.replace('.', '')}"
        for start in starts:
            device = _device(f"{name}-{start}", "mig", memory, range(start, start + size))
            device["attributes"]["profile"] = {"string": profile}
            devices.append(device)
    sets = [{"name": "gpu-0", "counters": counters}]
    return (
        _slice(f"{node}-counters", node, GPU_DRIVER, 2, sharedCounters=sets),
        _slice(f"{node}-gpu", node, GPU_DRIVER, 2, devices=devices),
    )


def _device(name: str, kind: str, memory: int, slices: Iterable[int]) -> Document:
    consumed = {f"memory-slice-{number}": {"value": "1"} for number in slices}
    return {
        "name": name,
        "attributes": {"type": {"string": kind}},
        "capacity": {"memory": {"value": f"{memory}Mi"}},
        **({"consumesCounters": [{"counterSet": "gpu-0", "counters": consumed}]} if consumed else {}),
    }


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

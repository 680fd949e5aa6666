"""What a DRA driver brings into a cluster: DeviceClasses and ResourceSlices. The scheduler needs no more of it."""

from typing import Any

Document = dict[str, Any]

GPU_DRIVER, NIC_DRIVER, CHANNEL_DRIVER = "gpu.nvidia.com", "rdma.example.com", "compute-domain.nvidia.com"
PCIE_ROOT, NUMA_NODE = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"


def device_class(name: str, driver: str, **spec: Any) -> Document:
    """Return a class of all devices of a driver."""
    selectors = [{"cel": {"expression": f"device.driver == '{driver}'"}}]
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
    for device, number in zip(devices, numa, strict=False):
        device["attributes"][NUMA_NODE] = {"int": number}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{prefix}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def attributes(slices: list[Document], node: str, attribute: str) -> dict[tuple[str, str], Document | None]:
    """Return an attribute of every device of a node, by the device's name and driver; None where it has none."""
    return {
        (device["name"], each["spec"]["driver"]): device["attributes"].get(attribute)
        for each in slices
        if each["spec"]["nodeName"] == node
        for device in each["spec"]["devices"]
    }

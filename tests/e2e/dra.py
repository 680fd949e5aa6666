"""What a DRA driver brings into a cluster: DeviceClasses and ResourceSlices. The scheduler needs no more of it."""

from typing import Any

Document = dict[str, Any]

GPU_DRIVER, NIC_DRIVER, CHANNEL_DRIVER = "gpu.nvidia.com", "rdma.example.com", "compute-domain.nvidia.com"
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


def device_class(name: str, driver: str, **spec: Any) -> Document:
    """Return a class of all devices of a driver."""
    selectors = [{"cel": {"expression": f"device.driver == '{driver}'"}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **spec},
    }


def resource_slice(node: str, driver: str, *roots: str) -> Document:
    """Return a node's devices of a driver, one below each of these PCIe roots."""
    prefix = driver.partition(".")[0]
    devices = [
        {"name": f"{prefix}-{number}", "attributes": {PCIE_ROOT: {"string": root}}} for number, root in enumerate(roots)
    ]
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

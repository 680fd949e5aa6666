"""Parses the device ids that the kubelet hands out, to find the GPU that each id refers to.

A device plugin makes the ids, and the kubelet keeps the ids unchanged. This module reads the ids of widely used
plugins; the result for any other id is None, never an error. An id names a GPU by a UUID, a minor number or a PCI
address. ``topology.usage`` finds the node's GPU for the UUID, number or address.
"""

import re
from dataclasses import dataclass

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

# k8s-device-plugin internal/rm/device_map.go: a UUID, and for a shared device "::" and the number of its replica.
# HAMi pkg/device-plugin and Volcano's vgpu: a UUID, "-" and the number of its share.
_SHARE = r"(?:(?:::|-)[0-9]{1,6})?"
_GPU = re.compile(rf"(GPU-{_UUID}){_SHARE}")
_MIG = re.compile(rf"(MIG-{_UUID}){_SHARE}")
# Drivers before R470 name a MIG device by its GPU's UUID, its GPU instance and its compute instance.
# https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#device-enumeration
_OLD_MIG = re.compile(rf"MIG-(GPU-{_UUID})/([0-9]{{1,4}})/[0-9]{{1,4}}{_SHARE}")
# GoogleCloudPlatform/container-engine-accelerators pkg/gpu/nvidia: the file in /dev, so the number is the minor; then a
# GPU instance, then a share. dcgm-exporter reads the same (internal/pkg/transformation/kubernetes.go).
_GKE = re.compile(r"nvidia([0-9]{1,4})(?:/gi([0-9]{1,4}))?(?:/vgpu[0-9]{1,6})?")
# ROCm/k8s-device-plugin internal/pkg/plugin: the PCI address, whose function is the part of a partitioned GPU, and
# "-slice-" and the number of its replica (timeslice.go). Parts named amdgpu_xcp_N do not name their GPU.
_AMD = re.compile(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})\.[0-7](?:-slice-[0-9]{1,6})?")

# kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go, CanonicalName: by minor number. A MIG
# device is identified by its placement, which only root may read.
_NVIDIA_DRIVER = "gpu.nvidia.com"
_CLAIMED = re.compile(r"gpu-([0-9]{1,4})(?:-mig-[0-9a-z-]{1,100})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceName:
    """The parts of a device's id that name the device.

    Exactly one of the first four fields is set and names the GPU; ``gpu_instance`` names a MIG instance of that GPU.
    """

    gpu_uuid: str = ""
    mig_uuid: str = ""
    minor: int | None = None
    """The number N in the device file ``/dev/nvidiaN``, which is not NVML's index."""
    pci_address: str = ""
    """The PCI address in the format of sysfs, with function 0; empty: not known."""
    gpu_instance: int | None = None


def parse_device_id(device_id: str) -> DeviceName | None:
    """Return the device that an id from a device plugin means; None if no known plugin makes such ids.

    The function never raises an exception.
    """
    if match := _GPU.fullmatch(device_id):
        return DeviceName(gpu_uuid=match[1])
    if match := _MIG.fullmatch(device_id):
        return DeviceName(mig_uuid=match[1])
    if match := _OLD_MIG.fullmatch(device_id):
        return DeviceName(gpu_uuid=match[1], gpu_instance=int(match[2]))
    if match := _GKE.fullmatch(device_id):
        return DeviceName(minor=int(match[1]), gpu_instance=int(match[2]) if match[2] else None)
    if match := _AMD.fullmatch(device_id):
        return DeviceName(pci_address=f"{match[1]}.0")
    return None


def parse_claimed_device(driver: str, device: str) -> DeviceName | None:
    """Return the device that a DRA driver's device name means; None if the driver or the form of the name is unknown.

    The function never raises an exception.
    """
    match = _CLAIMED.fullmatch(device) if driver == _NVIDIA_DRIVER else None
    return DeviceName(minor=int(match[1])) if match else None

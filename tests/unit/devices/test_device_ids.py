"""Ids of devices as widely used plugins and drivers spell them."""

import pytest

from podberth.devices.device_ids import DeviceName, parse_claimed_device, parse_device_id

UUID = "8f6d6b1a-2f5e-4c1b-9d3e-0a1b2c3d4e5f"
GPU, MIG = f"GPU-{UUID}", f"MIG-{UUID}"


@pytest.mark.parametrize(
    ("device_id", "name"),
    [
        (GPU, DeviceName(gpu_uuid=GPU)),
        (f"{GPU}::3", DeviceName(gpu_uuid=GPU)),  # a time-slice, or a client of MPS
        (f"{GPU}-9", DeviceName(gpu_uuid=GPU)),  # HAMi, Volcano
        (MIG, DeviceName(mig_uuid=MIG)),
        (f"{MIG}::0", DeviceName(mig_uuid=MIG)),
        (f"MIG-{GPU}/7/0", DeviceName(gpu_uuid=GPU, gpu_instance=7)),
        ("nvidia0", DeviceName(minor=0)),
        ("nvidia12/gi3", DeviceName(minor=12, gpu_instance=3)),
        ("nvidia0/vgpu1", DeviceName(minor=0)),
        ("nvidia1/gi3/vgpu0", DeviceName(minor=1, gpu_instance=3)),
        ("0000:19:00.0", DeviceName(pci_address="0000:19:00.0")),
        ("0000:19:00.3", DeviceName(pci_address="0000:19:00.0")),  # a part of it
        ("0000:19:00.0-slice-2", DeviceName(pci_address="0000:19:00.0")),
    ],
)
def test_ids_that_are_known(device_id: str, name: DeviceName) -> None:
    assert parse_device_id(device_id) == name


@pytest.mark.parametrize(
    "device_id",
    ["", "0", "GPU-", f"{GPU}::", f"{GPU}::x", f" {GPU}", f"{GPU}\n", "nvidia", "nvidiactl", "nvidia٣", "amdgpu_xcp_1"],
)
def test_ids_that_say_nothing(device_id: str) -> None:
    assert parse_device_id(device_id) is None


def test_devices_of_claims_are_known_by_their_minor_number() -> None:
    assert parse_claimed_device("gpu.nvidia.com", "gpu-3") == DeviceName(minor=3)
    assert parse_claimed_device("gpu.nvidia.com", "gpu-3-mig-1g10gb-19-4") == DeviceName(minor=3)
    assert parse_claimed_device("gpu.nvidia.com", "gpu-vfio-3") is None
    assert parse_claimed_device("gpu.amd.com", "gpu-3-128") is None

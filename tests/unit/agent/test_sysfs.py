from pathlib import Path

import pytest

from nvml.scenario import Device, write_sysfs
from podberth.agent.sysfs import Sysfs
from podberth.topology.node import Nic
from podberth.topology.observation import PciPlace

SWITCHED = "pci0000:60/0000:60:01.0/0000:61:00.0/0000:62:04.0/0000:63:00.0"


def sysfs(root: Path, *devices: Device) -> Sysfs:
    return Sysfs(write_sysfs(root, devices))


def test_a_device_is_placed_by_the_way_to_it(tmp_path: Path) -> None:
    found = sysfs(tmp_path, Device(address="0000:63:00.0", numa=1, path=SWITCHED)).place("0000:63:00.0")
    assert found == PciPlace(numa_node=1, path=tuple(SWITCHED.split("/")))
    assert found.root == "pci0000:60"


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("platform/NVDA2012:00/pci0009:00/0009:00:00.0/0009:01:00.0", "pci0009:00"),  # Grace
        ("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0", "pci0000:00"),  # Intel VMD
        ("virtual/0000:01:00.0", ""),
    ],
)
def test_the_root_complex_is_the_first_on_the_way(tmp_path: Path, path: str, root: str) -> None:
    found = sysfs(tmp_path, Device(address="0000:01:00.0", path=path)).place("0000:01:00.0")
    assert found is not None
    assert found.root == root


def test_minus_one_is_no_numa_node(tmp_path: Path) -> None:
    found = sysfs(tmp_path, Device(address="0000:01:00.0", numa=None)).place("0000:01:00.0")
    assert found is not None
    assert found.numa_node is None


def test_a_missing_device_has_no_place(tmp_path: Path) -> None:
    one = sysfs(tmp_path, Device(address="0000:01:00.0"))
    assert one.place("0000:02:00.0") is None
    assert one.place("") is None


def test_nics_are_infiniband_or_roce_and_no_virtual_functions(tmp_path: Path) -> None:
    function = Device(address="0000:03:00.1", nic="mlx5_2 InfiniBand", files={"physfn/vendor": "0x15b3\n"})
    one = sysfs(
        tmp_path,
        Device(address="0000:01:00.0", numa=0, nic="mlx5_0 InfiniBand"),
        Device(address="0000:02:00.0", numa=1, nic="rocep2s0 Ethernet"),
        function,
        Device(address="0000:04:00.0", nic="odd0 Unspecified"),
    )
    at_1, at_2 = one.place("0000:01:00.0"), one.place("0000:02:00.0")
    assert at_1 is not None
    assert at_2 is not None
    assert one.nics() == (
        Nic(name="mlx5_0", kind="infiniband", numa_node=0, pcie_root=at_1.root),
        Nic(name="rocep2s0", kind="roce", numa_node=1, pcie_root=at_2.root),
    )


def test_a_machine_without_rdma_has_no_nics(tmp_path: Path) -> None:
    assert sysfs(tmp_path, Device(address="0000:01:00.0")).nics() == ()


def test_a_sandbox_without_pci_is_noticed(tmp_path: Path) -> None:
    assert not Sysfs(tmp_path).has_pci()
    assert sysfs(tmp_path).has_pci()

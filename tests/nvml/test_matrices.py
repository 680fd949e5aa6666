"""What the reader makes of machines whose ``nvidia-smi topo -m`` somebody published: the same matrix, and its shape."""

from pathlib import Path

import pytest

from podberth.topology.codec import decode_topology

from .driver import driving
from .scenario import MATRICES, Device, address, matrix, of_matrix, write_sysfs

ALL = tuple(range(8))

EXPECTED = {
    "dgx-a100": ("full-mesh", [ALL]),
    "hgx-h100": ("full-mesh", [ALL]),
    "h100-sxm-4": ("full-mesh", [(0, 1, 2, 3)]),
    "gb200-tray": ("full-mesh", [(0, 1, 2, 3)]),
    "a100-pcie-bridged": ("islands", [(0, 2), (1, 3), (4, 5), (6, 7)]),
    "a100-pcie-one-bridge": ("islands", [(0, 1)]),
    # Each GPU has a fifth neighbour in the other half; the halves are what can be handed out together.
    "dgx-1": ("islands", [(0, 1, 2, 3), (4, 5, 6, 7)]),
    "l40s-dual-socket": ("none", []),
    "pcie-switches": ("none", []),
}


def test_every_matrix_has_its_source_and_is_looked_at() -> None:
    names = {file.stem for file in MATRICES.iterdir()}
    assert names == EXPECTED.keys()
    assert all(source.startswith("https://") for name in names for source in matrix(name).sources)
    assert all(matrix(name).sources for name in names)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_reader_prints_the_published_matrix(name: str, tmp_path: Path) -> None:
    published = matrix(name)
    with driving(tmp_path, of_matrix(published)) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(n), numa=node) for n, node in enumerate(published.numa)])
        document = driver.read()
    shape, domains = EXPECTED[name]
    assert tuple(map(tuple, document["links"]["levels"])) == published.levels
    assert document["links"]["shape"] == shape
    assert [tuple(domain) for domain in document["links"].get("domains", [])] == domains
    assert tuple(gpu.get("numaNode") for gpu in document["gpus"]) == published.numa
    assert "unseen" not in document


def test_devices_of_one_numa_node_are_found_together(tmp_path: Path) -> None:
    published = matrix("hgx-h100")
    nics = [
        Device(address=f"0000:{bus:02x}:00.0", numa=numa, nic=f"mlx5_{numa} InfiniBand")
        for numa, bus in enumerate((0x80, 0x90))
    ]
    with driving(tmp_path, of_matrix(published)) as driver:
        gpus = [Device(address=address(n), numa=node) for n, node in enumerate(published.numa)]
        write_sysfs(driver.sysfs, [*gpus, *nics])
        topology = decode_topology(driver.publish())
    assert [gpu.index for gpu in topology.gpus if gpu.numa_node == 0] == [0, 1, 2, 3]
    assert [gpu.index for gpu in topology.gpus if gpu.numa_node == 1] == [4, 5, 6, 7]
    assert {nic.name: nic.numa_node for nic in topology.nics} == {"mlx5_0": 0, "mlx5_1": 1}

"""AMD's reader on topologies of real machines, in the kernel's layout."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from nvml.scenario import Device, write_sysfs
from podberth.agent.kfd import KfdReader
from podberth.agent.reader import located, open_reader
from podberth.agent.sysfs import Sysfs
from podberth.errors import DeviceError
from podberth.topology.derive import derive
from podberth.topology.node import NodeTopology, Unseen

NODES = "class/kfd/kfd/topology/nodes"
MI210 = Path(__file__).with_name("mi210.txt")

Row = Mapping[str, str]


def recorded(file: Path) -> list[Row]:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [dict(cell.split("=") for cell in line.split()) for line in lines]


def write_kfd(root: Path, rows: list[Row]) -> Path:
    for row in rows:
        folder = root / NODES / row["node"]
        folder.mkdir(parents=True)
        own = {key: value for key, value in row.items() if key not in {"node", "links"}}
        (folder / "properties").write_text("".join(f"{key} {value}\n" for key, value in own.items()))
        for number, link in enumerate(filter(None, row.get("links", "").split(","))):
            kind, to = link.split(":")
            (folder / "io_links" / str(number)).mkdir(parents=True)
            (folder / "io_links" / str(number) / "properties").write_text(f"type {kind}\nnode_to {to}\nweight 15\n")
    return root


def address(row: Row) -> str:
    return f"0000:{int(row['location_id']) >> 8:02x}:00.0"


def gpu_rows(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["simd_count"] != "0"]


def read(root: Path) -> NodeTopology:
    sysfs = Sysfs(root)
    return derive(located(KfdReader(sysfs).read(), sysfs))


def test_usage_of_gpus_is_read_from_amdgpu(tmp_path: Path) -> None:
    rows = recorded(MI210)
    write_kfd(tmp_path, rows)
    busy = {
        "gpu_busy_percent": "37\n",
        "mem_info_vram_used": f"{1 << 30}\n",
        "mem_info_vram_total": f"{65520 << 20}\n",
    }
    odd = {"gpu_busy_percent": "n/a\n", "mem_info_vram_used": "-1\n"}
    files = [busy, odd, *[{} for _ in gpu_rows(rows)[2:]]]
    write_sysfs(
        tmp_path, [Device(address=address(row), files=each) for row, each in zip(gpu_rows(rows), files, strict=True)]
    )
    reader = KfdReader(Sysfs(tmp_path))
    first, *others = reader.usage(reader.read()).gpus
    assert (first.utilization, first.memory_used_bytes, first.memory_total_bytes) == (0.37, 1 << 30, 65520 << 20)
    assert first.address == address(gpu_rows(rows)[0])
    assert [(gpu.utilization, gpu.memory_used_bytes) for gpu in others] == [(None, None)] * 7


def test_two_hives_of_mi210_are_two_islands(tmp_path: Path) -> None:
    rows = recorded(MI210)
    write_kfd(tmp_path, rows)
    files = {"mem_info_vram_total": f"{65520 << 20}\n", "product_name": "AMD Instinct MI210\n"}
    write_sysfs(
        tmp_path, [Device(address=address(row), numa=n // 4, files=files) for n, row in enumerate(gpu_rows(rows))]
    )
    topology = read(tmp_path)
    first = topology.gpus[0]
    assert len(topology.gpus) == 8
    assert (first.vendor, first.product, first.pci_id, first.memory_mib) == ("amd", "AMD Instinct MI210", "740F", 65520)
    assert (first.uuid, first.numa_node, first.pcie_root) == (f"GPU-{1801979520617338022:016x}", 0, "pci0000:63")
    assert (topology.links.shape, topology.links.domains) == ("islands", ((0, 1, 2, 3), (4, 5, 6, 7)))
    assert topology.links.levels[0] == ("X", "XGMI", "XGMI", "XGMI", "SYS", "SYS", "SYS", "SYS")
    assert topology.unseen == ()


def test_the_parts_of_a_partitioned_gpu_are_one_gpu(tmp_path: Path) -> None:
    """MI300X in CPX: eight nodes for each GPU, which differ in the function, all linked with all."""
    numbers = range(2, 18)
    rows: list[Row] = [
        {
            "node": str(number),
            "simd_count": "152",
            "device_id": "29857",
            "location_id": str(1280 + (number - 2) % 8 if number < 10 else 9984 + (number - 2) % 8),
            "links": ",".join(f"11:{to}" for to in numbers if to != number),
        }
        for number in numbers
    ]
    write_kfd(tmp_path, rows)
    write_sysfs(tmp_path, [Device(address="0000:05:00.0"), Device(address="0000:27:00.0")])
    topology = read(tmp_path)
    assert [gpu.pci_id for gpu in topology.gpus] == ["74A1", "74A1"]
    assert topology.links.levels == (("X", "XGMI"), ("XGMI", "X"))
    assert topology.links.shape == "full-mesh"


@pytest.mark.parametrize(
    ("counts", "problem"), [("ue: 0\nce: 7\n", ""), ("ue: 2\nce: 0\n", "uncorrectable ECC errors"), ("odd\n", "")]
)
def test_uncorrectable_errors_are_a_problem(tmp_path: Path, counts: str, problem: str) -> None:
    write_kfd(tmp_path, [{"node": "1", "simd_count": "416", "location_id": "256"}])
    write_sysfs(tmp_path, [Device(address="0000:01:00.0", files={"ras/umc_err_count": counts})])
    assert [gpu.problem for gpu in read(tmp_path).gpus] == [problem]


def test_a_node_whose_properties_are_hidden_is_said(tmp_path: Path) -> None:
    write_kfd(tmp_path, [{"node": "1", "simd_count": "416", "location_id": "256"}])
    (tmp_path / NODES / "2").mkdir()
    write_sysfs(tmp_path, [Device(address="0000:01:00.0")])
    topology = read(tmp_path)
    assert len(topology.gpus) == 1
    assert topology.unseen == (Unseen(what="GPU", why="its KFD properties need access to the device"),)


def test_a_machine_without_the_driver_or_without_gpus_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="load the kernel module amdgpu"):
        KfdReader(Sysfs(tmp_path))
    write_kfd(tmp_path, [{"node": "0", "simd_count": "0"}])
    with pytest.raises(DeviceError, match="no GPU"):
        KfdReader(Sysfs(tmp_path))


def test_a_driver_that_is_loaded_again_has_no_gpus_at_first_and_is_read_again_later(tmp_path: Path) -> None:
    """While amdgpu is loaded, the topology has the CPUs first; an observation of no GPU would replace the last one."""
    rows = recorded(MI210)
    reader = KfdReader(Sysfs(write_kfd(tmp_path / "sys", rows)))
    (tmp_path / "sys").rename(tmp_path / "before")
    write_kfd(tmp_path / "sys", [row for row in rows if row["simd_count"] == "0"])
    with pytest.raises(DeviceError, match="AMD: no GPU in"):
        reader.read()
    (tmp_path / "sys").rename(tmp_path / "meanwhile")
    (tmp_path / "before").rename(tmp_path / "sys")
    assert len(reader.read().gpus) == len(gpu_rows(rows))


def test_a_driver_that_goes_while_its_gpus_are_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = KfdReader(Sysfs(write_kfd(tmp_path, recorded(MI210))))

    def gone(folder: Path) -> None:
        raise FileNotFoundError(str(folder))

    monkeypatch.setattr(Path, "iterdir", gone)
    with pytest.raises(DeviceError, match="load the kernel module amdgpu"):
        reader.read()


def test_the_vendor_is_found_by_its_driver(tmp_path: Path) -> None:
    write_kfd(tmp_path, [{"node": "1", "simd_count": "416", "location_id": "256"}])
    assert isinstance(open_reader(Sysfs(tmp_path)), KfdReader)
    assert isinstance(open_reader(Sysfs(tmp_path), "amd"), KfdReader)
    with pytest.raises(DeviceError, match="NVIDIA: "):
        open_reader(Sysfs(tmp_path), "nvidia")


def test_it_has_no_events_to_wait_for(tmp_path: Path) -> None:
    write_kfd(tmp_path, [{"node": "1", "simd_count": "416", "location_id": "256"}])
    reader = KfdReader(Sysfs(tmp_path))
    assert not reader.wait(0.01)
    reader.close()

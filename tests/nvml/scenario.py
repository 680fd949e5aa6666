"""Machines for the library to play, as scenarios and as the sysfs that goes with them; and published matrices of some.

A scenario is a mapping from the keys of README.md to values, so that a test says in a line what is different.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MATRICES = Path(__file__).with_name("matrices")

Scenario = dict[str, object]

# nvml.h, nvmlGpuTopologyLevel_t
_LEVELS = {"PIX": 10, "PXB": 20, "PHB": 30, "NODE": 40, "SYS": 50}


@dataclass(frozen=True, slots=True)
class Matrix:
    """What somebody published of ``nvidia-smi topo -m``: the GPUs of it."""

    levels: tuple[tuple[str, ...], ...]
    numa: tuple[int | None, ...]
    links: str
    """``switch``, ``direct`` or ``none``: what the NV cells are, which the matrix does not show."""
    sources: tuple[str, ...]


def matrix(name: str) -> Matrix:
    """Read a published matrix."""
    lines = (MATRICES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    notes = [line.removeprefix("# ").partition(": ") for line in lines if line.startswith("#")]
    rows = [line.split()[1:] for line in lines if line.startswith("GPU")]
    return Matrix(
        levels=tuple(tuple(row[:-1]) for row in rows),
        numa=tuple(None if row[-1] == "-" else int(row[-1]) for row in rows),
        links=next(text for key, _, text in notes if key == "links"),
        sources=tuple(text for key, _, text in notes if key == "source"),
    )


def render(scenario: Mapping[str, object]) -> str:
    """Spell a scenario as the library reads it."""
    return "".join(f"{key} = {value}\n" for key, value in scenario.items())


def gpu(index: int, *, name: str = "NVIDIA L4", pciid: str = "27B8", memory: int = 23034) -> Scenario:
    """Return a GPU without links and without faults."""
    prefix = f"gpu.{index}"
    return {
        f"{prefix}.pci": address(index),
        f"{prefix}.name": name,
        f"{prefix}.pciid": pciid,
        f"{prefix}.memory": memory,
        f"{prefix}.recovery": 0,
        f"{prefix}.remap": "0 0",
        f"{prefix}.unrepairable": 0,
        f"{prefix}.ecc": 0,
    }


def address(index: int) -> str:
    """Return the PCI address that the GPU of an index has here."""
    return f"0000:{0x10 + index:02x}:00.0"


def of_matrix(given: Matrix, **product: str | int) -> Scenario:
    """Return the machine that such a matrix is of."""
    made: Scenario = {}
    for one, row in enumerate(given.levels):
        made |= gpu(one, **product)  # type: ignore[arg-type]
        counts = {other: int(cell[2:]) for other, cell in enumerate(row) if cell.startswith("NV")}
        if counts and given.links == "switch":
            made[f"gpu.{one}.links"] = f"switch*{max(counts.values())}"
        elif counts:
            made[f"gpu.{one}.links"] = " ".join(f"{other}*{count}" for other, count in counts.items())
        for other in range(one + 1, len(row)):
            made[f"pair.{one}.{other}.level"] = _LEVELS.get(row[other], _LEVELS["SYS"])
    return made


def hgx_h100() -> Scenario:
    """Return eight H100 behind NVSwitches."""
    return of_matrix(matrix("hgx-h100"), name="NVIDIA H100 80GB HBM3", pciid="2330", memory=81559)


def lone_h100() -> Scenario:
    """Return the H100 of ``captures/h100-580.159.04.json``."""
    rows = ("1g.10gb 7 9984", "2g.20gb 3 20096", "3g.40gb 2 40448", "4g.40gb 1 40448", "7g.80gb 1 81152")
    return gpu(0, name="NVIDIA H100 80GB HBM3", pciid="2330", memory=81559) | _lone_hopper(
        (*rows, "1g.10gb+me 1 9984", "1g.20gb 4 20096")
    )


def lone_h200() -> Scenario:
    """Return the H200 of ``captures/h200-580.159.04.json``."""
    rows = ("1g.18gb 7 16384", "2g.35gb 3 33280", "3g.71gb 2 71424", "4g.71gb 1 71424", "7g.141gb 1 143360")
    return gpu(0, name="NVIDIA H200", pciid="2335", memory=143771) | _lone_hopper(
        (*rows, "1g.18gb+me 1 16384", "1g.35gb 4 33280")
    )


def _lone_hopper(rows: tuple[str, ...]) -> Scenario:
    """Return the rest of a GPU that a virtual machine has to itself, its NVLinks disabled, with driver 580."""
    return {
        "driver.profiles": 17,
        "fabric.version": 3,
        "gpu.0.fabric.state": 0,
        "gpu.0.mig": "0 0",
        "gpu.0.platform": "00 0 0 0",
        "gpu.0.utilization": 0,
        **{f"gpu.0.profile.{number}": row for number, row in zip((0, 1, 2, 3, 4, 7, 9), rows, strict=True)},
    }


def dgx_a100_cut(instances: Iterable[str] = ("1 3g.20gb 4 4", "2 2g.10gb 0 2", "9 1g.5gb 2 1")) -> Scenario:
    """Return two A100 of 40 GB, the first in MIG mode with these instances (id, profile, start, size)."""
    made = gpu(0, name="NVIDIA A100-SXM4-40GB", pciid="20B0", memory=40960)
    made |= gpu(1, name="NVIDIA A100-SXM4-40GB", pciid="20B0", memory=40960)
    for index in (0, 1):
        rows = {0: "1g.5gb 7 4864", 1: "2g.10gb 3 9856", 2: "3g.20gb 2 19968", 7: "1g.5gb+me 1 4864"}
        made |= {f"gpu.{index}.profile.{profile}": row for profile, row in rows.items()}
        made[f"gpu.{index}.links"] = "switch*12"
    made |= {"gpu.0.mig": "1 1", "gpu.1.mig": "0 0", "pair.0.1.level": 20, "pair.0.1.p2p.2": 5}
    return made | {f"gpu.0.instance.{slot}": row for slot, row in enumerate(instances)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A PCI device for sysfs."""

    address: str
    numa: int | None = None
    path: str = ""
    """Its folder below ``devices``; empty: a root complex of its own, one port, itself."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Further attributes."""
    nic: str = ""
    """The RDMA device that it is, with its link layer: ``mlx5_0 InfiniBand``."""
    driver: str = ""
    """The kernel driver that it is bound to."""


def write_sysfs(root: Path, devices: Iterable[Device]) -> Path:
    """Write a sysfs with these devices, laid out as the kernel does; return its root."""
    (root / "bus/pci/devices").mkdir(parents=True, exist_ok=True)
    for device in devices:
        bus = device.address[5:7]
        port = f"pci0000:{bus}/0000:{bus}:01.0"
        folder = root / "devices" / (device.path or f"{port}/{device.address}")
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{-1 if device.numa is None else device.numa}\n")
        for name, text in device.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        (root / "bus/pci/devices" / device.address).symlink_to(folder)
        if device.driver:
            (root / "bus/pci/drivers" / device.driver).mkdir(parents=True, exist_ok=True)
            (root / "bus/pci/drivers" / device.driver / device.address).symlink_to(folder)
        if device.nic:
            name, layer = device.nic.split()
            port_folder = root / "class/infiniband" / name / "ports/1"
            port_folder.mkdir(parents=True)
            (port_folder / "link_layer").write_text(f"{layer}\n")
            (port_folder.parents[1] / "device").symlink_to(folder)
    return root


def replace_file(file: Path, text: str) -> None:
    """Write a file so that who reads it sees the old or the new, and by its inode that it is new.

    A lone surrogate is a byte that is no text.
    """
    partial = file.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8", errors="surrogateescape")
    partial.replace(file)

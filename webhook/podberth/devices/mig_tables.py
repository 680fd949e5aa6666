"""What profiles each MIG-capable GPU model offers: data, with its sources. Questions are answered in ``devices.mig``.

Profiles, counts and PCI ids: NVIDIA/mig-parted v0.15.0 deployments/systemd/config-default.yaml (the ``all-<profile>``
entries are the maximum for a whole GPU) and the MIG user guide's table of supported profiles. The live node always wins
over this table: a driver may report another size and with it another name. Parts whose names no source lists (RTX PRO
5000 and 4500, Thor) are missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class MigRow:
    """One profile of one model."""

    max_instances: int
    """Of this profile alone, on one whole GPU."""
    memory_mib: int = 0
    """As the driver lists it; 0 where no listing was at hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigTable:
    """The profiles of the models that share them."""

    name: str
    slices: int
    """Compute slices of the whole GPU: 7 or 4."""
    pci_ids: frozenset[str]
    """The device half of the PCI id in upper case; the vendor is always 10DE."""
    products: frozenset[str]
    """Product labels (GFD's ``nvidia.com/gpu.product``) in upper case, without ``NVIDIA-``."""
    rows: Mapping[str, MigRow]
    """By the profile's canonical name."""


def _table(name: str, pci_ids: str, products: str, rows: str) -> MigTable:
    """Write a table as the sources print it: ``1g.5gb 7 4864`` is a profile, its count and, if listed, its MiB."""
    parsed = {}
    for row in rows.split(" · "):
        profile, count, *memory = row.split()
        parsed[profile] = MigRow(int(count), int(memory[0]) if memory else 0)
    return MigTable(
        name=name,
        slices=max(int(profile.partition("g.")[0]) for profile in parsed),
        pci_ids=frozenset(pci_ids.split()),
        products=frozenset(products.split()),
        rows=MappingProxyType(parsed),
    )


TABLES: tuple[MigTable, ...] = (
    # Memory: NVIDIA/go-nvml pkg/nvml/mock/gpus/a30.go
    _table(
        "A30",
        "20B7",
        "A30",
        "1g.6gb 4 5836 · 1g.6gb+me 1 5836 · 2g.12gb 2 11672 · 2g.12gb+me 1 11672 · 4g.24gb 1 23344",
    ),
    # Memory: NVIDIA/go-nvml pkg/nvml/mock/gpus/a100.go
    _table(
        "A100-40GB",
        "20B0 20B1 20F1 20F6",
        "A100-SXM4-40GB A100-PCIE-40GB A100-PG509-200 A800-SXM4-40GB A800-40GB-ACTIVE",
        "1g.5gb 7 4864 · 1g.5gb+me 1 4864 · 1g.10gb 4 9856 · 2g.10gb 3 9856 · 3g.20gb 2 19968 · 4g.20gb 1 19968 · "
        "7g.40gb 1 40192",
    ),
    _table(
        "A100-80GB",
        "20B2 20B5 20F3 20F5",
        "A100-SXM4-80GB A100-80GB-PCIE A100X A800-SXM4-80GB A800-80GB-PCIE",
        "1g.10gb 7 · 1g.10gb+me 1 · 1g.20gb 4 · 2g.20gb 3 · 3g.40gb 2 · 4g.40gb 1 · 7g.80gb 1",
    ),
    # Memory: an H100's `nvidia-smi mig -lgip` (9.75, 19.62 and 39.50 GiB), https://jbarrow.ai/field_notes/nvidia-mig/
    _table(
        "H100-80GB",
        "2330 2331 2322 2324",
        "H100-80GB-HBM3 H100-PCIE H800 H800-PCIE",
        "1g.10gb 7 9984 · 1g.10gb+me 1 9984 · 1g.20gb 4 20090 · 2g.20gb 3 20090 · 3g.40gb 2 40448 · 4g.40gb 1 40448 · "
        "7g.80gb 1",
    ),
    _table(
        "H100-94GB",
        "2321 233A",
        "H100-NVL H800-NVL",
        "1g.12gb 7 · 1g.12gb+me 1 · 1g.24gb 4 · 2g.24gb 3 · 3g.47gb 2 · 4g.47gb 1 · 7g.94gb 1",
    ),
    _table(
        "H100-96GB",
        "2342 2329 233D 20B6",
        "GH200-480GB GH200-96GB-HBM3 H20 PG506-230 PG506-232",
        "1g.12gb 7 · 1g.12gb+me 1 · 1g.24gb 4 · 2g.24gb 3 · 3g.48gb 2 · 4g.48gb 1 · 7g.96gb 1",
    ),
    _table(
        "H200-141GB",
        "2335 233B",
        "H200 H200-NVL",
        "1g.18gb 7 · 1g.18gb+me 1 · 1g.35gb 4 · 2g.35gb 3 · 3g.71gb 2 · 4g.71gb 1 · 7g.141gb 1",
    ),
    _table(
        "GH200-144GB",
        "2348",
        "GH200-144G-HBM3E",
        "1g.18gb 7 · 1g.18gb+me 1 · 1g.36gb 4 · 2g.36gb 3 · 3g.72gb 2 · 4g.72gb 1 · 7g.144gb 1",
    ),
    _table(
        "B200-180GB",
        "2901",
        "B200",
        "1g.23gb 7 · 1g.23gb+me 1 · 1g.45gb 4 · 2g.45gb 3 · 3g.90gb 2 · 4g.90gb 1 · 7g.180gb 1",
    ),
    # The last three: what a driver that reports 189 GB calls them
    _table(
        "GB200-186GB",
        "2941",
        "GB200",
        "1g.23gb 7 · 1g.23gb+me 1 · 1g.47gb 4 · 2g.47gb 3 · 3g.93gb 2 · 4g.93gb 1 · 7g.186gb 1 · "
        "3g.95gb 2 · 4g.95gb 1 · 7g.189gb 1",
    ),
    _table(
        "B300",
        "3182",
        "B300-SXM6-AC B300",
        "1g.34gb 7 · 1g.34gb+me 1 · 1g.67gb 4 · 2g.67gb 3 · 3g.135gb 2 · 4g.135gb 1 · 7g.269gb 1",
    ),
    _table(
        "GB300",
        "31C2",
        "GB300",
        "1g.35gb 7 · 1g.35gb+me 1 · 1g.70gb 4 · 2g.70gb 3 · 3g.139gb 2 · 4g.139gb 1 · 7g.278gb 1",
    ),
    _table(
        "RTX-PRO-6000-96GB",
        "2BB5",
        "RTX-PRO-6000-BLACKWELL-SERVER-EDITION",
        "1g.24gb 4 · 1g.24gb+me 1 · 1g.24gb+gfx 4 · 1g.24gb+me.all 1 · 1g.24gb-me 4 · "
        "2g.48gb 2 · 2g.48gb+gfx 2 · 2g.48gb+me.all 1 · 2g.48gb-me 2 · 4g.96gb 1 · 4g.96gb+gfx 1",
    ),
)
"""Every model of which the profile names are known."""

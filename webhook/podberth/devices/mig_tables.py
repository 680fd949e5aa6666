"""The MIG profiles of each GPU model, as a table with sources; ``devices.mig`` has the functions that read the table.

Names, counts and PCI ids come from NVIDIA/mig-parted v0.15.0 deployments/systemd/config-default.yaml, unless a comment
beside a table names another source. In that file, the ``all-<profile>`` entries are the maximum for a whole GPU. The
file agrees with the tables of the MIG user guide
(https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html). Memory is the figure in the list
of ``nvidia-smi mig -lgip``, which has GiB with two decimals, rounded down to MiB. If the lists of two drivers differ,
the table has the smaller figure.

The profiles that a node reports take precedence over these tables: the node's driver may report another size, and with
the size another name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class MigRow:
    """One MIG profile on one GPU model."""

    max_instances: int
    """The most instances of the profile on one whole GPU, without any other profile."""
    memory_mib: int = 0
    """The memory of an instance in MiB, from the driver's list; 0 if no listing was available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigTable:
    """The MIG profiles of several GPU models with equal profiles, as podberth ships them or as a node reports them."""

    name: str
    slices: int
    """The number of compute slices of the whole GPU: 7 or 4; the smallest GPUs have 2 or 3."""
    whole_gb: int
    """The GB figure in the name of the profile of the whole GPU; 0: the GPU has no separate memory (Thor)."""
    pci_ids: frozenset[str] = frozenset()
    """The device halves of the models' PCI ids, in upper case; the vendor half is always 10DE."""
    products: frozenset[str] = frozenset()
    """The models' product labels (GFD's ``nvidia.com/gpu.product``) in upper case, without ``NVIDIA-``."""
    gke: frozenset[str] = frozenset()
    """The models' names in GKE's label ``cloud.google.com/gke-accelerator``."""
    rows: Mapping[str, MigRow] = field(hash=False)
    """A mapping from the canonical name of each profile of the GPU models to the profile."""

    @property
    def memory_slices(self) -> int:
        """The memory slices of the whole GPU: 8 for a GPU with 7 compute slices, else the number of compute slices."""
        return 8 if self.slices == 7 else self.slices  # noqa: PLR2004 - MIG user guide, "Partitioning"


def table_of(
    name: str,
    rows: Mapping[str, MigRow],
    *,
    pci_ids: Iterable[str] = (),
    products: Iterable[str] = (),
    gke: Iterable[str] = (),
) -> MigTable:
    """Return the table of GPU models that share the profiles ``rows``, which is a mapping by profile name.

    The profile with the most slices is taken as the whole GPU; of several such profiles, the first. The other arguments
    identify the models.
    """
    whole = max(rows, key=_slices)
    return MigTable(
        name=name,
        slices=_slices(whole),
        whole_gb=int(whole.partition("g.")[2].partition("gb")[0]),
        pci_ids=frozenset(pci_ids),
        products=frozenset(products),
        gke=frozenset(gke),
        rows=MappingProxyType(dict(rows)),
    )


def _slices(profile: str) -> int:
    """Return the compute slices of a profile: the number before ``g``, also for a compute instance (``1c.3g.20gb``)."""
    return int(profile.partition("g.")[0].rpartition(".")[2])


def _table(name: str, pci_ids: str, products: str, rows: str, gke: str = "") -> MigTable:
    """Return the table of MIG profiles of one GPU model; each argument but ``name`` is a list in one text.

    The rows of ``rows`` are separated by " · ". In a row, ``1g.5gb 7 4864`` is a profile, the maximum count on one GPU
    and, if known, the MiB of an instance. The other lists are separated by spaces.
    """
    parsed = {}
    for row in rows.split(" · "):
        profile, count, *memory = row.split()
        parsed[profile] = MigRow(int(count), int(memory[0]) if memory else 0)
    return table_of(name, parsed, pci_ids=pci_ids.split(), products=products.split(), gke=gke.split())


# GKE's words: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi and container-engine-accelerators
# pkg/gpu/nvidia/mig/mig.go.
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
        gke="nvidia-tesla-a100",
    ),
    # No listing with a memory column was available. The last two are the names of drivers 535 and 545
    # (https://github.com/NVIDIA/mig-parted/issues/31; HAMi charts/hami/templates/scheduler/device-configmap.yaml).
    _table(
        "A100-80GB",
        "20B2 20B5 20F3 20F5",
        "A100-SXM4-80GB A100-80GB-PCIE A100X A800-SXM4-80GB A800-80GB-PCIE",
        "1g.10gb 7 · 1g.10gb+me 1 · 1g.20gb 4 · 2g.20gb 3 · 3g.40gb 2 · 4g.40gb 1 · 7g.80gb 1 · 3g.39gb 2 · 7g.79gb 1",
        gke="nvidia-a100-80gb",
    ),
    # Memory: an H100 with driver 580 (tests/nvml/captures); its `nvidia-smi mig -lgip` lists what
    # https://jbarrow.ai/field_notes/nvidia-mig/ has (9.75, 19.62 and 39.50 GiB).
    _table(
        "H100-80GB",
        "2330 2331 2322 2324",
        "H100-80GB-HBM3 H100-PCIE H800 H800-PCIE",
        "1g.10gb 7 9984 · 1g.10gb+me 1 9984 · 1g.20gb 4 20096 · 2g.20gb 3 20096 · 3g.40gb 2 40448 · 4g.40gb 1 40448 · "
        "7g.80gb 1 81152",
        gke="nvidia-h100-80gb nvidia-h100-mega-80gb",
    ),
    # Memory: an H100 NVL's `nvidia-smi mig -lgip` (10.62, 21.50, 46.12 and 92.62 GiB), https://docs.opennebula.io
    # (NVIDIA vGPU and MIG); another driver lists 10.75, 21.62 and 46.38,
    # https://github.com/NVIDIA/gpu-operator/pull/900
    _table(
        "H100-94GB",
        "2321 233A",
        "H100-NVL H800-NVL",
        "1g.12gb 7 10874 · 1g.12gb+me 1 10874 · 1g.24gb 4 22016 · 2g.24gb 3 22016 · 3g.47gb 2 47226 · "
        "4g.47gb 1 47226 · 7g.94gb 1 94842",
    ),
    _table(
        "H100-96GB",
        "2342 2329 233D 20B6",
        "GH200-480GB GH200-96GB-HBM3 H20 PG506-230 PG506-232",
        "1g.12gb 7 · 1g.12gb+me 1 · 1g.24gb 4 · 2g.24gb 3 · 3g.48gb 2 · 4g.48gb 1 · 7g.96gb 1",
    ),
    # Memory: https://github.com/NVIDIA/mig-parted/issues/120 (16.00, 32.25 and 69.50 GiB); driver 580 has 33280 and
    # 71424, and 143360 for the whole GPU (tests/nvml/captures).
    _table(
        "H200-141GB",
        "2335 233B",
        "H200 H200-NVL",
        "1g.18gb 7 16384 · 1g.18gb+me 1 16384 · 1g.35gb 4 33024 · 2g.35gb 3 33024 · 3g.71gb 2 71168 · "
        "4g.71gb 1 71168 · 7g.141gb 1 143360",
        gke="nvidia-h200-141gb",
    ),
    # Memory: https://github.com/NVIDIA/mig-parted/pull/139 (17.50 and 35.25 GiB)
    _table(
        "GH200-144GB",
        "2348",
        "GH200-144G-HBM3E",
        "1g.18gb 7 17920 · 1g.18gb+me 1 17920 · 1g.36gb 4 36096 · 2g.36gb 3 36096 · 3g.72gb 2 · 4g.72gb 1 · 7g.144gb 1",
    ),
    # Memory: https://github.com/NVIDIA/gpu-operator/pull/1351 (20.50 and 44.25 GiB; 22.00 in mig-parted/pull/166)
    _table(
        "B200-180GB",
        "2901",
        "B200",
        "1g.23gb 7 20992 · 1g.23gb+me 1 20992 · 1g.45gb 4 45312 · 2g.45gb 3 45312 · 3g.90gb 2 · 4g.90gb 1 · 7g.180gb 1",
        gke="nvidia-b200",
    ),
    # Memory: https://github.com/NVIDIA/mig-parted/issues/227 (22.00 and 45.50 GiB). The last five are the names of a
    # driver that reports 189 GB (https://github.com/NVIDIA/gpu-operator/pull/1303; 20.00 GiB)
    _table(
        "GB200-186GB",
        "2941",
        "GB200",
        "1g.23gb 7 22528 · 1g.23gb+me 1 22528 · 1g.47gb 4 46592 · 2g.47gb 3 46592 · 3g.93gb 2 · 4g.93gb 1 · "
        "7g.186gb 1 · 1g.24gb 7 20480 · 1g.24gb+me 1 20480 · 3g.95gb 2 · 4g.95gb 1 · 7g.189gb 1",
        gke="nvidia-gb200",
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
    # Three editions share one table in the guide; only the Server Edition's PCI id is in mig-parted. Memory of 1g:
    # https://github.com/bigstack-oss/cubecos/issues/312 (23.12 GiB; 23.62 in container-engine-accelerators/pull/564)
    _table(
        "RTX-PRO-6000-96GB",
        "2BB5",
        "RTX-PRO-6000-BLACKWELL-SERVER-EDITION RTX-PRO-6000-BLACKWELL-WORKSTATION-EDITION "
        "RTX-PRO-6000-BLACKWELL-MAX-Q-WORKSTATION-EDITION",
        "1g.24gb 4 23674 · 1g.24gb+me 1 23674 · 1g.24gb+gfx 4 23674 · 1g.24gb+me.all 1 23674 · 1g.24gb-me 4 23674 · "
        "2g.48gb 2 · 2g.48gb+gfx 2 · 2g.48gb+me.all 1 · 2g.48gb-me 2 · 4g.96gb 1 · 4g.96gb+gfx 1",
        gke="nvidia-rtx-pro-6000",
    ),
    # The names and counts of the next three tables are from the guide alone. No source has the PCI ids of these models.
    _table(
        "RTX-PRO-5000-48GB",
        "",
        "RTX-PRO-5000-BLACKWELL",
        "1g.24gb 2 · 1g.24gb+me 1 · 1g.24gb+gfx 2 · 1g.24gb+me.all 1 · 1g.24gb-me 2 · 2g.48gb 1 · 2g.48gb+gfx 1",
    ),
    _table(
        "RTX-PRO-4500-32GB",
        "",
        "RTX-PRO-4500-BLACKWELL RTX-PRO-4500-BLACKWELL-SERVER-EDITION",
        "1g.16gb 2 · 1g.16gb+gfx 2 · 1g.16gb+me.all 1 · 1g.16gb-me 2 · 2g.32gb 1 · 2g.32gb+gfx 1",
    ),
    # This GPU uses the machine's memory, so the names of its profiles say 0.
    _table(
        "THOR",
        "",
        "THOR",
        "1g.0gb 1 · 1g.0gb+me 1 · 1g.0gb+gfx 1 · 2g.0gb 1 · 2g.0gb+gfx 1 · 3g.0gb 1 · 3g.0gb+gfx 1",
    ),
)
"""The tables of all GPU models whose profile names are known."""

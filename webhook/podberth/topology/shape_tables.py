"""The table of machines that podberth can simulate, with its sources.

The GPU names, memory and PCI ids of A100 SXM, B200, GB200, H100, L40S and T4 are from real ``nvidia-smi -x -q``
captures in NVIDIA/k8s-test-infra (tests/e2e/go/assertions/nvidiasmi/testdata/hardware); comments in the table name the
sources of other models. Instance types and their sizes are from the providers' pages on GPU machines, links from
NVIDIA's product pages. NV12 and NV18 are the numbers of bonded links that ``nvidia-smi topo -m`` shows.

GFD's label for the machine is the DMI product name with blanks turned into dashes. ``DGXA100-920-23687-2530-000``,
``PowerEdge-XE9680`` and ``PowerEdge-R7525`` are from node labels in public manifests; other Dell machines follow their
spelling.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from .node import Vendor

Provider: TypeAlias = Literal["bare", "aks", "eks", "gke"]


@dataclass(frozen=True, slots=True)
class Model:
    """A GPU model."""

    product: str
    """The product name that the driver reports."""
    memory_mib: int
    pci_id: str
    family: str
    compute: tuple[int, int] = (0, 0)
    """CUDA compute capability, major and minor."""
    gke: str = ""
    """The model's name in GKE's label ``cloud.google.com/gke-accelerator``."""
    karpenter: str = ""
    """The model's name in Karpenter's label ``karpenter.k8s.aws/instance-gpu-name``."""
    mig_capable: bool = False
    vendor: Vendor = "nvidia"

    @property
    def resource(self) -> str:
        """The resource name of a whole GPU in the vendor's device plugin."""
        return f"{self.vendor}.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A machine: the GPUs, their links and MIG layout, and the machine's instance types at cloud providers."""

    model: Model
    gpus: int
    link: str = ""
    """The link between GPUs of one link domain as ``nvidia-smi topo -m`` prints it, or XGMI; empty: there are no links.
    """
    island: int = 0
    """The number of GPUs in one link domain; if that is all GPUs, the links are a full mesh."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """The number of MIG instances on each partitioned GPU, by profile; empty: MIG is off."""
    whole: int = 0
    """The number of GPUs, from index 0, that are not partitioned, although others of the machine are.

    The MIG strategy is mixed if the machine has several profiles.
    """
    replicas: int = 1
    """The number of time-slices of each GPU."""
    taint: Mapping[str, str] | None = None
    """The taint of the node; None: the provider's usual taint."""
    fabric: bool = False
    """Whether the GPUs belong to an NVLink domain across machines."""
    arch: Literal["amd64", "arm64"] = "amd64"
    cpus: int
    memory_gib: int
    instance_types: Mapping[Provider, str]
    """A mapping from cloud provider to the machine's instance type, the default provider first. A bare-metal machine
    has its DMI name instead.
    """


# Name, MiB, PCI id, family, compute capability, GKE's word, Karpenter's word
_A100 = Model("NVIDIA A100-SXM4-40GB", 40960, "20B0", "ampere", (8, 0), "nvidia-tesla-a100", "a100", mig_capable=True)
# PCI id: https://pci-ids.ucw.cz, 20f1 GA100 [A100 PCIe 40GB]. Memory: `nvidia-smi --query-gpu=name,memory.total` in
# public logs of drivers 525 to 590 ("NVIDIA A100-PCIE-40GB, 40960 MiB").
_A100_PCIE = Model("NVIDIA A100-PCIE-40GB", 40960, "20F1", "ampere", (8, 0), mig_capable=True)
_H100 = Model("NVIDIA H100 80GB HBM3", 81559, "2330", "hopper", (9, 0), "nvidia-h100-80gb", "h100", mig_capable=True)
# Name and PCI id: https://github.com/akash-network/provider-configs/pull/91 ("NVIDIA H100 NVL, 0x232110DE"). Memory:
# the table that nvidia-smi prints, in public logs of drivers up to 610 (95830MiB)
_H100_NVL = Model("NVIDIA H100 NVL", 95830, "2321", "hopper", (9, 0), mig_capable=True)
# Name and PCI id: https://github.com/NVIDIA/mig-parted/issues/120 (`nvidia-smi -q`: NVIDIA H200, 0x233510DE). Memory:
# the table that nvidia-smi prints, in public logs (143771MiB)
_H200 = Model("NVIDIA H200", 143771, "2335", "hopper", (9, 0), "nvidia-h200-141gb", "h200", mig_capable=True)
_B200 = Model("NVIDIA B200", 183359, "2901", "blackwell", (10, 0), "nvidia-b200", "b200", mig_capable=True)
_GB200 = Model("NVIDIA GB200", 189471, "2941", "blackwell", (10, 0), "nvidia-gb200", "gb200", mig_capable=True)
# PCI id: https://pci-ids.ucw.cz, 27b8 AD104GL [L4]. Memory: the table that nvidia-smi prints, in public logs (23034MiB)
_L4 = Model("NVIDIA L4", 23034, "27B8", "ada-lovelace", (8, 9), "nvidia-l4", "l4")
_L40S = Model("NVIDIA L40S", 46068, "26B9", "ada-lovelace", (8, 9), karpenter="l40s")
_T4 = Model("Tesla T4", 15360, "1EB8", "turing", (7, 5), "nvidia-tesla-t4", "t4")
# PCI id: https://pci-ids.ucw.cz, 1002 74a1. Name and memory: `rocm-smi` in public logs (206141652992 bytes).
_MI300X = Model("AMD Instinct MI300X OAM", 196592, "74A1", "AI", vendor="amd")

# The taint of AKS' documentation, which is used elsewhere too: its key is not the pod's resource.
_SKU_TAINT: Mapping[str, str] = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}

_HGX = partial(Shape, gpus=8, link="NV18", island=8, cpus=192, memory_gib=2048)
_DGX_A100 = partial(
    Shape,
    model=_A100,
    gpus=8,
    link="NV12",
    island=8,
    cpus=256,
    memory_gib=1024,
    instance_types={
        "bare": "DGXA100-920-23687-2530-000",
        "eks": "p4d.24xlarge",
        "gke": "a2-highgpu-8g",
        "aks": "Standard_ND96asr_v4",
    },
)

SHAPES: Mapping[str, Shape] = {
    "hgx-h100-8": _HGX(
        model=_H100,
        instance_types={
            "eks": "p5.48xlarge",
            "gke": "a3-highgpu-8g",
            "aks": "Standard_ND96isr_H100_v5",
            "bare": "PowerEdge-XE9680",
        },
    ),
    "hgx-h200-8": _HGX(
        model=_H200,
        instance_types={
            "eks": "p5en.48xlarge",
            "gke": "a3-ultragpu-8g",
            "aks": "Standard_ND96isr_H200_v5",
            "bare": "PowerEdge-XE9680",
        },
    ),
    # No clique label: GFD writes it for NVLink across nodes only, which an HGX B200 has not.
    "hgx-b200-8": _HGX(
        model=_B200,
        instance_types={"eks": "p6-b200.48xlarge", "gke": "a4-highgpu-8g", "bare": "PowerEdge-XE9680L"},
    ),
    "dgx-a100-8": _DGX_A100(),
    "dgx-a100-8-mig-single": _DGX_A100(cut={"1g.5gb": 7}),
    # mig-parted's preset all-balanced on six of the GPUs
    "dgx-a100-8-mig-mixed": _DGX_A100(cut={"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, whole=2),
    "a100-pcie-4": Shape(
        model=_A100_PCIE,
        gpus=4,
        link="NV12",
        island=2,
        cpus=128,
        memory_gib=512,
        instance_types={"bare": "PowerEdge-R7525"},
    ),
    "h100-nvl-4": Shape(
        model=_H100_NVL,
        gpus=4,
        link="NV12",
        island=2,
        cpus=128,
        memory_gib=1024,
        instance_types={"bare": "PowerEdge-R760xa"},
    ),
    "l4-1": Shape(
        model=_L4,
        gpus=1,
        cpus=8,
        memory_gib=32,
        taint=_SKU_TAINT,
        instance_types={"bare": "PowerEdge-XR7620", "gke": "g2-standard-8", "eks": "g6.2xlarge"},
    ),
    "l4-4": Shape(
        model=_L4,
        gpus=4,
        cpus=48,
        memory_gib=192,
        taint=_SKU_TAINT,
        instance_types={"bare": "PowerEdge-R760xa", "gke": "g2-standard-48", "eks": "g6.12xlarge"},
    ),
    "t4-shared": Shape(
        model=_T4,
        gpus=1,
        replicas=4,
        cpus=8,
        memory_gib=30,
        instance_types={"gke": "n1-standard-8", "eks": "g4dn.2xlarge"},
    ),
    "l40s-8": Shape(
        model=_L40S,
        gpus=8,
        cpus=192,
        memory_gib=1536,
        instance_types={"eks": "g6e.48xlarge", "bare": "PowerEdge-R760xa"},
    ),
    "gb200-tray": Shape(
        model=_GB200,
        gpus=4,
        link="NV18",
        island=4,
        fabric=True,
        arch="arm64",
        cpus=144,
        memory_gib=960,
        instance_types={"eks": "p6e-gb200.36xlarge", "gke": "a4x-highgpu-4g"},
    ),
    "mi300x-8": Shape(
        model=_MI300X,
        gpus=8,
        link="XGMI",
        island=8,
        cpus=96,
        memory_gib=1850,
        instance_types={"aks": "Standard_ND96isr_MI300X_v5", "bare": "PowerEdge-XE9680"},
    ),
}
"""Every machine that ships with podberth, by name."""

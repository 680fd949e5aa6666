"""The memory of GPU models, for models that no known node has. A live node's own figure comes first."""

from collections.abc import Mapping
from types import MappingProxyType

from . import mig

# MiB as NVML and the label nvidia.com/gpu.memory have them. From `nvidia-smi` captures: NVIDIA/k8s-test-infra
# (tests/e2e/go/assertions/nvidiasmi/testdata/hardware) and the sources of ``topology.shape_tables``; A10G, A100 80GB,
# H100 PCIe and GB300 from the tables that nvidia-smi prints in public logs.
# Names: GFD's nvidia.com/gpu.product (NVML's name with dashes), and GKE's word for the same model
# (https://cloud.google.com/kubernetes-engine/docs/concepts/gpus).
_BY_SIZE: Mapping[int, tuple[str, ...]] = {
    15360: ("Tesla-T4", "nvidia-tesla-t4"),
    23028: ("NVIDIA-A10G",),
    23034: ("NVIDIA-L4", "nvidia-l4"),
    46068: ("NVIDIA-L40S",),
    40960: ("NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB", "nvidia-tesla-a100"),
    81920: ("NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-80GB-PCIe", "nvidia-a100-80gb"),
    81559: ("NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "nvidia-h100-80gb", "nvidia-h100-mega-80gb"),
    95830: ("NVIDIA-H100-NVL",),
    143771: ("NVIDIA-H200", "nvidia-h200-141gb"),
    183359: ("NVIDIA-B200", "nvidia-b200"),
    189471: ("NVIDIA-GB200", "nvidia-gb200"),
}
MEMORY_MIB: Mapping[str, int] = MappingProxyType({name: size for size, names in _BY_SIZE.items() for name in names})
"""MiB of a GPU by GFD's and GKE's names for its model."""


def most_memory_mib(name: str) -> int:
    """Return the MiB that a GPU of that model, or an instance of that MIG profile, has at most; 0 if not known.

    A profile's name rounds the instance's memory up (``devices.mig``), so its figure is never too small.
    """
    if name in MEMORY_MIB:
        return MEMORY_MIB[name]
    try:
        return mig.parse(name).memory_gb * 1024
    except ValueError:
        return 0

"""Tencent Cloud's systems for sharing GPUs: GPU manager and qGPU."""

from typing import Final

from ..dossier import Dossier
from ..systems import Dialect
from ..words import words

DOSSIER: Final = Dossier(
    name="Tencent Cloud's GPU sharing",
    dialects=(
        Dialect(
            name="tencent",
            source="tkestack/gpu-manager pkg/types/types.go; TKE's qGPU documentation",
            resources=words(
                "tencent.com/vcuda-core tencent.com/vcuda-memory tke.cloud.tencent.com/qgpu-core "
                "tke.cloud.tencent.com/qgpu-core-greedy tke.cloud.tencent.com/qgpu-memory"
            ),
        ),
    ),
)

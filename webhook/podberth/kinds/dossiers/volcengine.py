"""Facts about Volcengine's system for sharing GPUs: mGPU."""

from typing import Final

from ..dossier import Dossier
from ..systems import Dialect

DOSSIER: Final = Dossier(
    name="Volcengine's GPU sharing",
    versions={"volcano-sh/volcano": "4698ac28"},
    dialects=(
        Dialect(
            name="volcengine",
            # A change of Volcengine's own for Volcano, which was never merged; mGPU itself has no public source.
            source="volcano-sh/volcano pkg/scheduler/api/devices/nvidia/mgpu/constants.go",
            resources=frozenset({"vke.volcengine.com/mgpu-core", "vke.volcengine.com/mgpu-memory"}),
        ),
    ),
)

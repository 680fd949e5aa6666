"""Volcengine's system for sharing GPUs: mGPU."""

from typing import Final

from ..dossier import Dossier
from ..systems import Dialect

DOSSIER: Final = Dossier(
    name="Volcengine's GPU sharing",
    dialects=(
        Dialect(
            name="volcengine",
            source="Volcengine VKE's mGPU documentation",
            resources=frozenset({"vke.volcengine.com/mgpu-core", "vke.volcengine.com/mgpu-memory"}),
        ),
    ),
)

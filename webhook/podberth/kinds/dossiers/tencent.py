"""Facts about Tencent Cloud's systems for sharing GPUs: GPU manager and qGPU."""

from typing import Final

from ..dossier import Dossier
from ..name_sets import words
from ..systems import Dialect

DOSSIER: Final = Dossier(
    name="Tencent Cloud's GPU sharing",
    versions={"tkestack/gpu-manager": "8cd842ed, after v1.1.5", "elastic-ai/elastic-gpu": "94fc37ef"},
    dialects=(
        Dialect(
            name="tencent",
            source="tkestack/gpu-manager pkg/types/types.go; elastic-ai/elastic-gpu apis/elasticgpu/v1alpha1/types.go",
            resources=words(
                "tencent.com/vcuda-core tencent.com/vcuda-memory tke.cloud.tencent.com/qgpu-core "
                "tke.cloud.tencent.com/qgpu-core-greedy tke.cloud.tencent.com/qgpu-memory"
            ),
        ),
    ),
)

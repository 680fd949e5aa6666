"""Alibaba Cloud's systems for sharing GPUs: gpushare and cGPU."""

from typing import Final

from ..dossier import Dossier
from ..systems import Dialect

DOSSIER: Final = Dossier(
    name="Alibaba Cloud's GPU sharing",
    dialects=(
        Dialect(
            name="aliyun",
            source="AliyunContainerService/gpushare-scheduler-extender pkg/utils/const.go; ACK's cGPU documentation",
            resources=frozenset({"aliyun.com/gpu-mem", "aliyun.com/gpu-count", "aliyun.com/gpu-core.percentage"}),
        ),
    ),
)

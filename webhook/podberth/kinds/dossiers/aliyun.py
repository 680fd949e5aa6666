"""Facts about Alibaba Cloud's systems for sharing GPUs: gpushare and cGPU."""

from typing import Final

from ...devices.resources import MODIFIERS
from ..dossier import Dossier
from ..systems import Dialect

DOSSIER: Final = Dossier(
    name="Alibaba Cloud's GPU sharing",
    versions={
        "AliyunContainerService/gpushare-scheduler-extender": "c0b61411, after v0.2.0",
        "kubeflow/arena": "e30882c1, after v0.15.5",
    },
    dialects=(
        Dialect(
            name="aliyun",
            source="AliyunContainerService/gpushare-scheduler-extender pkg/utils/const.go; "
            "kubeflow/arena pkg/apis/types/const.go",
            resources=frozenset(MODIFIERS["aliyun"]),
        ),
    ),
)

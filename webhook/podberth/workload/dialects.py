"""Sharing dialects: systems in which a pod asks for a part of a GPU in words of their own.

A pod that speaks one of them is left alone by the shipped policies: a GPU resource added or rewritten beside its own
words breaks it. A row says by what a dialect is recognised; whole GPUs and MIG instances are no dialect.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..kube.pod import annotations, spec
from ..kube.quantity import parse_quantity
from ..kube.shape import RESOURCED_LISTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One way to recognise a dialect: a resource, an annotation or a scheduler is enough.

    With ``only_under`` the annotations count under that scheduler only, because others use the same words.
    """

    name: str
    source: str
    resources: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    schedulers: frozenset[str] = frozenset()
    only_under: str = ""


DIALECTS: Final[tuple[Dialect, ...]] = (
    Dialect(
        name="kai",
        source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go, docs/gpu-sharing",
        annotations=frozenset({"gpu-fraction", "gpu-fraction-num-devices", "gpu-fraction-container-name"}),
    ),
    Dialect(
        name="kai",
        source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go: the key says too little to count alone",
        annotations=frozenset({"gpu-memory"}),
        only_under="kai-scheduler",
    ),
    Dialect(
        name="hami",
        source="Project-HAMi/HAMi charts/hami/values.yaml and templates/scheduler/device-configmap.yaml",
        resources=frozenset(
            {
                "nvidia.com/gpumem",
                "nvidia.com/gpumem-percentage",
                "nvidia.com/gpucores",
                "nvidia.com/priority",
                "amd.com/gpumem",
                "amd.com/gpucores",
                "cambricon.com/vmlu",
                "cambricon.com/mlu.smlu.vmemory",
                "cambricon.com/mlu.smlu.vcore",
                "hygon.com/dcunum",
                "hygon.com/dcumem",
                "hygon.com/dcucores",
                "metax-tech.com/sgpu",
                "metax-tech.com/vcore",
                "metax-tech.com/vmemory",
                "mthreads.com/vgpu",
                "mthreads.com/sgpu-memory",
                "mthreads.com/sgpu-core",
                "iluvatar.ai/vgpu",
                "iluvatar.ai/vcuda-memory",
                "iluvatar.ai/vcuda-core",
                "huawei.com/Ascend910A-memory",
                "huawei.com/Ascend910B2-memory",
                "huawei.com/Ascend910B3-memory",
                "huawei.com/Ascend910B4-memory",
                "huawei.com/Ascend910B4-1-memory",
                "huawei.com/Ascend910C-memory",
                "huawei.com/Ascend310P-memory",
            }
        ),
        annotations=frozenset({"nvidia.com/vgpu-mode", "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"}),
        # Under HAMi's scheduler a plain nvidia.com/gpu is a share as well.
        schedulers=frozenset({"hami-scheduler"}),
    ),
    Dialect(
        name="aliyun",
        source="AliyunContainerService/gpushare-scheduler-extender pkg/utils/const.go; ACK's cGPU documentation",
        resources=frozenset({"aliyun.com/gpu-mem", "aliyun.com/gpu-count", "aliyun.com/gpu-core.percentage"}),
    ),
    Dialect(
        name="volcano-vgpu",
        source="volcano-sh/volcano docs/user-guide/how_to_use_volcano_vgpu.md, how_to_use_gpu_sharing.md",
        resources=frozenset(
            {
                "volcano.sh/vgpu-number",
                "volcano.sh/vgpu-memory",
                "volcano.sh/vgpu-memory-percentage",
                "volcano.sh/vgpu-cores",
                "volcano.sh/gpu-number",
                "volcano.sh/gpu-memory",
            }
        ),
    ),
    Dialect(
        name="koordinator",
        source="koordinator-sh/koordinator apis/extension/device_share.go",
        resources=frozenset(
            {
                "koordinator.sh/gpu",
                "koordinator.sh/gpu.shared",
                "koordinator.sh/gpu-core",
                "koordinator.sh/gpu-memory",
                "koordinator.sh/gpu-memory-ratio",
            }
        ),
    ),
    Dialect(
        name="tencent",
        source="tkestack/gpu-manager pkg/types/types.go; TKE's qGPU documentation",
        resources=frozenset(
            {
                "tencent.com/vcuda-core",
                "tencent.com/vcuda-memory",
                "tke.cloud.tencent.com/qgpu-core",
                "tke.cloud.tencent.com/qgpu-core-greedy",
                "tke.cloud.tencent.com/qgpu-memory",
            }
        ),
    ),
    Dialect(
        name="volcengine",
        source="Volcengine VKE's mGPU documentation",
        resources=frozenset({"vke.volcengine.com/mgpu-core", "vke.volcengine.com/mgpu-memory"}),
    ),
)

_BY_RESOURCE: Final = {resource: row.name for row in DIALECTS for resource in row.resources}
_BY_ANNOTATION: Final = {key: row for row in DIALECTS for key in row.annotations}
_BY_SCHEDULER: Final = {scheduler: row.name for row in DIALECTS for scheduler in row.schedulers}


def foreign_dialect(pod: Mapping[str, Any]) -> str:
    """Return the name of the sharing dialect that the pod speaks, empty for none.

    A resource of amount zero says nothing, as everywhere.
    """
    pod_spec = spec(pod)
    scheduler = pod_spec.get("schedulerName") or ""
    if scheduler in _BY_SCHEDULER:
        return _BY_SCHEDULER[scheduler]
    for key in annotations(pod):
        row = _BY_ANNOTATION.get(key)
        if row is not None and row.only_under in {"", scheduler}:
            return row.name
    return next(_of_resources(pod_spec), "")


def _of_resources(pod_spec: dict[str, Any]) -> Iterator[str]:
    for field in RESOURCED_LISTS:
        for container in pod_spec.get(field) or ():
            resources = container.get("resources")
            if resources:
                yield from _of_amounts(resources.get("limits"))
                yield from _of_amounts(resources.get("requests"))


def _of_amounts(amounts: dict[str, Any] | None) -> Iterator[str]:
    if amounts and not _BY_RESOURCE.keys().isdisjoint(amounts):
        yield from (_BY_RESOURCE[name] for name in amounts if name in _BY_RESOURCE and not _is_zero(amounts[name]))


def _is_zero(amount: object) -> bool:
    try:
        return parse_quantity(amount) == 0
    except ValueError:
        return False

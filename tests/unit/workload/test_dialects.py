"""Sharing dialects: whose words a pod speaks."""

from typing import Any

import pytest

from builders import container, gpu_pod, pod
from podberth.workload.dialects import DIALECTS, foreign_dialect

JSON = dict[str, Any]


@pytest.mark.parametrize("document", [pod(), gpu_pod(8), gpu_pod(1, resource="nvidia.com/mig-1g.5gb"), {}])
def test_whole_gpus_and_mig_are_no_dialect(document: JSON) -> None:
    assert foreign_dialect(document) == ""


def test_kais_fraction_is_known_without_a_resource() -> None:
    """tests/real-manifests.md 8: shares by annotation, no GPU in resources."""
    document = pod(annotations={"gpu-fraction": "0.5"}, schedulerName="kai-scheduler")
    assert foreign_dialect(document) == "kai"


def test_kais_memory_counts_under_kais_scheduler_only() -> None:
    """tests/real-manifests.md 8; the key has no domain, and others may use it."""
    assert foreign_dialect(pod(annotations={"gpu-memory": "4096"}, schedulerName="kai-scheduler")) == "kai"
    assert foreign_dialect(pod(annotations={"gpu-memory": "4096"})) == ""


@pytest.mark.parametrize(
    ("resource", "dialect"),
    [
        ("nvidia.com/gpumem", "hami"),
        ("metax-tech.com/vmemory", "hami"),
        ("iluvatar.ai/vcuda-memory", "hami"),
        ("iluvatar.ai/BI-V150.vMem", "hami"),
        ("huawei.com/Ascend910B4-1-core", "hami"),
        ("enflame.com/gcu-memory", "hami"),
        ("kunlunxin.com/vxpu", "hami"),
        ("aliyun.com/gpu-mem", "aliyun"),
        ("volcano.sh/vgpu-number", "volcano-vgpu"),
        ("koordinator.sh/gpu-core", "koordinator"),
        ("tke.cloud.tencent.com/qgpu-memory", "tencent"),
        ("vke.volcengine.com/mgpu-core", "volcengine"),
    ],
)
def test_a_dialect_is_known_by_its_resource(resource: str, dialect: str) -> None:
    """tests/real-manifests.md 3, 7 and 8: memory-like resources, with suffixes at times."""
    assert foreign_dialect(pod(container(limits={resource: "2048Mi"}))) == dialect
    assert foreign_dialect(pod(container(requests={resource: "?"}), init=[container("i")])) == dialect


def test_a_resource_of_zero_says_nothing() -> None:
    """tests/real-manifests.md 5."""
    assert foreign_dialect(pod(container(limits={"nvidia.com/gpumem": "0"}))) == ""


def test_under_hamis_scheduler_a_plain_gpu_is_a_share() -> None:
    assert foreign_dialect(gpu_pod(1, schedulerName="hami-scheduler")) == "hami"


def test_mig_by_annotation_is_hamis() -> None:
    """tests/real-manifests.md 9: HAMi asks for MIG by annotation."""
    assert foreign_dialect(gpu_pod(1, annotations={"nvidia.com/vgpu-mode": "mig"})) == "hami"


def test_every_row_names_its_source_and_a_sign() -> None:
    for row in DIALECTS:
        assert row.source
        assert row.resources or row.annotations or row.schedulers

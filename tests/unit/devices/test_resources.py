import gc
import tracemalloc

import pytest

from podberth.devices.resources import DEVICE_CLASSES, Accelerator, recognise


@pytest.mark.parametrize(
    ("resource", "vendor", "kind", "profile"),
    [
        ("nvidia.com/gpu", "nvidia", "whole", ""),
        ("nvidia.com/gpu.shared", "nvidia", "shared", ""),
        ("nvidia.com/mig-1g.5gb", "nvidia", "mig", "1g.5gb"),
        ("nvidia.com/mig-1g.10gb.me", "nvidia", "mig", "1g.10gb+me"),
        ("nvidia.com/mig-1g.24gb.me.all", "nvidia", "mig", "1g.24gb+me.all"),
        ("nvidia.com/mig-1g.24gb-me", "nvidia", "mig", "1g.24gb-me"),
        ("nvidia.com/mig-1g.5gb.shared", "nvidia", "shared", "1g.5gb"),
        ("nvidia.com/mig-nonsense", "nvidia", "mig", "nonsense"),
        ("nvidia.com/pgpu", "nvidia", "passthrough", ""),
        ("amd.com/gpu", "amd", "whole", ""),
        ("amd.com/cpx_nps4", "amd", "shared", ""),
        ("gpu.intel.com/i915", "intel", "whole", ""),
        ("gpu.intel.com/xe", "intel", "whole", ""),
        ("habana.ai/gaudi", "intel", "whole", ""),
        ("google.com/tpu", "google", "whole", ""),
        ("aws.amazon.com/neuron", "aws", "whole", ""),
        ("aws.amazon.com/neuroncore", "aws", "shared", ""),
        ("huawei.com/Ascend910", "huawei", "whole", ""),
        ("huawei.com/Ascend910-4c", "huawei", "shared", ""),
        ("deviceclass.resource.kubernetes.io/gpu.nvidia.com", "nvidia", "whole", ""),
        ("deviceclass.resource.kubernetes.io/mig.nvidia.com", "nvidia", "mig", ""),
    ],
)
def test_accelerators_are_recognised_by_the_table(resource: str, vendor: str, kind: str, profile: str) -> None:
    found = recognise(resource)
    assert found is not None
    assert (found.vendor, found.kind, found.profile) == (vendor, kind, profile)


@pytest.mark.parametrize(
    ("resource", "kind"),
    [
        ("nvidia.com/rdma-vf", "nic"),
        ("nvidia.com/sriov-rdma-vf", "nic"),
        ("nvidia.com/mlnxnics", "nic"),
        ("vpc.amazonaws.com/efa", "nic"),
        ("nvidia.com/gpumem", "modifier"),
        ("nvidia.com/gpucores", "modifier"),
        ("nvidia.com/gpumem-percentage", "modifier"),
        ("aliyun.com/gpu-mem", "modifier"),
        ("metax-tech.com/vmemory", "modifier"),
    ],
)
def test_a_vendor_prefix_does_not_make_a_gpu(resource: str, kind: str) -> None:
    found = recognise(resource)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    "resource",
    [
        "",
        "cpu",
        "memory",
        "nvidia.com/",
        "nvidia.com/gpu-of-tomorrow",
        "nvidia/gpu",
        "example.com/nvidia.com/gpu",
        "networking.gke.io.networks/rdma-0",
        "deviceclass.resource.kubernetes.io/imex.nvidia.com",
        "deviceclass.resource.kubernetes.io/compute-domain-daemon.nvidia.com",
    ],
)
def test_a_name_outside_the_table_is_no_accelerator(resource: str) -> None:
    assert recognise(resource) is None


def test_device_classes_are_known_by_name() -> None:
    assert DEVICE_CLASSES["gpu.amd.com"] == Accelerator("amd", "whole")
    assert "mrdma.google.com" not in DEVICE_CLASSES


def test_names_that_no_resource_can_have_take_no_memory() -> None:
    tracemalloc.start()
    try:
        for number in range(20):
            assert recognise(f"nvidia.com/mig-{'1g.5gb' * 20_000}{number}") is not None
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()

"""Each label names the model of a GPU in its own spelling."""

import pytest

from podberth.devices.gpu_models import model_of
from podberth.topology.shape_tables import SHAPES

GFD, GKE, KARPENTER = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)


@pytest.mark.parametrize(
    ("label", "value", "model"),
    [
        (GFD, "NVIDIA-H100-80GB-HBM3", "H100"),
        (GFD, "Tesla-T4-SHARED", "T4"),
        (GFD, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "A100"),
        (GFD, "NVIDIA-RTX-A6000", ""),
        (GFD, "", ""),
        (GKE, "nvidia-tesla-a100", "A100"),
        (GKE, "nvidia-h100-mega-80gb", "H100"),
        (KARPENTER, "a10g", "A10"),
        ("karpenter.azure.com/sku-gpu-name", "V100", "V100"),
        ("gpu.nvidia.com/model", "H100_NVLINK_80GB", "H100"),
        ("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM", "MI300"),
        ("topology.kubernetes.io/zone", "t4", ""),
    ],
)
def test_a_value_names_a_model_or_nothing(label: str, value: str, model: str) -> None:
    assert model_of(label, value) == model


def test_all_labels_of_a_simulated_machine_name_one_model() -> None:
    named = [
        {
            model_of(GFD, row.model.product.replace(" ", "-")),
            *([model_of(GKE, row.model.gke)] if row.model.gke else ()),
            *([model_of(KARPENTER, row.model.karpenter)] if row.model.karpenter else ()),
        }
        for row in SHAPES.values()
        if row.model.vendor == "nvidia"
    ]
    assert len(named) > 10
    assert [each for each in named if len(each) > 1] == []

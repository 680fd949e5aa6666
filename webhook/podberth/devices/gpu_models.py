"""Finds the GPU model in the labels of a node. Vendors and clouds spell the name of a model differently."""

import re
from collections.abc import Mapping
from typing import Final

# A maker's name may stand in front of the model. Boards of one model that differ in memory or in form count as one.
_NAMED: Final = re.compile(
    r"(?:(?:NVIDIA|Tesla|AMD|Instinct)[-_ ]){0,2}"
    r"(A(?:2|10G?|16|30|40|100|800)|G?B[23]00|GH200|H(?:20|100|200|800)|K80|L(?:4|40S?)|M60|P(?:4|100)|T4G?|V100"
    r"|MI[23]\d\dX?)(?:[-_ ]|$)",
    re.IGNORECASE,
)

_VARIANT: Final = re.compile(r"(?<=A10)G$|(?<=\d)X$")

MODEL_LABELS: Final[Mapping[str, str]] = {
    "nvidia.com/gpu.product": "GPU feature discovery: NVIDIA/k8s-device-plugin docs/gpu-feature-discovery/README.md",
    "cloud.google.com/gke-accelerator": "https://cloud.google.com/kubernetes-engine/docs/concepts/gpus",
    "karpenter.k8s.aws/instance-gpu-name": "https://karpenter.sh/docs/reference/instance-types/",
    "k8s.amazonaws.com/accelerator": "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
    "karpenter.azure.com/sku-gpu-name": "Azure/karpenter-provider-azure pkg/apis/v1beta1/labels.go",
    "gpu.nvidia.com/model": "https://docs.coreweave.com/docs/products/cks/nodes/nodes-overview",
    "gpu.nvidia.com/class": "https://docs.coreweave.com/docs/products/cks/nodes/nodes-overview",
    "amd.com/gpu.product-name": "ROCm/k8s-device-plugin cmd/k8s-node-labeller/README.md",
}
"""A mapping from each node label whose value names the GPU model to the source of this knowledge."""


def model_of(label: str, value: str) -> str:
    """Return the GPU model, such as "H100", that the value of a node's label names; empty if not known.

    Clouds do not distinguish some models, which count as one: A10 and A10G, MI250 and MI250X, B200 and GB200.
    """
    found = _NAMED.match(value) if label in MODEL_LABELS else None
    if not found:
        return ""
    model = found[1].upper()
    return model.removeprefix("G") if model.startswith("GB") else _VARIANT.sub("", model)

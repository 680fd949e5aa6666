"""Facts about Dynamic Resource Allocation (DRA): claims, claim templates, and drivers' kinds that make claim templates.

No object of these kinds makes pods. ``devices.claims`` reads the requests of a claim and the devices that the claim
gives a pod.
"""

from typing import Final

from ..dossier import Dossier

DOSSIER: Final = Dossier(
    name="Dynamic Resource Allocation",
    versions={"kubernetes/api": "v0.36.3", "kubernetes-sigs/dra-driver-nvidia-gpu": "95932046, after v0.4.1"},
    # kubernetes/api resource/v1; kubernetes-sigs/dra-driver-nvidia-gpu api/nvidia.com/resource/v1beta1
    podless_groups=frozenset({"resource.k8s.io", "resource.nvidia.com", "gpu.resource.nvidia.com"}),
)

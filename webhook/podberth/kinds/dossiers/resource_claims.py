"""Dynamic Resource Allocation: claims, their templates, and the kinds of drivers that make templates. None makes pods.

``devices.claims`` reads the requests of a claim and the devices that it gives a pod.
"""

from typing import Final

from ..dossier import Dossier

DOSSIER: Final = Dossier(
    name="Dynamic Resource Allocation",
    # kubernetes/api resource/v1; NVIDIA/k8s-dra-driver-gpu api/nvidia.com/resource/v1beta1
    podless_groups=frozenset({"resource.k8s.io", "resource.nvidia.com", "gpu.resource.nvidia.com"}),
)

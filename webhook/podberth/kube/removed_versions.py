"""The versions of Kubernetes' own groups that the API server no longer serves.

https://kubernetes.io/docs/reference/using-api/deprecation-guide/; no resource/v1alpha2 in k8s.io/api v0.31
"""

from collections.abc import Mapping
from typing import Final

REMOVED: Final[Mapping[tuple[str, str], str]] = {
    ("admissionregistration.k8s.io", "v1beta1"): "1.22",
    ("apps", "v1beta1"): "1.16",
    ("apps", "v1beta2"): "1.16",
    ("autoscaling", "v2beta1"): "1.25",
    ("autoscaling", "v2beta2"): "1.26",
    ("batch", "v1beta1"): "1.25",
    ("batch", "v2alpha1"): "1.21",
    ("extensions", "v1beta1"): "1.22",
    ("flowcontrol.apiserver.k8s.io", "v1beta1"): "1.26",
    ("flowcontrol.apiserver.k8s.io", "v1beta2"): "1.29",
    ("flowcontrol.apiserver.k8s.io", "v1beta3"): "1.32",
    ("node.k8s.io", "v1beta1"): "1.25",
    ("policy", "v1beta1"): "1.25",
    ("resource.k8s.io", "v1alpha2"): "1.31",
    ("scheduling.k8s.io", "v1beta1"): "1.22",
    ("storage.k8s.io", "v1beta1"): "1.27",
}
"""For a group and version: the release from which on no kind of that version is served."""

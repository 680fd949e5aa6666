"""Finds amounts of accelerators in quotas that Kubernetes never counts, so that the quota limits nothing."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..devices.resources import NVIDIA_GPU, is_counted, recognise
from ..kube.paths import Path
from ..kube.walk import values

_HARD: Final = "hard"
"""The map of a ResourceQuota, and of the kinds of which operators make ResourceQuotas."""
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_OLD: Final = {"alpha.kubernetes.io/nvidia-gpu": NVIDIA_GPU}
"""The names that no release of Kubernetes serves any more, and their successors.

Source: the changelog of Kubernetes 1.11, in which the feature gate Accelerators was removed.
"""


def uncounted(content: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each amount of an accelerator that no ResourceQuota counts, in the document's order.

    Kubernetes counts a device under ``requests.`` and its name alone (kubernetes/pkg/quota/v1/evaluator/core/pods.go,
    isExtendedResourceNameForQuota), and takes any other name in silence. HAMi counts ``limits.`` itself
    (Project-HAMi/HAMi pkg/device/quota.go), and is meant where the quota has a property of its devices. Without
    ``requests.`` beside it nothing else limits the device.
    """
    for path, hard in values(content):
        if path[-1:] != (_HARD,) or not isinstance(hard, Mapping) or any(map(_is_of_hami, hard)):
            continue
        for key in hard:
            device = str(key).removeprefix(_LIMITS)
            new = _OLD.get(device.removeprefix(_REQUESTS))
            if new and f"{_REQUESTS}{new}" not in hard:
                yield (*path, key), f"got {key}, a name that no node has since Kubernetes 1.11; write {_REQUESTS}{new}"
            elif is_counted(device) and f"{_REQUESTS}{device}" not in hard:
                yield (*path, key), f"got {key}, which no quota of Kubernetes counts; write {_REQUESTS}{device}"


def _is_of_hami(key: object) -> bool:
    known = recognise(str(key).removeprefix(_LIMITS))
    return known is not None and known.kind == "modifier"

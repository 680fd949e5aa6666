"""The amounts of resources that pods request and nodes have, in thousandths of a unit; amounts as text."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from .pod import CONTAINER_KINDS, kind_of
from .quantity import parse_quantity, reserved
from .unchecked import mapping_at

Amounts = Mapping[str, int]
"""Amounts of resources by the resource's name, in thousandths: 1000 of ``nvidia.com/gpu`` is one GPU, of ``memory`` one
byte.
"""

POD_SLOTS: Final = "pods"
"""The name of the resource of which each pod takes one unit on its node."""
_UNIT: Final = 1000
_GIB: Final = 2**30
_MIB: Final = 2**20


@lru_cache(maxsize=8192)
def amount(value: str | float | None) -> int:
    """Return a Kubernetes quantity in thousandths, rounded up; 0 if the value is no quantity."""
    try:
        return -int(-parse_quantity(value) * _UNIT // 1)
    except ValueError:
        return 0


def requested(pod: Mapping[str, Any]) -> dict[str, int]:
    """Return a mapping from resource to the amount that the scheduler reserves for a pod on a node, in thousandths.

    The resource ``pods`` has the amount of one pod. Amounts of zero are left out. Source: PodRequests,
    component-helpers resource/helpers.go; pod-level resources of KEP-2837 replace the sum of the containers' requests.
    """
    spec = mapping_at(pod, "spec")
    found = reserved(_each(spec))
    for name, value in mapping_at(spec, "resources", "requests").items():
        found[name] = amount(value)
    for name, value in mapping_at(spec, "overhead").items():
        found[name] = found.get(name, 0) + amount(value)
    return {name: each for name, each in found.items() if each} | {POD_SLOTS: _UNIT}


def _each(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    # Without ``pod.containers``: all pods of a cluster are asked, and half of the time would go into its objects.
    for key, kind in CONTAINER_KINDS:
        for body in spec.get(key) or ():
            resources = body.get("resources") or {}
            # The API server copies an absent request from its limit, but for manifests that it has not seen.
            for name, value in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
                yield kind_of(kind, body), name, amount(value)


def amounts(found: Mapping[str, Any]) -> dict[str, int]:
    """Return a node's field ``allocatable`` as a mapping from resource to amount, in thousandths of a unit."""
    return {name: amount(value) for name, value in found.items()}


def is_device(resource: str) -> bool:
    """Return whether a resource is an extended resource, as a device plugin offers: the name has a domain."""
    return "/" in resource and not resource.startswith("kubernetes.io/")


def shown(resource: str, thousandths: int) -> str:
    """Return an amount as text, followed by the resource: ``8 nvidia.com/gpu``, ``500m cpu``, ``32Gi memory``."""
    return f"{number(resource, thousandths)} {resource}"


def number(resource: str, thousandths: int) -> str:
    """Return an amount as text, without the resource's name."""
    if resource == "memory" or resource.startswith(("ephemeral-storage", "hugepages-")):
        size = thousandths // _UNIT
        return f"{size / _GIB:.4g}Gi" if abs(size) >= _GIB else f"{size / _MIB:.4g}Mi" if size else "0"
    return f"{thousandths // _UNIT:,}" if thousandths % _UNIT == 0 else f"{thousandths}m"

"""How large a pod may be to be decided on, and whether one is larger.

The bounds are those of the largest pod that anybody could mean: an object of more bytes is no object of etcd's, and the
lists are far beyond what runs. What an expression costs at most (``cel.cost``) is worked out for a pod of this size,
so a pod that is larger is never shown to one.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from .paths import ELEMENT
from .shape import CONTAINER_LISTS

MAX_BYTES = 1_572_864
"""1.5 MiB, etcd's default for a request (etcd --max-request-bytes): what is larger cannot be stored."""

MAX_NAME_BYTES = 253
"""What the apiserver takes for a name (DNS1123SubdomainMaxLength), which it checks behind mutating webhooks."""
NAMES = frozenset({("metadata", "name"), ("metadata", "generateName"), ("metadata", "namespace")})
"""What is a name and has that bound, by its path below the pod."""

CONTAINERS = 200
"""Of each kind. A kubelet runs 110 pods (kubelet --max-pods) on a node; nobody has more containers than that in one."""
ENTRIES = 1_000
"""Of any list or map that has no bound of its own."""
GPU_REQUESTS = 400
"""Of accelerator resources in all containers together: two for each."""

# Environment: MAX_BYTES of entries of 170 bytes, with a name and a value of usual length.
_OF_A_CONTAINER: Mapping[tuple[str, ...], int] = {
    ("env",): 9_000,
    ("envFrom",): ENTRIES,
    ("args",): ENTRIES,
    ("command",): ENTRIES,
    ("ports",): ENTRIES,
    ("volumeMounts",): ENTRIES,
    ("volumeDevices",): ENTRIES,
    ("resizePolicy",): ENTRIES,
    ("resources", "limits"): ENTRIES,
    ("resources", "requests"): ENTRIES,
    ("resources", "claims"): ENTRIES,
}
_OF_THE_POD: Mapping[tuple[str, ...], int] = {
    ("metadata", "labels"): ENTRIES,
    ("metadata", "annotations"): ENTRIES,
    ("metadata", "finalizers"): ENTRIES,
    ("metadata", "ownerReferences"): ENTRIES,
    ("spec", "nodeSelector"): ENTRIES,
    ("spec", "tolerations"): 5_100,  # 5,000, and room for what policies add
    ("spec", "volumes"): ENTRIES,
    ("spec", "imagePullSecrets"): ENTRIES,
    ("spec", "resourceClaims"): ENTRIES,
    ("spec", "schedulingGates"): ENTRIES,
    ("spec", "topologySpreadConstraints"): ENTRIES,
    ("spec", "hostAliases"): ENTRIES,
    ("spec", "readinessGates"): ENTRIES,
    **{("spec", name): CONTAINERS for name in CONTAINER_LISTS},
}
LARGEST: Mapping[tuple[str, ...], int] = {
    **_OF_THE_POD,
    **{("spec", name, ELEMENT, *path): most for name in CONTAINER_LISTS for path, most in _OF_A_CONTAINER.items()},
}
"""The most entries of a list or map, by its path below the pod; of all containers of a kind together."""

_BOUNDS = tuple(
    (part, tuple((path[1], most) for path, most in _OF_THE_POD.items() if path[0] == part))
    for part in ("spec", "metadata")
)
_DIRECT = tuple((path[0], most) for path, most in _OF_A_CONTAINER.items() if len(path) == 1)
_RESOURCES = tuple((path[1], most) for path, most in _OF_A_CONTAINER.items() if len(path) > 1)
_NAMED = sorted(field for _, field in NAMES)
# What every list and map of an ordinary pod stays below; the least of all bounds, over any few containers.
_SMALL = 100
_FEW = 10
_COLLECTIONS = frozenset({list, dict})


def excess(pod: Mapping[str, Any], at_most_bytes: int | None = None) -> str:
    """Say what of a pod of the right shape (``kube.shape``) is beyond its bound, or beyond JSON; empty if nothing.

    Args:
        pod: the pod.
        at_most_bytes: what the pod is certainly no larger than as JSON, where that is known: it saves measuring.
    """
    if at_most_bytes is None or at_most_bytes > MAX_BYTES:
        try:
            size = len(orjson.dumps(pod))
        except TypeError as error:  # a number beyond 64 bits, or nested more deeply than orjson writes: from a file
            return f"no API server sends such a pod: {error}"
        if size > MAX_BYTES:
            return f"the pod is too large to be decided on: got {size:,} bytes, want {MAX_BYTES:,} at most"
    metadata = pod.get("metadata") or {}
    for field in _NAMED:
        if field in metadata and len(metadata[field] or "") > MAX_NAME_BYTES:
            return f"the pod is too large to be decided on: metadata.{field}: want {MAX_NAME_BYTES} characters at most"
    return "" if _is_small(pod) else _long(pod)


def _is_small(pod: Mapping[str, Any]) -> bool:
    """Say whether it is certainly within all bounds, at a glance: this runs on every review."""
    spec = pod.get("spec") or {}
    containers = [each for name in CONTAINER_LISTS if spec.get(name) for each in spec[name]]
    if len(containers) > _FEW:
        return False
    resources = [each["resources"] for each in containers if each.get("resources")]
    for holder in (spec, pod.get("metadata") or {}, *containers, *resources):
        for value in holder.values():
            if type(value) in _COLLECTIONS and len(value) > _SMALL:
                return False
    return True


def _long(pod: Mapping[str, Any]) -> str:
    """Say which list or map is beyond its bound; empty if none."""
    for name in CONTAINER_LISTS:
        containers = (pod.get("spec") or {}).get(name)
        if containers and (said := _of_containers(name, containers)):
            return said
    for part, bounds in _BOUNDS:
        holder = pod.get(part) or {}
        for name, most in bounds:
            if name in holder and _length(holder[name]) > most:
                return _said(f"{part}.{name}", _length(holder[name]), most)
    return ""


def _of_containers(name: str, containers: list[Mapping[str, Any]]) -> str:
    for field, most in _DIRECT:
        found = sum([_length(each[field]) for each in containers if field in each])
        if found > most:
            return _said(f"spec.{name}[*].{field}", found, most)
    resources = [each["resources"] for each in containers if each.get("resources")]
    for field, most in _RESOURCES:
        found = sum([_length(each[field]) for each in resources if field in each])
        if found > most:
            return _said(f"spec.{name}[*].resources.{field}", found, most)
    return ""


def _length(value: object) -> int:
    """Return how many entries; none of what is no list and no map, which no expression can go through."""
    return len(value) if isinstance(value, list | dict) else 0


def _said(where: str, got: int, most: int) -> str:
    return f"the pod is too large to be decided on: {where}: got {got:,} entries, want {most:,} at most"

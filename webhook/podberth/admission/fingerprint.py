"""Computes a pod's fingerprint: the values that policies read from the pod, as a key of cached results.

Pods with equal fingerprints get equal results.
"""

from collections.abc import Callable, Hashable, Mapping
from operator import attrgetter
from typing import Any

import orjson

from ..cel.typing import DECLARED
from ..kube.pod import spec
from ..kube.pruned import pruned
from ..kube.shape import RESOURCED_LISTS
from ..workload.gangs import Gang
from ..workload.gpus import GpuFacts
from .description import Description
from .recall import Footprint
from .under_review import PodUnderReview

# A cached fingerprint has a few KiB at most, because anybody can send a pod of a megabyte.
_LONGEST_VALUES = 4096
# For the largest pod each fingerprint takes up to 20 ms, and its values are too long in the end.
_MOST_BYTES = 128 * 1024

# The functions that return the fields of CEL's ``gpu`` and ``gang``; a list or object is compared as a whole.
_GPU_FIELDS: dict[str, Callable[[GpuFacts], Hashable]] = {
    "count": attrgetter("count"),
    "devices": attrgetter("devices"),
    "perContainer": attrgetter("per_container"),
    "kind": attrgetter("kind"),
    "vendor": attrgetter("vendor"),
    "memoryMiB": attrgetter("memory_mib"),
    "requests": attrgetter("requests"),
    "claims": attrgetter("claims"),
}


def _of_requests(field: str) -> Callable[[GpuFacts], Hashable]:
    return lambda gpu: tuple([getattr(request, field) for request in gpu.requests])


_GPU_FIELDS |= {f"requests.{field}": _of_requests(field) for field in DECLARED["podberth.GpuRequest"]}
_GPU_FIELDS["requests."] = lambda gpu: len(gpu.requests)
_GANG_FIELDS: Mapping[str, Callable[[Gang], Hashable]] = {
    field: attrgetter(field) for field in DECLARED["podberth.Gang"]
}
# ``gate`` decides what policies may write on a system's pod by these attributes, not by the system alone.
_GANG_COMPARED: Mapping[str, Callable[[Gang], Hashable]] = {
    **_GANG_FIELDS,
    "system": attrgetter("system", "accounted", "alone", "asks_topology", "topology_needs"),
}


def fact_of(description: Description, variable: str, field: str) -> Any:
    """Return the value of the field ``field`` of the CEL variable ``variable``, which is "gpu" or "gang"."""
    return _GPU_FIELDS[field](description.gpu) if variable == "gpu" else _GANG_FIELDS[field](description.gang)


def fingerprint(under: PodUnderReview, read: Footprint | None) -> tuple[Hashable, Hashable, Hashable, bytes] | None:
    """Return the fingerprint of the pod under review: the values that expressions with the footprint ``read`` read.

    Expressions have equal results for two pods with equal fingerprints. The fingerprint has four parts: the fields of
    the CEL variable ``gpu``; the fields of the CEL variable ``gang``; the needs of the pod and of the roles of the
    pod's gang (None if no expression searches nodes); the JSON of the values at the footprint's paths in the pod. None
    if ``read`` is None, or if the review or the values are too large for a key.
    """
    pod, description = under.pod, under.description
    if read is None or not description.comparable or (under.request.size_bytes or 0) > _MOST_BYTES:
        return None
    gpu = tuple([_GPU_FIELDS[field](description.gpu) for field in read.gpu])
    gang = tuple([_GANG_COMPARED[field](description.gang) for field in read.gang])
    need = (description.need, description.review.roles) if read.need else None
    if not read.paths:
        return gpu, gang, need, b""
    try:
        found = pruned(pod, read.tree)
        values = orjson.dumps([found, _resources(pod)] if read.containers else found)
    except TypeError:  # a number beyond 64 bits, which no Pod of an API server has
        return None
    return (gpu, gang, need, values) if len(values) <= _LONGEST_VALUES else None


def _resources(pod: dict[str, Any]) -> list[Any]:
    """Return the names and resources of all containers, from which the CEL variable ``gpu`` is computed."""
    pod_spec = spec(pod)
    return [
        [
            [container.get(field) for field in ("name", "restartPolicy", "resources")]
            for container in pod_spec.get(kind) or ()
        ]
        for kind in RESOURCED_LISTS
    ]

"""The scheduler's reservation for a pod: the sum of its containers, as they run at the same time (KEP-753)."""

from collections.abc import Iterable
from typing import Final

LARGEST_AMOUNT: Final = 2**63 - 1
"""CEL's int has 64 bits (cel-spec, langdef, "Values"); a sum of quantities, each of at most that, may have more."""


def reserved(found: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Return the reservation of each resource: max(init + sidecars before it, main + sidecars).

    ``found`` are the kind of a container, a resource and its amount there, in the pod's order. Source:
    AggregateContainerRequests, component-helpers resource/helpers.go (KEP-753).
    """
    running: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    peaks: dict[str, int] = {}
    for kind, resource, quantity in found:
        if kind == "init":
            peaks[resource] = max(peaks.get(resource, 0), quantity + sidecars.get(resource, 0))
            continue
        if kind == "ephemeral":
            continue  # those hold no resources
        running[resource] = running.get(resource, 0) + quantity
        if kind == "sidecar":
            sidecars[resource] = sidecars.get(resource, 0) + quantity
    for resource, peak in peaks.items():
        running[resource] = max(running.get(resource, 0), peak)
    return {resource: min(quantity, LARGEST_AMOUNT) for resource, quantity in running.items()}

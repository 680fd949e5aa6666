"""Finds the pods that ask for more accelerators, or for other nodes, than the known nodes have."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from ..devices.resources import TABLE
from ..kube.pod import containers
from ..kube.quantity import is_some
from ..kube.unchecked import mapping_at
from ..words import named
from .description import describe
from .snapshot import Snapshot

# The domains of the resources that device plugins serve; "hugepages-1Gi" has none.
_DOMAINS: Final = frozenset(name.partition("/")[0] for name in TABLE)
# How resources end that only the scheduler of a sharing dialect counts, such as huawei.com/Ascend910B-memory of HAMi.
_PARTS: Final = ("core", "cores", "mem", "memory", "percentage", "priority")


def fits_no_node(pod: dict[str, Any], namespace: str, snapshot: Snapshot) -> bool:
    """Return whether nodes are known, and none has the accelerators and the labels that the pod asks for.

    Transient nodes count. Of taints, those that mark GPU nodes are not compared, nor is declared GPU memory. A pod
    without accelerators fits, unless it asks for a resource in the domain of a vendor that no node has.
    """
    if not snapshot.topology.node_count:
        return False
    description = describe(pod, namespace, snapshot)
    need = replace(description.need, memory_mib=0)
    if need.requests:
        return description.concerned and not snapshot.topology.nodes(need).exist
    limits = (mapping_at(each.body, "resources", "limits") for each in containers(pod))
    return any(is_some(amount) and _is_nowhere(name, snapshot) for each in limits for name, amount in each.items())


def _is_nowhere(resource: str, snapshot: Snapshot) -> bool:
    if resource in TABLE or resource.partition("/")[0] not in _DOMAINS or resource.endswith(_PARTS):
        return False
    return not snapshot.topology.offers(resource) and resource not in snapshot.facts.class_resources


def unplaced_text(objects: Collection[str]) -> str:
    """Return the message that pods of ``objects`` fit no known node, with what the user can do."""
    return f"no known node has what these ask for: {named(objects)}; podberth explain says why"

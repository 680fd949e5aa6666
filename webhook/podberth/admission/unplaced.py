"""Finds the pods that ask for more accelerators, or for other nodes, than the known nodes have."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from ..words import named
from .description import describe
from .snapshot import Snapshot


def fits_no_node(pod: dict[str, Any], namespace: str, snapshot: Snapshot) -> bool:
    """Return whether nodes are known, and none has the accelerators and the labels that the pod asks for.

    Transient nodes count. Of taints, those that mark GPU nodes are not compared, nor is declared GPU memory. A pod
    without accelerators fits.
    """
    if not snapshot.topology.node_count:
        return False
    description = describe(pod, namespace, snapshot)
    need = replace(description.need, memory_mib=0)
    return bool(need.requests) and description.concerned and not snapshot.topology.nodes(need).exist


def unplaced_text(objects: Collection[str]) -> str:
    """Return the message that pods of ``objects`` fit no known node, with what the user can do."""
    return f"no known node has what these ask for: {named(objects)}; podberth explain says why"

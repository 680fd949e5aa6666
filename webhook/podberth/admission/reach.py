"""Finds the nodes that could run a pod, as the scheduler's filters would select them.

Devices, taints, nodeSelector and required node affinity are compared; CPU and memory are assumed to suffice. Transient
nodes are left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..conventions import Conventions
from ..kube.selector import node_selector_matches, prepared, tolerated
from ..kube.unchecked import mapping_at
from ..topology.holdings import Holdings
from ..topology.index import Need, NodeSelection, TopologyIndex
from ..topology.need import NODE_NAME_FIELD
from ..topology.node import Node
from ..workload.gpus import gpu_facts

# PreferNoSchedule excludes no node.
_REPELLING = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True)
class PodReach:
    """The names of the nodes that could run a pod, and of the preferred nodes.

    ``preferred`` has the nodes with the highest weight by the pod's preferred node affinity; empty if all nodes have an
    equal weight.
    """

    nodes: tuple[str, ...]
    preferred: tuple[str, ...]
    free: tuple[str, ...] | None = None
    """The names of the nodes in ``nodes`` on which the pod's devices are free at the moment of the snapshot. None if
    podberth does not know which devices are free, or if the pod requests no devices."""


class ReachableCluster:
    """An index of a cluster's nodes that finds the nodes on which a pod could run."""

    def __init__(
        self, nodes: Iterable[Node], conventions: Conventions | None = None, holdings: Holdings | None = None
    ) -> None:
        """Index the nodes. ``conventions`` has the cluster's names of levels and labels; None means the defaults.

        ``holdings`` are the devices that pods already hold on the nodes; None if unknown.
        """
        self._holdings = holdings
        self._nodes = {node.name: node for node in nodes}
        self._index = TopologyIndex.build(self._nodes.values(), conventions)

    @property
    def node_count(self) -> int:
        """The number of nodes in the index."""
        return len(self._nodes)

    def reach(self, pod: Mapping[str, Any]) -> PodReach:
        """Return the sorted names of the nodes that could run a pod, and of the preferred nodes.

        Transient nodes are left out. DRA claims and the annotation ``podberth.io/gpu-memory`` are ignored.
        """
        spec = mapping_at(pod, "spec")
        # Declared GPU memory is left out, because the scheduler does not know it.
        totals = gpu_facts(pod).totals
        need = Need(totals, selector=NodeSelection.of(spec))
        fitting = self._index.nodes(need).durable_names()
        nodes = tuple(name for name in fitting if _admits(self._nodes[name], spec.get("tolerations") or ()))
        free = self._holdings.with_room(nodes, totals) if self._holdings is not None and totals else None
        return PodReach(nodes, self._preferred(nodes, spec), free)

    def _preferred(self, names: tuple[str, ...], spec: Mapping[str, Any]) -> tuple[str, ...]:
        affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
        weighted = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        wanted = [(item.get("weight") or 0, prepared([item.get("preference") or {}])) for item in weighted]
        scores = {
            name: sum(
                weight
                for weight, terms in wanted
                if node_selector_matches(terms, self._nodes[name].labels, {NODE_NAME_FIELD: name})
            )
            for name in names
        }
        best = max(scores.values(), default=0)
        preferred = tuple(name for name in names if scores[name] == best)
        return preferred if best > 0 and len(preferred) < len(names) else ()


def _admits(node: Node, tolerations: Iterable[Mapping[str, Any]]) -> bool:
    wanted = list(tolerations)
    return all(tolerated(wanted, taint._asdict()) for taint in node.taints if taint.effect in _REPELLING)

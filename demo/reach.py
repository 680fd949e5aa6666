"""Where a pod could run: the question that the scheduler's filters answer, asked of a cluster's documents.

Devices, taints, nodeSelector and required node affinity decide; CPU and memory are plenty in the demonstrations.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from podberth.kube.selector import node_selector_matches, tolerated
from podberth.topology.index import Need, NodeSelection, TopologyIndex
from podberth.topology.model import Node
from podberth.topology.objects import collect
from podberth.workload.gpus import gpu_facts

Document = dict[str, Any]

# PreferNoSchedule keeps nothing away.
_REPELLING = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True)
class Reach:
    """The nodes that could run a pod, and those of them that its node affinity prefers most (none: no difference)."""

    nodes: tuple[str, ...]
    preferred: tuple[str, ...]


class Cluster:
    """The nodes of a cluster."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Read Nodes and topology ConfigMaps."""
        objects = collect(documents, now=None)
        self._nodes = {node.name: node for node in objects.nodes}
        self._index = TopologyIndex.build(objects.nodes)

    def reach(self, pod: Document) -> Reach:
        """Say where a pod could run."""
        spec = pod["spec"]
        # Declared GPU memory is left out: the scheduler knows nothing of it.
        need = Need(gpu_facts(pod).totals, selector=NodeSelection.of(spec))
        fitting = self._index.nodes(need).durable_names()
        nodes = tuple(name for name in fitting if _admits(self._nodes[name], spec.get("tolerations") or ()))
        return Reach(nodes, self._preferred(nodes, spec))

    def _preferred(self, names: tuple[str, ...], spec: Document) -> tuple[str, ...]:
        affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
        weighted = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        scores = {
            name: sum(
                item["weight"]
                for item in weighted
                if node_selector_matches([item["preference"]], self._nodes[name].labels, {"metadata.name": name})
            )
            for name in names
        }
        best = max(scores.values(), default=0)
        wanted = tuple(name for name in names if scores[name] == best)
        return wanted if best > 0 and len(wanted) < len(names) else ()


def _admits(node: Node, tolerations: Iterable[Document]) -> bool:
    wanted = list(tolerations)
    return all(tolerated(wanted, taint.as_dict()) for taint in node.taints if taint.effect in _REPELLING)

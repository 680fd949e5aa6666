"""Finds the nodes that could run a pod, as the scheduler's filters would select them.

Devices, taints, nodeSelector and required node affinity are compared; CPU and memory are assumed to suffice. Transient
nodes are left out.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..conventions import Conventions
from ..devices.claims import NO_DEVICES, KnownDevices
from ..devices.resources import COUNTED_KINDS
from ..kube.selector import node_selector_matches, prepared, tolerated
from ..kube.unchecked import mapping_at, text_at
from ..topology.holdings import Holdings, Tally
from ..topology.index import Need, NodeSelection, TopologyIndex
from ..topology.need import NODE_NAME_FIELD, Tolerations
from ..topology.node import Node, Taint
from ..words import named
from ..workload.gpus import GpuFacts, gpu_facts

# PreferNoSchedule excludes no node.
_REPELLING = frozenset({"NoSchedule", "NoExecute"})
# The index then compares everything but taints, which are compared here.
_ALL_TAINTS: Tolerations = frozenset({("", "Exists", "", "")})
_REASONS = (_OUT_OF_USE, _DEVICES, _SELECTION, _TAINTS) = (
    "out of use",
    "without the devices",
    "by nodeSelector or affinity",
    "by taints",
)
"""The reasons why a pod cannot run on a node, as they follow a number of nodes."""


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
    use: tuple[tuple[str, Tally], ...] = ()
    """The use of each of the pod's resources on ``nodes``, by the resource's name.

    For a pod that gets its accelerators by claims alone, the use of the devices of DRA drivers on ``nodes``. Empty if
    the use is unknown.
    """
    excluded: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The reasons why the pod could not run on the other nodes, each with the sorted names of the nodes.

    A node counts under its first reason: it is out of use, it lacks the devices, the pod's nodeSelector or affinity
    leaves it out, or the pod does not tolerate its taints.
    """


class ReachableCluster:
    """An index of a cluster's nodes that finds the nodes on which a pod could run."""

    def __init__(
        self,
        nodes: Iterable[Node],
        conventions: Conventions | None = None,
        holdings: Holdings | None = None,
        devices: KnownDevices = NO_DEVICES,
    ) -> None:
        """Index the nodes. ``conventions`` has the cluster's names of levels and labels; None means the defaults.

        ``holdings`` are the devices that pods already hold on the nodes; None if unknown. ``devices``
        are the known claims.
        """
        self._holdings = holdings
        self._devices = devices
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
        spec, tolerations = mapping_at(pod, "spec"), list(mapping_at(pod, "spec").get("tolerations") or ())
        # Declared GPU memory is left out, because the scheduler does not know it.
        facts = gpu_facts(pod, text_at(pod, "metadata", "namespace"), self._devices)
        totals = facts.totals
        selector = NodeSelection.of(spec)
        fitting = self._index.nodes(Need(totals, selector=selector, tolerations=_ALL_TAINTS)).durable_names()
        nodes = tuple(name for name in fitting if not _repelling(self._nodes[name], tolerations))
        free = self._holdings.with_room(nodes, totals) if self._holdings is not None and totals else None
        return PodReach(
            nodes,
            self._preferred(nodes, spec),
            free,
            self._use(nodes, facts),
            self._excluded(nodes, totals, fitting, tolerations),
        )

    def _use(self, nodes: tuple[str, ...], facts: GpuFacts) -> tuple[tuple[str, Tally], ...]:
        """Return the use of the pod's devices on nodes (``PodReach.use``). ``facts`` has the pod's devices."""
        known = self._holdings.nodes if self._holdings is not None else {}
        uses = [known[name] for name in nodes if name in known]
        names = [name for name, _ in facts.totals]
        if not names and any(each.kind in COUNTED_KINDS for each in facts.claims):
            names = sorted({each.resource for use in uses for each in use.claimed})
        tallies = ((name, Tally.of(uses, name)) for name in names)
        return tuple((name, tally) for name, tally in tallies if tally.allocatable)

    def _excluded(
        self,
        nodes: tuple[str, ...],
        totals: tuple[tuple[str, int], ...],
        fitting: tuple[str, ...],
        tolerations: list[Mapping[str, Any]],
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the reasons why the pod could not run on the nodes that are not in ``nodes``.

        ``totals`` has the pod's devices. ``fitting`` has the nodes with the devices that the pod's labels select.
        """
        equipped = set(self._index.nodes(Need(totals, tolerations=_ALL_TAINTS)).durable_names())
        selected, reached = set(fitting), set(nodes)
        found: dict[str, list[str]] = {why: [] for why in _REASONS}
        details: dict[str, set[str]] = {why: set() for why in _REASONS}
        for name, node in sorted(self._nodes.items()):
            if node.transient:
                why = _OUT_OF_USE
                details[why].add(node.transient)
            elif name not in equipped:
                why = _DEVICES
            elif name not in selected:
                why = _SELECTION
            elif name not in reached:
                why = _TAINTS
                details[why].update(map(_shown, _repelling(node, tolerations)))
            else:
                continue
            found[why].append(name)
        details[_DEVICES] = set(_lacking(totals, [self._nodes[name].durable for name in found[_DEVICES]]))
        return tuple(
            (f"{why} ({named(sorted(details[why]))})" if details[why] else why, tuple(names))
            for why, names in found.items()
            if names
        )

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


def _lacking(totals: tuple[tuple[str, int], ...], offers: Collection[Mapping[str, int]]) -> Iterator[str]:
    """Yield for each resource of which a node offers less than ``totals`` how much is asked, and the largest offer."""
    for resource, units in totals:
        amounts = [each.get(resource, 0) for each in offers]
        if min(amounts, default=units) < units:
            yield f"want {units} {resource}, got {max(amounts)} at most"


def _repelling(node: Node, tolerations: list[Mapping[str, Any]]) -> list[Taint]:
    """Return the taints of a node that keep the pod off it."""
    return [
        taint for taint in node.taints if taint.effect in _REPELLING and not tolerated(tolerations, taint._asdict())
    ]


def _shown(taint: Taint) -> str:
    """Return a taint as kubectl writes it: ``key=value:effect``."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"

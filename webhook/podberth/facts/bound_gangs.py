"""Finds the gangs whose pods are bound to nodes, among the objects of a snapshot. No decision uses these facts."""

from collections.abc import Iterable

from ..devices.resources import is_counted
from ..errors import TopologyError
from ..kube.unchecked import is_pod
from ..topology.gang_spread import BoundGang
from ..topology.holdings import BoundPod, read_bound_pod
from ..workload.gangs import Gang, gang_of
from .cluster import ClusterFacts
from .object_kinds import Document, unlist


def bound_gangs(documents: Iterable[Document], facts: ClusterFacts) -> tuple[BoundGang, ...]:
    """Return the gangs of the pods that are bound to nodes and have not ended.

    ``facts`` are those of the same documents. A pod that cannot be read is left out; the holdings of the snapshot
    report it.
    """
    members: dict[tuple[str, str, str], dict[str, tuple[BoundPod, Gang]]] = {}
    for document in documents:
        for single in unlist(document):
            try:
                bound = read_bound_pod(single) if is_pod(single) else None
            except TopologyError:
                continue
            if bound is None:
                continue
            native = facts.native_groups.get(bound.namespace, frozenset())
            gang = gang_of(single, bound.namespace, facts.owners, native, facts.group_size, facts.devices)
            if gang.known:
                key = bound.namespace, gang.source, gang.name
                members.setdefault(key, {})[bound.name] = bound, gang
    return tuple(_gang(list(pods.values())) for _, pods in sorted(members.items()))


def _gang(pods: list[tuple[BoundPod, Gang]]) -> BoundGang:
    first, gang = pods[0]
    return BoundGang(
        namespace=first.namespace,
        name=gang.name,
        source=gang.source,
        size=gang.size,
        nodes=tuple(bound.node for bound, _ in pods),
        devices=sum(units for bound, _ in pods for resource, units in bound.devices if is_counted(resource)),
    )

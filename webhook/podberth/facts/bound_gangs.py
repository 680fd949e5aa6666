"""Finds the gangs whose pods are bound to nodes, among the objects of a snapshot. No decision uses these facts."""

from collections.abc import Iterable
from typing import Final

from ..devices.resources import is_counted
from ..errors import TopologyError
from ..kube.pod import controller
from ..kube.unchecked import is_pod
from ..topology.gang_spread import BoundGang
from ..topology.holdings import BoundPod, read_bound_pod
from ..workload.gangs import Gang, gang_of
from .cluster import ClusterFacts
from .object_kinds import Document, unlist

_MOST_OWNERS: Final = 4
"""The most owners above a pod that are looked at: a CronJob's JobSet has two below it. A wrong chain may be a ring."""


def bound_gangs(documents: Iterable[Document], facts: ClusterFacts) -> tuple[BoundGang, ...]:
    """Return the gangs of the pods that are bound to nodes and have not ended.

    ``facts`` are those of the same documents. A pod that cannot be read is left out; the holdings of the snapshot
    report it.
    """
    members: dict[tuple[str, str, str], dict[str, tuple[BoundPod, Gang, str]]] = {}
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
                members.setdefault(key, {})[bound.name] = bound, gang, _name(single, gang, facts)
    return tuple(_gang(list(pods.values())) for _, pods in sorted(members.items()))


def _name(pod: Document, gang: Gang, facts: ClusterFacts) -> str:
    """Return the name of the owner that defines a pod's gang, as users know it; else the gang's name, often a uid."""
    document: object = pod
    for _ in range(_MOST_OWNERS):
        owner = controller(document)
        if owner is None:
            break
        if owner.kind == gang.source:
            return owner.name
        document = facts.owners.get(owner.uid)
    return gang.name


def _gang(pods: list[tuple[BoundPod, Gang, str]]) -> BoundGang:
    first, gang, name = pods[0]
    return BoundGang(
        namespace=first.namespace,
        name=name,
        source=gang.source,
        size=gang.size,
        nodes=tuple(bound.node for bound, _, _ in pods),
        devices=sum(units for bound, _, _ in pods for resource, units in bound.devices if is_counted(resource)),
    )

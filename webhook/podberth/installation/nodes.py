"""The lines of ``podberth status`` about the cluster's GPUs.

The lines are about nodes, topology documents, agents that no longer send heartbeats, and unhealthy devices.
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, Final

from ..facts.cluster import ClusterFacts, collect
from ..topology.claimed_devices import claimed_use
from ..topology.device_use import DeviceUse
from ..topology.heartbeats import is_stale
from ..topology.holdings import NodeUse, Tally, uses_of
from ..topology.node import Node, Transient
from ..topology.overview import ClusterPicture, overview
from ..words import MOST_NAMED, counted, lasting, named
from .observation import Document, Fact, InstallationState, Replica, Row, Unread, as_list, readable, unread

_CONTACT: Final = "podberth_watch_contact_age_seconds"
# The same limit as Timing.silence_seconds in api.protocol: the API server sends a bookmark every minute.
_SILENCE_SECONDS: Final = 90
# States of a node that have lines of their own (``topology.node.Transient``).
_STALE: Final[Transient] = "stale"
_UNHEALTHY: Final[Transient] = "unhealthy GPU"


def topology(observed: InstallationState) -> Iterator[Row]:
    """Yield the report's lines about the state of the cluster's GPUs."""
    for name, part in (
        ("nodes", observed.nodes),
        ("documents", observed.topologies),
        ("heartbeats", observed.heartbeats),
        ("slices", observed.slices),
        ("claims", observed.claims),
    ):
        if isinstance(part, Unread):
            yield unread(name, part)
    if isinstance(observed.nodes, Unread):
        return
    # The documents are decoded as in a replica, so that those that a replica leaves out are left out here, too.
    objects = collect(listed(observed), now=observed.now)
    picture = overview(objects.nodes)
    yield _nodes(objects, picture)
    if not isinstance(observed.heartbeats, Unread) and not isinstance(observed.topologies, Unread):
        yield _heartbeats(observed.heartbeats, objects.nodes, observed.now)
    if replicas := readable(observed.replicas):
        yield _watches(replicas)
    if observed.bound is not None:
        yield from _free(uses_of(objects.nodes, observed.bound, _claimed(observed)).values())
    yield from _states(picture)
    if objects.problems:
        text = f"{counted(len(objects.problems), 'document')} unusable: {objects.problems[0]}"
        yield Row("unusable", "attention", text, {"problems": objects.problems})


def listed(observed: InstallationState) -> Iterator[dict[str, Any]]:
    """Yield a List of the Nodes, a List of the topology ConfigMaps, and a List of the heartbeat Leases."""
    yield from as_list(observed.nodes, "v1", "Node")
    yield from as_list(observed.topologies, "v1", "ConfigMap")
    yield from as_list(observed.heartbeats, "coordination.k8s.io/v1", "Lease")


def _nodes(objects: ClusterFacts, picture: ClusterPicture) -> Row:
    with_gpus = tuple(node for node in objects.nodes if node.durable or node.topology)
    machines = tuple(f"{each.count} x {each.kind.title}" for each in picture.kinds if each.kind.machine)
    undescribed = tuple(node.name for node in with_gpus if node.topology is None)
    facts: dict[str, Fact] = {
        "known": picture.nodes,
        "withGpus": len(with_gpus),
        "described": picture.described,
        "undescribed": undescribed,
    }
    text = f"{picture.nodes} known, {len(with_gpus)} with GPUs, {picture.described} with a document of their agent"
    if machines:
        text += f": {named(machines)}"
    if not objects.nodes:
        return Row("nodes", "attention", "none is known; see kubectl get nodes", facts)
    return Row("nodes", "ok", text, facts)


def _heartbeats(leases: tuple[Document, ...], nodes: tuple[Node, ...], now: datetime) -> Row:
    beating = {str(each["metadata"]["name"]): each for each in leases}
    described = [node.name for node in nodes if node.topology]
    # The node's state does not show it: a node that is both cordoned and silent has the state cordoned.
    stale = tuple(name for name in described if is_stale(beating.get(name), now))
    facts: dict[str, Fact] = {"fresh": len(described) - len(stale), "stale": stale}
    if stale:
        text = f"silent on {counted(len(stale), 'node')}, ignored: {named(stale)}; see the agents' logs"
        return Row("heartbeats", "attention", text, facts)
    return Row(
        "heartbeats", "ok", f"{len(described)} agents with a current heartbeat" if described else "no agent", facts
    )


def _watches(replicas: tuple[Replica, ...]) -> Row:
    """Return the report's line about the replica whose watch has received nothing for the longest time."""
    ages = {
        (value, replica.name, dict(labels).get("resource", ""))
        for replica in replicas
        for labels, value in replica.labelled(_CONTACT).items()
    }
    if not ages:
        return Row("watches", "note", "the replicas follow no cluster: their nodes come from files", {})
    age, name, resource = max(ages)
    facts: dict[str, Fact] = {"oldestSeconds": int(age), "replica": name, "resource": resource}
    if age > _SILENCE_SECONDS:
        text = f"{name} has received nothing about {resource} for {lasting(age)}; the last state is used; see its log"
        return Row("watches", "attention", text, facts)
    return Row("watches", "ok", f"every replica has received an update within {lasting(age)}", facts)


def _claimed(observed: InstallationState) -> dict[str, tuple[DeviceUse, ...]]:
    """Return the use of the devices of DRA drivers by the node's name; empty if not all slices and claims were read."""
    if isinstance(observed.slices, Unread) or isinstance(observed.claims, Unread):
        return {}
    return claimed_use(observed.slices, observed.claims)


def _free(use: Collection[NodeUse]) -> Iterator[Row]:
    """Yield the report's line about the free units of each accelerator resource, and of the devices of DRA drivers.

    Whole GPUs come first, then the resources with most units.
    """
    kinds = {each.resource: each.kind for node in use for each in (*node.accelerators, *node.claimed)}
    tallies = {name: found for name in kinds if (found := Tally.of(use, name)).allocatable}
    ordered = sorted(tallies.items(), key=lambda pair: (kinds[pair[0]] != "whole", -pair[1].allocatable, pair[0]))
    texts = tuple(
        f"{tally.free} of {tally.allocatable} {name}, at most {tally.most} on one node"
        f"{f', {tally.linked.text}' if tally.linked else ''}"
        for name, tally in ordered
    )
    if texts:
        more = f"; and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
        yield Row("free", "ok", "; ".join(texts[:MOST_NAMED]) + more, {"free": texts})


def _states(picture: ClusterPicture) -> Iterator[Row]:
    described = {node for node, _, _ in picture.ill}
    # Such a node is unhealthy by a condition, or because its kubelet offers fewer GPUs than it has. No agent reports
    # which GPU it is.
    short = tuple(name for name, reason in picture.unhealthy if reason == _UNHEALTHY and name not in described)
    ill = (
        *(f"{node} GPU {index}: {problem}" for node, index, problem in picture.ill),
        *(f"{name}: unhealthy according to its Node" for name in short),
    )
    if ill:
        more = f" and {len(ill) - MOST_NAMED} more" if len(ill) > MOST_NAMED else ""
        yield Row("gpus", "attention", f"ill: {'; '.join(ill[:MOST_NAMED])}{more}", {"ill": ill})
    else:
        yield Row("gpus", "ok", "no fault is reported", {"ill": ()})
    away = tuple(f"{name} ({reason})" for name, reason in picture.unhealthy if reason not in {_STALE, _UNHEALTHY})
    if away:
        # Such a node is cordoned, leaving or being repartitioned, which somebody does on purpose and will end.
        yield Row("away", "note", f"{counted(len(away), 'node')} unavailable: {named(away)}", {"nodes": away})

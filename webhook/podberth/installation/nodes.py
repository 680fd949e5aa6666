"""What is known of the GPUs: nodes, what their agents say of them, who is silent, what is ill."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from ..topology.model import Node, Transient
from ..topology.objects import ClusterObjects, collect, is_stale
from ..topology.overview import ClusterPicture, overview
from .model import (
    MOST_NAMED,
    Document,
    Fact,
    Observed,
    Replica,
    Row,
    Section,
    Unread,
    counted,
    lasting,
    named,
    spoken,
    unread,
)

_CONTACT: Final = "podberth_watch_contact_age_seconds"
# cluster.protocol, Timing.silence_seconds: a bookmark comes every minute.
_SILENCE_SECONDS: Final = 90
# States of a node that have lines of their own (``topology.model.Transient``).
_STALE: Final[Transient] = "stale"
_UNHEALTHY: Final[Transient] = "unhealthy GPU"


def topology(observed: Observed) -> Section:
    """Say what is known of the GPUs."""
    return Section("topology", tuple(_rows(observed)))


def _rows(observed: Observed) -> Iterator[Row]:
    for name, part in (
        ("nodes", observed.nodes),
        ("documents", observed.topologies),
        ("heartbeats", observed.heartbeats),
    ):
        if isinstance(part, Unread):
            yield unread(name, part)
    if isinstance(observed.nodes, Unread):
        return
    # As the decoder does, so that what a replica leaves out is left out here.
    objects = collect(_listed(observed), now=observed.now)
    picture = overview(objects.nodes)
    yield _nodes(objects, picture)
    if not isinstance(observed.heartbeats, Unread) and not isinstance(observed.topologies, Unread):
        yield _heartbeats(observed.heartbeats, objects.nodes, observed.now)
    if replicas := spoken(observed.replicas):
        yield _watches(replicas)
    yield from _states(picture)
    if objects.problems:
        text = f"{counted(len(objects.problems), 'document')} of no use: {objects.problems[0]}"
        yield Row("unusable", "attention", text, {"problems": objects.problems})


def _listed(observed: Observed) -> Iterator[dict[str, Any]]:
    parts = ((observed.nodes, "v1", "Node"), (observed.topologies, "v1", "ConfigMap"))
    for part, version, kind in (*parts, (observed.heartbeats, "coordination.k8s.io/v1", "Lease")):
        if not isinstance(part, Unread):
            yield {"apiVersion": version, "kind": f"{kind}List", "items": list(part)}


def _nodes(objects: ClusterObjects, picture: ClusterPicture) -> Row:
    with_gpus = tuple(node for node in objects.nodes if node.durable or node.topology)
    machines = tuple(f"{each.count} x {each.kind.title}" for each in picture.kinds if each.kind.machine)
    undescribed = tuple(node.name for node in with_gpus if node.topology is None)
    facts: dict[str, Fact] = {
        "known": picture.nodes,
        "withGpus": len(with_gpus),
        "described": picture.described,
        "undescribed": undescribed,
    }
    text = f"{picture.nodes} known, {len(with_gpus)} with GPUs, {picture.described} told of by their agents"
    if machines:
        text += f": {named(machines)}"
    if not objects.nodes:
        return Row("nodes", "attention", "none is known; see kubectl get nodes", facts)
    return Row("nodes", "ok", text, facts)


def _heartbeats(leases: tuple[Document, ...], nodes: tuple[Node, ...], now: datetime) -> Row:
    beating = {str(each["metadata"]["name"]): each for each in leases}
    described = [node.name for node in nodes if node.topology]
    # Not by the node's state: one that is cordoned and silent is told to be cordoned.
    stale = tuple(name for name in described if is_stale(beating.get(name), now))
    facts: dict[str, Fact] = {"fresh": len(described) - len(stale), "stale": stale}
    if stale:
        text = f"silent on {counted(len(stale), 'node')}, not counted on: {named(stale)}; see the agents' logs"
        return Row("heartbeats", "attention", text, facts)
    return Row("heartbeats", "ok", f"{len(described)} agents heard in time" if described else "no agent to hear", facts)


def _watches(replicas: tuple[Replica, ...]) -> Row:
    """Say how long a replica has heard nothing of what it follows; one that reads files follows nothing."""
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
        text = (
            f"{name} has heard nothing of {resource} for {lasting(age)}; the last known state is in force; see its log"
        )
        return Row("watches", "attention", text, facts)
    return Row("watches", "ok", f"every replica has heard of the cluster within {lasting(age)}", facts)


def _states(picture: ClusterPicture) -> Iterator[Row]:
    described = {node for node, _, _ in picture.ill}
    # By a condition, or because the kubelet hands out fewer than there are: no agent says which.
    short = tuple(name for name, reason in picture.unwell if reason == _UNHEALTHY and name not in described)
    ill = (
        *(f"{node} GPU {index}: {problem}" for node, index, problem in picture.ill),
        *(f"{name}: one that its Node calls unhealthy" for name in short),
    )
    if ill:
        more = f" and {len(ill) - MOST_NAMED} more" if len(ill) > MOST_NAMED else ""
        yield Row("gpus", "attention", f"ill: {'; '.join(ill[:MOST_NAMED])}{more}", {"ill": ill})
    else:
        yield Row("gpus", "ok", "no fault is told of", {"ill": ()})
    away = tuple(f"{name} ({reason})" for name, reason in picture.unwell if reason not in {_STALE, _UNHEALTHY})
    if away:
        # Cordoned, leaving, cut anew: somebody's work, and over by itself.
        yield Row("away", "note", f"{counted(len(away), 'node')} not counted on: {named(away)}", {"nodes": away})

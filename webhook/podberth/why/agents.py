"""Finds nodes whose topology is stale, from which a policy of podberth may have written a requirement of the pod."""

from collections.abc import Iterator
from typing import Final

from ..kube.unchecked import text_at
from ..topology.heartbeats import is_stale, read_heartbeat
from ..wellknown import NAMESPACE, TOPOLOGY_LABEL
from ..words import counted, lasting
from .picture import Ref
from .steps import Step

LEASES: Final = Ref("coordination.k8s.io", ("v1",), "leases", NAMESPACE, labels=TOPOLOGY_LABEL)
"""The reference to the Leases that podberth's node agents renew; each has the name of its node."""
_MOST_NODES: Final = 3


def silent(step: Step) -> Iterator[str]:
    """Yield a line for each node of the step whose agent no longer renews its Lease, the longest silent first.

    A node without a Lease gets no line, because its topology may come from a file.
    """
    now, names = step.picture.now, {each.name for each in step.nodes}
    leases = {text_at(each, "metadata", "name"): each for each in step.picture.listed(LEASES)}
    beats = {name: read_heartbeat(lease) for name, lease in leases.items() if name in names and is_stale(lease, now)}
    ages = {name: (now - beat.renewed).total_seconds() if beat else None for name, beat in beats.items()}
    ordered = sorted(ages, key=lambda name: (-(ages[name] or 0.0), name))
    for name in ordered[:_MOST_NODES]:
        age = ages[name]
        since = "its Lease has no time" if age is None else f"its agent has been silent for {lasting(age)}"
        yield f"the topology of {name} is stale: {since}"
    if len(ordered) > _MOST_NODES:
        yield f"the topology of {counted(len(ordered), 'node')} that could hold it is stale"

"""Koordinator: gangs by annotation of the pod, or by its own PodGroup; network topology is a spec in an annotation."""

from typing import Final

from .system import System, under

SYSTEM: Final = System(
    name="koordinator",
    title="Koordinator",
    source="koordinator-sh/koordinator apis/extension/{coscheduling,network_topology}.go",
    schedulers=frozenset({"koord-scheduler"}),
    annotations=under("gang.scheduling.koordinator.sh", "name"),
    labels=under("pod-group.scheduling.sigs.k8s.io", "name"),
    reads=(
        "`spec.schedulerName`",
        "annotations `gang.scheduling.koordinator.sh/{name,min-available,total-number}`",
        "label `scheduling.x-k8s.io/pod-group`",
    ),
    elsewhere=(
        "`spec.minMember` of the PodGroup",
        "`metadata.annotations[gang.scheduling.koordinator.sh/network-topology-spec]` of the PodGroup",
    ),
    topology="set annotation gang.scheduling.koordinator.sh/network-topology-spec of its PodGroup",
)

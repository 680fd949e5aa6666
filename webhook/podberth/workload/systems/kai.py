"""KAI Scheduler: a pod-grouper makes the PodGroup of the workload that owns the pods, by its kind and annotations.

The grouper reads the workload on top; of the pod it takes the queue, where the workload names none.
"""

from typing import Final

from .system import System, under

_DOMAIN: Final = "kai.scheduler"

SYSTEM: Final = System(
    name="kai",
    title="KAI Scheduler",
    source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go, pkg/podgrouper/podgrouper/plugins/"
    "{constants/constants,defaultgrouper/default_grouper}.go",
    schedulers=frozenset({"kai-scheduler"}),
    labels=under(_DOMAIN, "queue", "subgroup-name"),
    annotations=under(_DOMAIN, "skip-podgrouper", "topology", "batch-min-member"),
    reads=(
        "`spec.schedulerName`",
        "labels `kai.scheduler/{queue,subgroup-name}`",
        "annotation `pod-group-name` with `kai.scheduler/skip-podgrouper`",
    ),
    elsewhere=(
        "`metadata.labels[kai.scheduler/queue]` of the workload",
        "`metadata.annotations[kai.scheduler/topology]` of the workload, with `topology-preferred-placement`",
        "`spec.minMember`, `spec.topologyConstraint` of the PodGroup",
    ),
    topology="set annotations kai.scheduler/topology and kai.scheduler/topology-preferred-placement of the workload",
)

"""KAI Scheduler: a pod-grouper makes the PodGroup of the workload that owns the pods, by its kind and annotations.

The grouper reads the workload on top; of the pod it takes the queue, where the workload names none. A pod that nobody
owns is its own workload (default_grouper.go GetPodGroupMetadata).
"""

from typing import Final

from .system import System, under

_DOMAIN: Final = "kai.scheduler"

SYSTEM: Final = System(
    name="kai",
    title="KAI Scheduler",
    source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go, pkg/podgrouper/podgrouper/plugins/"
    "{constants/constants,defaultgrouper/default_grouper,kubeflow/pytorch/pytorch_grouper}.go",
    schedulers=frozenset({"kai-scheduler"}),
    labels=under(_DOMAIN, "queue", "subgroup-name", "node-pool", "preemptibility"),
    annotations=under(
        _DOMAIN,
        "skip-podgrouper",
        "topology",
        "topology-required-placement",
        "topology-preferred-placement",
        "segment-size",
        "segment-topology-required-placement",
        "segment-topology-preferred-placement",
        "batch-min-member",
        "preemption-delay",
        "staleness-grace-period",
    ),
    reads=(
        "`spec.schedulerName`",
        "labels `kai.scheduler/{queue,subgroup-name,node-pool}`",
        "annotation `pod-group-name` with `kai.scheduler/skip-podgrouper`",
        "of bare pods annotations `kai.scheduler/{topology,topology-required-placement,topology-preferred-placement}`",
        "of a PyTorchJob's pods annotation `kai.scheduler/segment-size`",
    ),
    elsewhere=(
        "`metadata.labels[kai.scheduler/queue]` of the workload",
        "`metadata.annotations[kai.scheduler/topology]` of the workload, with `topology-preferred-placement`",
        "`metadata.annotations[kai.scheduler/batch-min-member]` of the Job or JobSet",
        "`spec.minMember`, `spec.topologyConstraint` of the PodGroup",
    ),
    topology="set annotations kai.scheduler/topology and kai.scheduler/topology-preferred-placement of the workload",
)

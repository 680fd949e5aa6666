"""Kubernetes' own PodGroup and Workload (KEP-4671): the scheduler places what stands in one group as a whole.

A PodGroup takes its topology from its own spec, and intra-group pod affinity is not guaranteed to be honoured
(KEP-5732): none is written. ``spec.schedulingGroup`` is immutable, so a pod joins at its creation or never.
"""

from typing import Final

from .system import System

SYSTEM: Final = System(
    name="native",
    title="PodGroup and Workload (Kubernetes 1.35 and later)",
    # workloadRef is 1.35's field, schedulingGroup that of 1.36 and later
    source="kubernetes/api core/v1/types.go PodSpec.SchedulingGroup, scheduling/v1beta1/types.go; KEP-4671",
    fields=frozenset({"schedulingGroup", "workloadRef"}),
    reads=("`spec.schedulingGroup.podGroupName`", "in 1.35 `spec.workloadRef`"),
    writes="`spec.schedulingGroup.podGroupName`, where a PodGroup of the gang's name exists or a policy chooses the "
    "system; then annotations `podberth.io/{gang-level,gang-level-mode}`, from which its PodGroup is made",
    pod_groups="scheduling.k8s.io",
    elsewhere=(
        "`spec.schedulingPolicy.gang.minCount` of the PodGroup",
        "`spec.schedulingConstraints.topology[].key` of the PodGroup",
    ),
    topology="set spec.schedulingConstraints.topology[].key of its PodGroup",
)

"""Coscheduling of scheduler-plugins: pods of one PodGroup wait until there are enough of them.

The scheduler's name is the administrator's choice, so only the label tells. Koordinator and slurm-bridge read the same
label: their schedulers' names stand above.
"""

from typing import Final

from .system import System, under

SYSTEM: Final = System(
    name="coscheduling",
    title="coscheduling (scheduler-plugins)",
    source="kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go PodGroupLabel, pkg/coscheduling",
    labels=under("scheduling.x-k8s.io", "pod-group"),
    reads=("label `scheduling.x-k8s.io/pod-group`",),
    writes="label `scheduling.x-k8s.io/pod-group`, where a policy chooses the system",
    pod_groups="scheduling.x-k8s.io",
    elsewhere=("`spec.minMember` of the PodGroup",),
    topology="set affinity in the workload's pod template, for its PodGroup has no field",
)

"""Koordinator: gangs by annotation of the pod, or by its own PodGroup; network topology is a spec in an annotation.

The PodGroup's label has the name of its API group. Scheduler-plugins' label is read, too.
"""

from typing import Final

from .system import System, under

SYSTEM: Final = System(
    name="koordinator",
    title="Koordinator",
    source="koordinator-sh/koordinator apis/extension/{coscheduling,network_topology}.go, "
    "pkg/scheduler/plugins/coscheduling/core/gang.go, "
    "apis/thirdparty/scheduler-plugins/pkg/apis/scheduling/v1alpha1/types.go PodGroupLabel",
    schedulers=frozenset({"koord-scheduler"}),
    annotations=under(
        "gang.scheduling.koordinator.sh",
        "name",
        "min-available",
        "total-number",
        "waiting-time",
        "mode",
        "match-policy",
        "groups",
        "network-topology-spec",
        "network-topology-index",
    ),
    labels=under("pod-group.scheduling.sigs.k8s.io", "name", "min-available") | {"pod-group.scheduling.sigs.k8s.io"},
    reads=(
        "`spec.schedulerName`",
        "annotations `gang.scheduling.koordinator.sh/{name,min-available,total-number,network-topology-index}`",
        "of an older API labels `pod-group.scheduling.sigs.k8s.io/{name,min-available}`",
        "of pods without a PodGroup annotation `gang.scheduling.koordinator.sh/network-topology-spec`",
        "label `pod-group.scheduling.sigs.k8s.io` or `scheduling.x-k8s.io/pod-group`",
    ),
    writes="label `pod-group.scheduling.sigs.k8s.io`, where a policy chooses the system",
    pod_groups="scheduling.sigs.k8s.io",
    elsewhere=(
        "`spec.minMember` of the PodGroup",
        "`metadata.annotations[gang.scheduling.koordinator.sh/network-topology-spec]` of the PodGroup",
    ),
    # core/gang.go tryInitByPodConfig, tryInitByPodGroup
    topology="set annotation gang.scheduling.koordinator.sh/network-topology-spec of its PodGroup, or of its pods "
    "where it has none",
)

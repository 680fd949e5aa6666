"""Facts about the coscheduling plugin of scheduler-plugins: the pods of a PodGroup wait until enough pods exist.

The administrator chooses the scheduler's name, so the only sign of the plugin is the label of the PodGroup. Koordinator
and slurm-bridge read the same label; if a pod names the scheduler of Koordinator or slurm-bridge, the pod belongs to
that system.
"""

from typing import Final

from ..dossier import Dossier
from ..members import Member, Membership, Subject, completion_index
from ..name_sets import under
from ..systems import MIN_MEMBER, ONE_MEMBER, PodGroupKind, System, by_label


def _labelled_group(pod: Subject) -> Member:
    name = pod.labels[_LABEL]
    return Member("PodGroup", name, pod.group_size(name, *_API_GROUPS), completion_index(pod))


_LABEL: Final = "scheduling.x-k8s.io/pod-group"
# Koordinator's scheduler reads the same label.
_API_GROUPS: Final = ("scheduling.x-k8s.io", "scheduling.sigs.k8s.io")

DOSSIER: Final = Dossier(
    name="coscheduling",
    versions={"kubernetes-sigs/scheduler-plugins": "903da7df, after v0.34.7"},
    system=System(
        name="coscheduling",
        precedence=7,
        title="coscheduling (scheduler-plugins)",
        source="kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go PodGroupLabel, pkg/coscheduling",
        by_plugin=True,  # kubernetes-sigs/scheduler-plugins pkg/coscheduling
        names_scheduler=True,  # manifests/install/charts/as-a-second-scheduler/values.yaml scheduler.name
        labels=under("scheduling.x-k8s.io", "pod-group"),
        reads=("label `scheduling.x-k8s.io/pod-group`",),
        writes="label `scheduling.x-k8s.io/pod-group`, where a policy chooses the system",
        run="903da7df: a scheduler with the plugin, built and run with Kubernetes 1.36.3",
        pod_groups="scheduling.x-k8s.io",
        reference=("metadata", "labels", _LABEL),
        elsewhere=("`spec.minMember` of the PodGroup",),
        topology="set affinity in the workload's pod template, for its PodGroup has no field",
    ),
    groups=(
        Membership(
            name="coscheduling PodGroup",
            source="kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go",
            read=_labelled_group,
            size="its PodGroup",
            label=_LABEL,
            api_groups=_API_GROUPS,
        ),
    ),
    pod_groups=PodGroupKind(
        name="coscheduling",
        source="kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go PodGroupLabel, PodGroupSpec",
        api_groups=_API_GROUPS,
        versions=("v1alpha1",),
        named_by=f"label {_LABEL}",
        read=by_label(_LABEL),
        minimum=MIN_MEMBER,
        without=ONE_MEMBER,
    ),
    podless_groups=frozenset({"scheduling.x-k8s.io"}),
)

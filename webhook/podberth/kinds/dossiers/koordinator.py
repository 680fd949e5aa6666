"""Facts about Koordinator: gangs that pods describe by annotations, or that Koordinator's PodGroup describes.

An annotation states the network topology. The key of the label that names a PodGroup is ``pod-group.`` followed by the
PodGroup's API group. Koordinator reads the label of scheduler-plugins, too.
"""

from typing import Final

from ...devices.resources import MODIFIERS
from ...kube.unchecked import number
from ..dossier import Dossier
from ..members import Member, Membership, Subject, completion_index, index_of
from ..name_sets import under
from ..systems import MIN_MEMBER, ONE_MEMBER, Dialect, PodGroupKind, System, by_label


def _koordinator_group(pod: Subject) -> Member:
    name = pod.labels["pod-group.scheduling.sigs.k8s.io"]
    return Member("PodGroup", name, pod.group_size(name, _API_GROUP), completion_index(pod))


def _koordinator_gang(pod: Subject) -> Member:
    """Return a pod's membership in a gang that its pods describe by annotations of Koordinator.

    Labels of the coscheduling plugin (``pod-group.scheduling.sigs.k8s.io``) take precedence over the annotations.

    Sources: koordinator-sh/koordinator apis/extension/coscheduling.go GetGangName,
    pkg/scheduler/plugins/coscheduling/util/gang_helper.go GetGangMinNumFromPod, core/gang.go tryInitByPodConfig;
    apis/extension/network_topology.go.
    """
    name = pod.labels.get("pod-group.scheduling.sigs.k8s.io/name")
    name = name or pod.annotations["gang.scheduling.koordinator.sh/name"]
    least = pod.labels.get("pod-group.scheduling.sigs.k8s.io/min-available")
    least = least or pod.annotations.get("gang.scheduling.koordinator.sh/min-available")
    total = pod.annotations.get("gang.scheduling.koordinator.sh/total-number")
    size = max(number(least) or 0, number(total) or 0)
    index = index_of(pod.annotations.get("gang.scheduling.koordinator.sh/network-topology-index"))
    if index < 0:
        index = completion_index(pod)
    return Member("PodGroup", name, size or pod.group_size(name, _API_GROUP), index)


_API_GROUP: Final = "scheduling.sigs.k8s.io"

DOSSIER: Final = Dossier(
    name="Koordinator",
    versions={"koordinator-sh/koordinator": "a7a1b76b, after v1.8.0"},
    system=System(
        name="koordinator",
        precedence=5,
        title="Koordinator",
        source="koordinator-sh/koordinator apis/extension/{coscheduling,network_topology}.go, "
        "pkg/scheduler/plugins/coscheduling/core/gang.go, "
        "apis/thirdparty/scheduler-plugins/pkg/apis/scheduling/v1alpha1/types.go PodGroupLabel",
        schedulers=frozenset({"koord-scheduler"}),
        annotations=under(
            "gang.scheduling.koordinator.sh",
            "name min-available total-number waiting-time mode match-policy groups network-topology-spec "
            "network-topology-index",
        ),
        labels=under("pod-group.scheduling.sigs.k8s.io", "name min-available") | {"pod-group.scheduling.sigs.k8s.io"},
        reads=(
            "`spec.schedulerName`",
            "annotations `gang.scheduling.koordinator.sh/{name,min-available,total-number,network-topology-index}`",
            "of an older API labels `pod-group.scheduling.sigs.k8s.io/{name,min-available}`",
            "of pods without a PodGroup annotation `gang.scheduling.koordinator.sh/network-topology-spec`",
            "label `pod-group.scheduling.sigs.k8s.io` or `scheduling.x-k8s.io/pod-group`",
        ),
        writes="label `pod-group.scheduling.sigs.k8s.io`, where a policy chooses the system",
        pod_groups="scheduling.sigs.k8s.io",
        reference=("metadata", "labels", "pod-group.scheduling.sigs.k8s.io"),
        # Koordinator's keys for a gang without a PodGroup (apis/extension/coscheduling.go).
        other_references=(
            ("metadata", "labels", "pod-group.scheduling.sigs.k8s.io/name"),
            ("metadata", "annotations", "gang.scheduling.koordinator.sh/name"),
        ),
        elsewhere=(
            "`spec.minMember` of the PodGroup",
            "`metadata.annotations[gang.scheduling.koordinator.sh/network-topology-spec]` of the PodGroup",
        ),
        # core/gang.go tryInitByPodConfig, tryInitByPodGroup
        asked=frozenset({"gang.scheduling.koordinator.sh/network-topology-spec"}),
        topology="set annotation gang.scheduling.koordinator.sh/network-topology-spec of its PodGroup, or of its pods "
        "where it has none",
    ),
    groups=(
        Membership(
            name="Koordinator gang",
            source="koordinator-sh/koordinator apis/extension/coscheduling.go",
            read=_koordinator_gang,
            size="the annotations `total-number`, `min-available`, or its PodGroup",
            annotation="gang.scheduling.koordinator.sh/name",
            api_groups=(_API_GROUP,),
        ),
        Membership(
            name="Koordinator PodGroup",
            source="koordinator-sh/koordinator apis/thirdparty/scheduler-plugins/pkg/apis/scheduling/v1alpha1/types.go "
            "PodGroupLabel",
            read=_koordinator_group,
            size="its PodGroup",
            label="pod-group.scheduling.sigs.k8s.io",
            api_groups=(_API_GROUP,),
        ),
        Membership(
            name="Koordinator gang, by the labels of before",
            source="koordinator-sh/koordinator apis/extension/coscheduling.go LabelLightweightCoschedulingPodGroupName",
            read=_koordinator_gang,
            size="the annotation `total-number`, the label `min-available`, or its PodGroup",
            label="pod-group.scheduling.sigs.k8s.io/name",
            api_groups=(_API_GROUP,),
        ),
    ),
    pod_groups=PodGroupKind(
        name="koordinator",
        source="koordinator-sh/koordinator apis/thirdparty/scheduler-plugins/pkg/apis/scheduling/v1alpha1/types.go",
        api_groups=(_API_GROUP,),
        versions=("v1alpha1",),
        named_by="label pod-group.scheduling.sigs.k8s.io",
        read=by_label("pod-group.scheduling.sigs.k8s.io"),
        minimum=MIN_MEMBER,
        without=ONE_MEMBER,
    ),
    dialects=(
        Dialect(
            name="koordinator",
            source="koordinator-sh/koordinator apis/extension/device_share.go",
            resources=frozenset({"koordinator.sh/gpu", *MODIFIERS["koordinator"]}),
        ),
    ),
    podless_groups=frozenset({_API_GROUP}),
)

"""Groups that stand on the pod by name: made by hand, or by an operator for the scheduler that places them.

One row for each way of naming one. Where the pod does not say how many there are, the PodGroup may: of the systems'
groups called so, each is looked up in its own API group.
"""

import json
from typing import Final

from ..kinds.members import Member, Membership, Subject, completion_index, index_of, named
from ..kube.unchecked import at, count, number, text_at

NATIVE_GROUPS: Final = "scheduling.k8s.io"
"""The API group of Kubernetes' own PodGroups."""
_VOLCANO_GROUPS: Final = "scheduling.volcano.sh"
_KAI_GROUPS: Final = "scheduling.run.ai"
_KOORDINATOR_GROUPS: Final = "scheduling.sigs.k8s.io"
# Koordinator's scheduler goes by the same label.
_COSCHEDULING_GROUPS: Final = ("scheduling.x-k8s.io", _KOORDINATOR_GROUPS)


def _kueue_group(pod: Subject) -> Member:
    """A group of Kueue's: the annotation beats the label (its gate WorkloadIdentifierAnnotations, on since 0.18)."""
    key = "kueue.x-k8s.io/pod-group-name"
    name = pod.annotations.get(key) or pod.labels[key]
    size = number(pod.annotations.get("kueue.x-k8s.io/pod-group-total-count")) or 0
    # What Kueue's own webhook, which may come later, writes on the pod, it reads of the label that is named here
    # (pkg/controller/jobs/pod/pod_webhook.go Default).
    index_label = pod.annotations.get("kueue.x-k8s.io/pod-group-pod-index-label")
    own = pod.labels.get("kueue.x-k8s.io/pod-group-pod-index")
    return Member("Kueue", name, size, index_of(pod.labels.get(index_label) if index_label else own))


def _native_group(pod: Subject) -> Member | None:
    name = pod.spec["schedulingGroup"].get("podGroupName")
    if not name:
        return None
    return Member("PodGroup", name, pod.group_size(name, NATIVE_GROUPS), completion_index(pod))


def _native_workload(pod: Subject) -> Member | None:
    """A group of Kubernetes 1.35: part of a Workload, and told from its replicas by a key; 1.36 dropped the field.

    Source: kubernetes/api 1.35 core/v1/types.go WorkloadReference. No Workload is followed, so its size is unknown.
    """
    reference = pod.spec["workloadRef"]
    workload, group = text_at(reference, "name"), text_at(reference, "podGroup")
    if not (workload and group):
        return None
    replica = text_at(reference, "podGroupReplicaKey")
    name = named(workload, f"{group}-{replica}" if replica else group)
    return Member("Workload", name, 0, completion_index(pod))


def _volcano_group(pod: Subject) -> Member:
    """A group of Volcano's, whose size no pod says: of ``group-min-member`` only a pod's owner is asked.

    Source: volcano-sh/volcano pkg/controllers/podgroup/pg_controller_handler.go getMinMemberFromUpperRes.
    """
    key, volcanos_own = "scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"
    name = pod.annotations.get(key) or pod.annotations[volcanos_own]
    return Member("PodGroup", name, pod.group_size(name, _VOLCANO_GROUPS), completion_index(pod))


def _labelled_group(pod: Subject) -> Member:
    name = pod.labels["scheduling.x-k8s.io/pod-group"]
    return Member("PodGroup", name, pod.group_size(name, *_COSCHEDULING_GROUPS), completion_index(pod))


def _koordinator_group(pod: Subject) -> Member:
    name = pod.labels["pod-group.scheduling.sigs.k8s.io"]
    return Member("PodGroup", name, pod.group_size(name, _KOORDINATOR_GROUPS), completion_index(pod))


def _koordinator_gang(pod: Subject) -> Member:
    """A gang that its pods describe themselves; the labels of before scheduler-plugins' PodGroup beat the annotations.

    Sources: koordinator-sh/koordinator apis/extension/coscheduling.go GetGangName, pkg/scheduler/plugins/coscheduling/
    util/gang_helper.go GetGangMinNumFromPod, core/gang.go tryInitByPodConfig; apis/extension/network_topology.go.
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
    return Member("PodGroup", name, size or pod.group_size(name, _KOORDINATOR_GROUPS), index)


def _kai_group(pod: Subject) -> Member | None:
    """A group of KAI's pod-grouper. The key has no domain, so it counts under KAI's own scheduler only.

    Of ``batch-min-member`` it asks the workload on top, a Job or a JobSet
    (kai-scheduler/KAI-Scheduler pkg/podgrouper/podgrouper/plugins/{job,jobset}).
    """
    if pod.spec.get("schedulerName") != "kai-scheduler":
        return None
    name = pod.annotations["pod-group-name"]
    return Member("PodGroup", name, pod.group_size(name, _KAI_GROUPS), completion_index(pod))


def _yunikorn_application(pod: Subject) -> Member | None:
    """An application with task groups: all of them start together. The size stands on the first pod only.

    Source: apache/yunikorn-k8shim pkg/common/utils/utils.go GetApplicationIDFromPod, in its order.
    """
    name = pod.labels.get("yunikorn.apache.org/app-id") or pod.annotations.get("yunikorn.apache.org/app-id")
    name = name or pod.labels.get("applicationId") or pod.labels.get("spark-app-selector")
    if not name:
        return None
    try:
        groups = json.loads(pod.annotations.get("yunikorn.apache.org/task-groups") or "[]")
    except (ValueError, RecursionError):
        groups = []
    size = sum(count(at(group, "minMember")) for group in (groups if isinstance(groups, list) else ()))
    return Member("YuniKorn", name, size, role=pod.annotations["yunikorn.apache.org/task-group-name"])


GROUPS: Final[tuple[Membership, ...]] = (
    Membership(
        name="Kueue pod group",
        system="kueue",
        source="kubernetes-sigs/kueue pkg/controller/jobs/pod/constants/constants.go",
        read=_kueue_group,
        size="the annotation `kueue.x-k8s.io/pod-group-total-count`",
        label="kueue.x-k8s.io/pod-group-name",
        annotation="kueue.x-k8s.io/pod-group-name",
    ),
    Membership(
        name="PodGroup",
        system="native",
        source="kubernetes/api core/v1/types.go PodSchedulingGroup; KEP-4671",
        read=_native_group,
        size="its PodGroup",
        field="schedulingGroup",
        api_groups=(NATIVE_GROUPS,),
    ),
    Membership(
        name="Workload (Kubernetes 1.35)",
        system="native",
        source="kubernetes/api 1.35 core/v1/types.go WorkloadReference; KEP-4671",
        read=_native_workload,
        size="unknown: its Workload is not followed",
        field="workloadRef",
    ),
    Membership(
        name="Volcano PodGroup",
        system="volcano",
        source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1/labels.go",
        read=_volcano_group,
        size="its PodGroup",
        annotation="scheduling.k8s.io/group-name",
        api_groups=(_VOLCANO_GROUPS,),
    ),
    Membership(
        name="Volcano PodGroup",
        system="volcano",
        source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1/labels.go",
        read=_volcano_group,
        size="its PodGroup",
        annotation="scheduling.volcano.sh/group-name",
        api_groups=(_VOLCANO_GROUPS,),
    ),
    Membership(
        name="Koordinator gang",
        system="koordinator",
        source="koordinator-sh/koordinator apis/extension/coscheduling.go",
        read=_koordinator_gang,
        size="the annotations `total-number`, `min-available`, or its PodGroup",
        annotation="gang.scheduling.koordinator.sh/name",
        api_groups=(_KOORDINATOR_GROUPS,),
    ),
    Membership(
        name="Koordinator PodGroup",
        system="koordinator",
        source="koordinator-sh/koordinator apis/thirdparty/scheduler-plugins/pkg/apis/scheduling/v1alpha1/types.go "
        "PodGroupLabel",
        read=_koordinator_group,
        size="its PodGroup",
        label="pod-group.scheduling.sigs.k8s.io",
        api_groups=(_KOORDINATOR_GROUPS,),
    ),
    Membership(
        name="Koordinator gang, by the labels of before",
        system="koordinator",
        source="koordinator-sh/koordinator apis/extension/coscheduling.go LabelLightweightCoschedulingPodGroupName",
        read=_koordinator_gang,
        size="the annotation `total-number`, the label `min-available`, or its PodGroup",
        label="pod-group.scheduling.sigs.k8s.io/name",
        api_groups=(_KOORDINATOR_GROUPS,),
    ),
    Membership(
        name="coscheduling PodGroup",
        system="coscheduling",
        source="kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go",
        read=_labelled_group,
        size="its PodGroup",
        label="scheduling.x-k8s.io/pod-group",
        api_groups=_COSCHEDULING_GROUPS,
    ),
    Membership(
        name="KAI PodGroup",
        system="kai",
        source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go PodGroupAnnotationForPod",
        read=_kai_group,
        size="its PodGroup",
        annotation="pod-group-name",
        api_groups=(_KAI_GROUPS,),
    ),
    Membership(
        name="YuniKorn application",
        system="yunikorn",
        source="apache/yunikorn-site docs/user_guide/gang_scheduling.md",
        read=_yunikorn_application,
        size="the annotation `yunikorn.apache.org/task-groups`, on the first pod",
        annotation="yunikorn.apache.org/task-group-name",
        role_from="annotation `yunikorn.apache.org/task-group-name`",
    ),
)

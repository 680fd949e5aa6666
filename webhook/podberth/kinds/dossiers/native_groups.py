"""Facts about Kubernetes' own PodGroup and Workload (KEP-4671): the scheduler places the pods of a group as a whole.

The topology is in the PodGroup's spec. The scheduler may ignore pod affinity within a group (KEP-5732), so podberth
writes no pod affinity. ``spec.schedulingGroup`` is immutable, so a pod can join a group only when it is created.
"""

from collections.abc import Mapping
from typing import Any, Final

from ...kube.pod import spec
from ...kube.unchecked import list_at, text_at
from ..dossier import Dossier
from ..members import Member, Membership, Subject, completion_index, named
from ..systems import NATIVE_GROUP, PodGroupKind, System


def _native_group(pod: Subject) -> Member | None:
    name = pod.spec["schedulingGroup"].get("podGroupName")
    if not name:
        return None
    return Member("PodGroup", name, pod.group_size(name, NATIVE_GROUP), completion_index(pod))


def _native_workload(pod: Subject) -> Member | None:
    """Return a pod's membership in a pod group of a Workload, as in Kubernetes 1.35; None if the pod names no Workload.

    The pod names the Workload in its field ``workloadRef``, which Kubernetes 1.36 has removed. podberth does not read
    Workloads, so the size is unknown. Source: kubernetes/api 1.35 core/v1/types.go WorkloadReference.
    """
    reference = pod.spec["workloadRef"]
    workload, group = text_at(reference, "name"), text_at(reference, "podGroup")
    if not (workload and group):
        return None
    replica = text_at(reference, "podGroupReplicaKey")
    name = named(workload, f"{group}-{replica}" if replica else group)
    return Member("Workload", name, 0, completion_index(pod))


def _named(pod: Mapping[str, Any]) -> object:
    group = spec(pod).get("schedulingGroup")
    return group.get("podGroupName") if isinstance(group, Mapping) else None


DOSSIER: Final = Dossier(
    name="PodGroup and Workload of Kubernetes",
    versions={"kubernetes/api": "v0.35.3, v0.36.3, v0.37.1"},
    system=System(
        name="native",
        precedence=1,
        title="PodGroup and Workload (Kubernetes 1.35 and later)",
        # workloadRef is 1.35's field, schedulingGroup that of 1.36 and later
        source="kubernetes/api core/v1/types.go PodSpec.SchedulingGroup, scheduling/v1beta1/types.go; KEP-4671",
        by_plugin=True,  # KEP-4671
        fields=frozenset({"schedulingGroup", "workloadRef"}),
        reads=("`spec.schedulingGroup.podGroupName`", "in 1.35 `spec.workloadRef`"),
        writes="`spec.schedulingGroup.podGroupName`, where a PodGroup of the gang's name exists or a policy chooses "
        "the system; then annotations `podberth.io/{gang-level,gang-level-mode}`, from which its PodGroup is made",
        pod_groups="scheduling.k8s.io",
        reference=("spec", "schedulingGroup", "podGroupName"),
        # The field of 1.35 before schedulingGroup (kubernetes/api core/v1/types.go WorkloadReference).
        other_references=(("spec", "workloadRef"),),
        elsewhere=(
            "`spec.schedulingPolicy.gang.minCount` of the PodGroup",
            "`spec.schedulingConstraints.topology[].key` of the PodGroup",
        ),
        topology="set spec.schedulingConstraints.topology[].key of its PodGroup",
    ),
    groups=(
        Membership(
            name="PodGroup",
            source="kubernetes/api core/v1/types.go PodSchedulingGroup; KEP-4671",
            read=_native_group,
            size="its PodGroup",
            field="schedulingGroup",
            api_groups=(NATIVE_GROUP,),
        ),
        Membership(
            name="Workload (Kubernetes 1.35)",
            source="kubernetes/api 1.35 core/v1/types.go WorkloadReference; KEP-4671",
            read=_native_workload,
            size="unknown: its Workload is not followed",
            field="workloadRef",
        ),
    ),
    pod_groups=PodGroupKind(
        name="native",
        # A PodGroup is an object of its own since Kubernetes 1.36 (v1alpha2); 1.37 has v1alpha3 and v1beta1.
        source="kubernetes/api scheduling/{v1alpha2,v1alpha3,v1beta1}/types.go PodGroupSpec: topology has no "
        "preferred mode, and minCount is immutable in v1alpha2",
        api_groups=(NATIVE_GROUP,),
        # v1 does not exist yet: it is the name of a future stable version. A field that v1 drops counts as unknown.
        versions=("v1", "v1beta1", "v1alpha3", "v1alpha2"),
        named_by="spec.schedulingGroup.podGroupName",
        read=_named,
        minimum=("spec", "schedulingPolicy", "gang", "minCount"),
        # A PodGroup cannot change between ``gang`` and ``basic``: in v1alpha2 the whole field is immutable, in later
        # versions only this choice.
        without={"schedulingPolicy": {"basic": {}}},
        topology=lambda level: {"schedulingConstraints": {"topology": [{"key": level}]}},
        # One element at most (pkg/scheduler/framework/plugins/topologyaware).
        required_level=lambda spec: "".join(
            text_at(each, "key") for each in list_at(spec, "schedulingConstraints", "topology")[:1]
        ),
    ),
)

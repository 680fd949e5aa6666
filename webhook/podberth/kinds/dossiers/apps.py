"""Facts about Kubernetes' own kinds without gangs, and StatefulSets, whose template may state a gang.

Old API versions are included. No API server serves an old version, but public samples still have old versions.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import at, count, list_at, number, text_at
from ...wellknown import GANG_SIZE_ANNOTATION
from ..dossier import Dossier, Finished, KindNote, OwnerKind
from ..group_rules import GroupRules
from ..jobs import stamp_stateful_set
from ..members import STATEFUL_SET_INDEX, Member, Membership, Subject, named, ordinal
from ..name_sets import words
from ..places import PLACEHOLDER_HASH, Scene, Stamp, TemplatePlace, WorkloadKind, spec_replicas, unknown
from ..stamping import POD_TEMPLATE_HASH, add_annotations, add_labels, own, owned_by_deployment, owned_by_workload
from ..starts import together


def _stamp_daemon_set(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that the DaemonSet controller writes, without the affinity to the name of the node.

    Sources: kubernetes/kubernetes pkg/controller/daemon/{daemon_controller,util/daemonset_util}.go.
    """
    own(pod, "apps/v1", "DaemonSet", scene.name, scene.uid)
    add_labels(pod, {"controller-revision-hash": PLACEHOLDER_HASH, "pod-template-generation": "1"})
    spec = pod["spec"]
    tolerations = list(spec.get("tolerations") or ())
    keys = ["not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"]
    keys += ["network-unavailable"] if spec.get("hostNetwork") is True else []
    for key in keys:
        effect = "NoExecute" if key in {"not-ready", "unreachable"} else "NoSchedule"
        wanted = {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
        if wanted not in tolerations:
            tolerations.append(wanted)
    spec["tolerations"] = tolerations


def _stamp_stateful_set(pod: dict[str, Any], scene: Scene) -> None:
    # kubernetes-sigs/kueue pkg/controller/jobs/statefulset/statefulset_webhook.go
    if at(scene.document, "metadata", "labels", "kueue.x-k8s.io/queue-name"):
        add_annotations(pod, {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"})
    stamp_stateful_set(pod, scene.name, scene.uid, scene.spec)


def _declared_set(pod: Subject) -> Member | None:
    """Return a pod's membership in a StatefulSet's gang.

    None if no StatefulSet owns the pod, or if the pod's annotations state no size of the gang.
    """
    controller, size = pod.controller, number(pod.annotations[GANG_SIZE_ANNOTATION])
    if controller is None or (controller.group, controller.kind) != ("apps", "StatefulSet") or not size:
        return None
    return Member("StatefulSet", named("statefulset", controller.uid), size, ordinal(pod))


def _stages(owner: Mapping[str, Any]) -> str:
    # kubernetes/kubernetes pkg/controller/statefulset/stateful_set_control.go; the default is in
    # pkg/apis/apps/v1/defaults.go.
    policy = text_at(owner, "spec", "podManagementPolicy") or "OrderedReady"
    waits = policy != "Parallel" and count(at(owner, "spec", "replicas"), 1) > 1
    return f"spec.podManagementPolicy {policy}; want Parallel" if waits else ""


def _makes_pods(scene: Scene) -> bool:
    """Return whether pods are made from a PodTemplate.

    False if a ProvisioningRequest only takes a size from the PodTemplate. Source: kubernetes/autoscaler
    cluster-autoscaler/apis/provisioningrequest/autoscaling.x-k8s.io/v1/types.go PodSet.
    """
    requests = (each for each in scene.known if at(each, "kind") == "ProvisioningRequest")
    sized = (
        text_at(pods, "podTemplateRef", "name")
        for each in requests
        if at(each, "metadata", "namespace") in (None, scene.namespace)
        for pods in list_at(each, "spec", "podSets")
    )
    return scene.name not in sized


def _kind(kind: str, versions: str, stamp: Stamp, count_of: Callable[[Scene], int] = spec_replicas) -> WorkloadKind:
    place = TemplatePlace(path=("spec", "template"), stamp=stamp, replicas=count_of)
    return WorkloadKind(api_versions=frozenset(versions.split()), kind=kind, source=_APPS, places=(place,))


_APPS: Final = "kubernetes/api apps/v1/types.go"
_CORE: Final = "kubernetes/api core/v1/types.go"

DOSSIER: Final = Dossier(
    name="Deployment, StatefulSet, DaemonSet, Pod",
    versions={
        "kubernetes-sigs/kueue": "ff69552e, after v0.19.2",
        "kubernetes-sigs/lws": "060ab4da, after v0.10.0",
        "kubernetes/api": "v0.36.3",
        "kubernetes/kubernetes": "v1.36.3",
        "kubernetes/autoscaler": "55c37cd5",
    },
    kinds=(
        _kind("Deployment", "apps/v1 apps/v1beta2 apps/v1beta1 extensions/v1beta1", owned_by_deployment),
        _kind("StatefulSet", "apps/v1 apps/v1beta2 apps/v1beta1", _stamp_stateful_set),
        _kind("DaemonSet", "apps/v1 apps/v1beta2 extensions/v1beta1", _stamp_daemon_set, unknown),
        _kind("ReplicaSet", "apps/v1 apps/v1beta2 extensions/v1beta1", owned_by_workload),
        replace(_kind("ReplicationController", "v1", owned_by_workload), source=_CORE),
        WorkloadKind(
            api_versions=frozenset({"v1"}),
            kind="PodTemplate",
            source=f"{_CORE}: no controller makes pods of it by itself",
            places=(TemplatePlace(path=("template",), when=_makes_pods),),
            only_template=True,
        ),
        WorkloadKind(api_versions=frozenset({"v1"}), kind="List", source=_CORE, nested=(("items", ELEMENT),)),
    ),
    last_memberships=(
        Membership(
            name="StatefulSet that declares a gang",
            source="podberth's own annotation; kubernetes/api apps/v1/types.go PodIndexLabel",
            read=_declared_set,
            size=f"the annotation `{GANG_SIZE_ANNOTATION}`",
            annotation=GANG_SIZE_ANNOTATION,
        ),
    ),
    pod_keys=frozenset({STATEFUL_SET_INDEX}),
    notes=(
        KindNote(
            key=GANG_SIZE_ANNOTATION,
            kind="apps/StatefulSet",
            title="StatefulSet that declares a gang",
            keeps="its pods' names, ordinals and claims; its template, whose revision is hashed",
            source="kubernetes/kubernetes pkg/controller/statefulset/stateful_set_utils.go, pkg/controller/history",
        ),
        *(
            KindNote(
                kind=f"apps/{kind}",
                title=title,
                sign=f"an owner of kind {owner}",
                keeps="its template, whose revision is hashed",
                source=_APPS,
            )
            for kind, title, owner in (
                ("Deployment", "Deployment, ReplicaSet", "ReplicaSet"),
                ("DaemonSet", "DaemonSet", "DaemonSet"),
                ("StatefulSet", "StatefulSet that says nothing", "StatefulSet"),
            )
        ),
    ),
    owners=(
        OwnerKind(
            source="kubernetes/api apps/v1/types.go StatefulSetSpec",
            group="apps",
            versions=("v1",),
            stages=_stages,
            kind="StatefulSet",
            spec={"replicas": None, "podManagementPolicy": None},
            followed=False,
        ),
        OwnerKind(
            # A Pod may be an owner: LWS's leader owns the StatefulSet of its workers, Spark's driver its executors.
            source="kubernetes-sigs/lws pkg/controllers/pod_controller.go setControllerReferenceWithStatefulSet",
            group="",
            versions=("v1",),
            kind="Pod",
            followed=False,
        ),
    ),
    group_rules=(GroupRules(kind=("apps", "StatefulSet"), starts=together),),
    finished=(
        Finished(
            source="kubernetes/api core/v1/types.go PodPhase",
            group="",
            kind="Pod",
            field=("phase",),
            words=frozenset({"Succeeded", "Failed"}),
        ),
    ),
    replica_sets={POD_TEMPLATE_HASH: "Deployment"},
    podless_groups=words(
        "admissionregistration.k8s.io apiextensions.k8s.io apiregistration.k8s.io authentication.k8s.io "
        "authorization.k8s.io autoscaling certificates.k8s.io coordination.k8s.io discovery.k8s.io "
        "events.k8s.io flowcontrol.apiserver.k8s.io networking.k8s.io node.k8s.io policy "
        "rbac.authorization.k8s.io scheduling.k8s.io snapshot.storage.k8s.io storage.k8s.io"
    ),
    podless_kinds=words(
        "apps/v1/ControllerRevision v1/ConfigMap v1/Endpoints v1/Event v1/LimitRange v1/Namespace v1/Node "
        "v1/PersistentVolume v1/PersistentVolumeClaim v1/ResourceQuota v1/Secret v1/Service v1/ServiceAccount "
        "v1/APIResourceList"
    ),
)

"""Facts about Kueue: Jobs and groups of pods wait in a queue; topology-aware scheduling adds node selectors.

Kueue makes a Workload from a job's template. Kueue divides the plain pods of a group by a hash of the pods' fields
(``role-hash``): the pods with one hash are a pod set, and a Workload has at most 18 pod sets.
"""

from collections.abc import Mapping
from typing import Any, Final

from ...kube.unchecked import at, count, list_at, number, text, text_at, unread
from ..dossier import Dossier, KindNote
from ..members import Member, Membership, Subject, index_of, named, ordinal
from ..name_sets import under
from ..pod_sets import PodSets
from ..queues import CLUSTER_QUEUE, LOCAL_QUEUE, Admission, Queue, QueuedKind, QueueForm
from ..systems import System


def _kueue_group(pod: Subject) -> Member:
    """Return a pod's membership in a pod group of Kueue; the annotation takes precedence over the label.

    The annotation is behind Kueue's gate WorkloadIdentifierAnnotations, which is on since 0.18.
    """
    key = "kueue.x-k8s.io/pod-group-name"
    name = pod.annotations.get(key) or pod.labels[key]
    size = number(pod.annotations.get("kueue.x-k8s.io/pod-group-total-count")) or 0
    # This annotation names the label with the index. Kueue's webhook, which may come later, copies the index from that
    # label (pkg/controller/jobs/pod/pod_webhook.go Default).
    index_label = pod.annotations.get("kueue.x-k8s.io/pod-group-pod-index-label")
    own = pod.labels.get("kueue.x-k8s.io/pod-group-pod-index")
    return Member("Kueue", name, size, index_of(pod.labels.get(index_label) if index_label else own))


def _suspended_set(pod: Subject) -> Member | None:
    """Return a pod's membership in a StatefulSet that waits in a queue of Kueue as one group; None for other pods.

    Kueue's webhook writes the annotation ``kueue.x-k8s.io/pod-suspending-parent`` into the template. Kueue writes the
    group's name and size on a pod only after the pod has been created
    (pkg/controller/jobs/statefulset/statefulset_{webhook,pod_reconciler}.go).
    """
    controller = pod.controller
    if controller is None or (pod.annotations[_PARENT], controller.kind) != ("statefulset", "StatefulSet"):
        return None
    owner = pod.owner("StatefulSet")
    replicas = at(owner, "spec", "replicas")
    size = 0 if owner is None or unread(replicas) else count(replicas, 1)
    return Member("StatefulSet", named("statefulset", controller.uid), size, ordinal(pod))


def _stopped(document: Mapping[str, Any]) -> str:
    policy = text_at(document, "spec", "stopPolicy")
    return f"spec.stopPolicy {policy}" if policy in ("Hold", "HoldAndDrain") else ""


def _inactive(document: Mapping[str, Any]) -> str:
    for each in list_at(document, "status", "conditions"):
        if at(each, "type") == "Active" and at(each, "status") == "False":
            reason = text_at(each, "reason")
            return f"condition Active is False ({reason})" if reason else "condition Active is False"
    return ""


def _covered(document: Mapping[str, Any]) -> frozenset[str]:
    groups = list_at(document, "spec", "resourceGroups")
    return frozenset(text(each) for group in groups for each in list_at(group, "coveredResources") if text(each))


def _admission(document: Mapping[str, Any]) -> Admission:
    """Return whether a queue has admitted the pods of a Workload, and why, from the conditions in its status.

    ``state`` and ``message`` describe the condition QuotaReserved or, if it is absent, the condition Admitted. Without
    both, ``state`` is "QuotaReserved is not set", and ``message`` is empty.
    """
    conditions = {text_at(each, "type"): each for each in list_at(document, "status", "conditions")}
    reason = conditions.get("QuotaReserved") or conditions.get("Admitted") or {}
    state = ", ".join(filter(None, (text_at(reason, "status") or "not set", text_at(reason, "reason"))))
    inactive = at(document, "spec", "active") is False
    return Admission(
        queue=text_at(document, "spec", "queueName"),
        is_admitted=at(conditions.get("Admitted"), "status") == "True",
        has_ended=at(conditions.get("Finished"), "status") == "True",
        state=f"{text_at(reason, 'type') or 'QuotaReserved'} is {state}",
        message=text_at(reason, "message"),
        others=("the Workload is not active: spec.active is false",) if inactive else (),
    )


_DOMAIN: Final = "kueue.x-k8s.io"
_PARENT: Final = f"{_DOMAIN}/pod-suspending-parent"
_PLACEMENT: Final = under(
    _DOMAIN,
    "podset-required-topology podset-preferred-topology podset-unconstrained-topology "
    "podset-slice-required-topology podset-slice-required-topology-constraints podset-slice-size "
    "podset-group-name",
)
_QUEUES: Final = "kubernetes-sigs/kueue apis/kueue/v1beta2/{localqueue,clusterqueue}_types.go"
# The fields that are read are the same in both versions. https://kueue.sigs.k8s.io/docs/reference/kueue.v1beta2/
_VERSIONS: Final = ("v1beta2", "v1beta1")

DOSSIER: Final = Dossier(
    name="Kueue",
    versions={"kubernetes-sigs/kueue": "ff69552e, after v0.19.2"},
    system=System(
        name="kueue",
        precedence=2,
        title="Kueue",
        source="kubernetes-sigs/kueue pkg/controller/constants, pkg/controller/jobs/pod, "
        "apis/kueue/v1beta2/topology_types.go, pkg/util/tas/tas.go",
        labels=under(
            _DOMAIN,
            "queue-name managed pod-group-name pod-group-pod-index prebuilt-workload-name local-queue-name "
            "cluster-queue-name podset tas",
        ),
        annotations=_PLACEMENT
        | under(
            _DOMAIN,
            "queue-name pod-group-name pod-group-total-count pod-group-pod-index-label pod-suspending-parent "
            "prebuilt-workload-name workload role-hash",
        ),
        owner_labels=under(_DOMAIN, "queue-name"),
        reads=(
            "label `kueue.x-k8s.io/queue-name`",
            (
                "label or annotation `kueue.x-k8s.io/pod-group-name` with annotation "
                "`kueue.x-k8s.io/pod-group-total-count`"
            ),
            "of plain pods annotations `kueue.x-k8s.io/podset-*-topology`",
        ),
        elsewhere=(
            "`metadata.labels[kueue.x-k8s.io/queue-name]` of the job",
            "`metadata.annotations[kueue.x-k8s.io/podset-preferred-topology]` of the job's pod template",
        ),
        # No advice: where the queue's ResourceFlavor has no topologyName, Kueue admits no workload with the annotation
        # (pkg/scheduler/flavorassigner/tas_flavorassigner.go), and podberth follows no ResourceFlavors.
        keeps="nodeSelector, affinity, tolerations, resources and claims in `role-hash`; the template in its Workload",
        tolerates="its own webhook has hashed a pod of a group before podberth is asked, and is not asked again "
        "(pkg/controller/jobs/pod/pod_webhook.go addRoleHash); of a job it takes the template. Not where podberth's "
        "configuration has a name before Kueue's",
    ),
    memberships=(
        Membership(
            name="StatefulSet in a queue of Kueue",
            source="kubernetes-sigs/kueue pkg/controller/jobs/statefulset/statefulset_webhook.go",
            read=_suspended_set,
            size="the StatefulSet: `replicas`",
            sized_by=("StatefulSet",),
            alike=True,
            annotation=_PARENT,
        ),
    ),
    notes=(
        KindNote(
            key=_PARENT,
            kind="apps/StatefulSet",
            title="StatefulSet in a queue of Kueue",
            keeps="what Kueue hashes; the group that it names on its pods; its template, whose revision is hashed",
            source="kubernetes-sigs/kueue pkg/controller/jobs/statefulset/statefulset_pod_reconciler.go",
        ),
    ),
    groups=(
        Membership(
            name="Kueue pod group",
            source="kubernetes-sigs/kueue pkg/controller/jobs/pod/constants/constants.go",
            read=_kueue_group,
            size="the annotation `kueue.x-k8s.io/pod-group-total-count`",
            label="kueue.x-k8s.io/pod-group-name",
            annotation="kueue.x-k8s.io/pod-group-name",
        ),
    ),
    pod_sets=PodSets(
        source="kubernetes-sigs/kueue apis/kueue/v1beta2/topology_types.go, pkg/controller/jobs",
        required=f"{_DOMAIN}/podset-required-topology",
        preferred=f"{_DOMAIN}/podset-preferred-topology",
        slice_required=f"{_DOMAIN}/podset-slice-required-topology",
        slice_size=f"{_DOMAIN}/podset-slice-size",
        group=f"{_DOMAIN}/podset-group-name",
        single=frozenset({"Pod", "Deployment", "ReplicaSet", "DaemonSet"}),  # pkg/controller/jobs/deployment
        # Kueue has a minimum of its own for a Job, and Ray's kinds may have fewer pods than ``replicas``.
        own_minimums=frozenset(
            {("batch", "Job"), ("batch", "CronJob"), ("ray.io", "RayCluster"), ("ray.io", "RayJob")}
        ),
    ),
    # The names of the scheduling gates: constants in pkg/controller/jobs/pod/constants and apis/kueue/v1beta2.
    gates=frozenset({_DOMAIN}),
    queued=QueuedKind(
        source="kubernetes-sigs/kueue apis/kueue/v1beta2/workload_types.go, pkg/controller/constants/constants.go",
        kind=("kueue.x-k8s.io", "Workload"),
        versions=_VERSIONS,
        named_by=f"{_DOMAIN}/workload",
        gate=f"{_DOMAIN}/",
        queues=LOCAL_QUEUE,
        read=_admission,
    ),
    # An elastic workload grows and shrinks (pkg/constants).
    elastic_keys=frozenset({"kueue.x-k8s.io/elastic-job"}),
    queues=(
        QueueForm(
            source=_QUEUES,
            kind=LOCAL_QUEUE,
            label="kueue.x-k8s.io/queue-name",
            # Kueue itself reports a stopped queue in the Workload's condition QuotaReserved.
            stopped="a LocalQueue that is stopped: {}; nothing starts until it goes on",
            parent=CLUSTER_QUEUE,
            title="LocalQueue",
            versions=_VERSIONS,
            read=lambda document: Queue(text_at(document, "spec", "clusterQueue"), _stopped(document)),
            of_cluster=False,
        ),
        QueueForm(
            source=_QUEUES,
            kind=CLUSTER_QUEUE,
            title="ClusterQueue",
            versions=_VERSIONS,
            read=lambda document: Queue(halted=_stopped(document) or _inactive(document), covers=_covered(document)),
        ),
    ),
    podless_groups=frozenset({"kueue.x-k8s.io", "config.kueue.x-k8s.io"}),
)

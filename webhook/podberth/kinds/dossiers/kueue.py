"""Kueue: jobs and groups of pods wait in a queue, and topology-aware scheduling gives each pod a node selector.

Kueue makes a Workload of the job's template, and of a plain pod a hash of its role (``role-hash``), by which it sorts
the pods of a group: members that differ multiply its pod sets, of which a Workload holds 18 at most.
"""

from collections.abc import Mapping
from typing import Any, Final

from ...kube.unchecked import at, list_at, number, text_at
from ..dossier import Dossier
from ..members import Member, Membership, Subject, index_of
from ..queues import CLUSTER_QUEUE, LOCAL_QUEUE, Queue, QueueForm
from ..systems import System
from ..words import under


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


def _local_queue(document: Mapping[str, Any]) -> Queue:
    return Queue(text_at(document, "spec", "clusterQueue"), _stopped(document))


def _cluster_queue(document: Mapping[str, Any]) -> Queue:
    return Queue("", _stopped(document) or _inactive(document))


def _stopped(document: Mapping[str, Any]) -> str:
    policy = text_at(document, "spec", "stopPolicy")
    return f"spec.stopPolicy {policy}" if policy in ("Hold", "HoldAndDrain") else ""


def _inactive(document: Mapping[str, Any]) -> str:
    for each in list_at(document, "status", "conditions"):
        if at(each, "type") == "Active" and at(each, "status") == "False":
            reason = text_at(each, "reason")
            return f"condition Active is False ({reason})" if reason else "condition Active is False"
    return ""


_DOMAIN: Final = "kueue.x-k8s.io"
_PLACEMENT: Final = under(
    _DOMAIN,
    "podset-required-topology podset-preferred-topology podset-unconstrained-topology "
    "podset-slice-required-topology podset-slice-required-topology-constraints podset-slice-size "
    "podset-group-name",
)
_QUEUES: Final = "kubernetes-sigs/kueue apis/kueue/v1beta2/{localqueue,clusterqueue}_types.go"
# What is read is the same in both versions. https://kueue.sigs.k8s.io/docs/reference/kueue.v1beta2/
_VERSIONS: Final = ("v1beta2", "v1beta1")

DOSSIER: Final = Dossier(
    name="Kueue",
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
        topology="set annotation kueue.x-k8s.io/podset-preferred-topology (or -required-) of the workload's pod "
        "template",
        slices="set annotations kueue.x-k8s.io/podset-slice-required-topology and podset-slice-size of the workload's "
        "pod template",
        keeps="nodeSelector, affinity, tolerations, resources and claims in `role-hash`; the template in its Workload",
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
    queues=(
        QueueForm(
            source=_QUEUES,
            kind=LOCAL_QUEUE,
            title="LocalQueue",
            versions=_VERSIONS,
            read=_local_queue,
            of_cluster=False,
        ),
        QueueForm(
            source=_QUEUES,
            kind=CLUSTER_QUEUE,
            title="ClusterQueue",
            versions=_VERSIONS,
            read=_cluster_queue,
        ),
    ),
    podless_groups=frozenset({"kueue.x-k8s.io", "config.kueue.x-k8s.io"}),
)

"""Kueue: jobs and groups of pods wait in a queue, and topology-aware scheduling gives each pod a node selector.

Kueue makes a Workload of the job's template, and of a plain pod a hash of its role (``role-hash``), by which it sorts
the pods of a group: members that differ multiply its pod sets, of which a Workload holds 18 at most.
"""

from typing import Final

from .system import System, under

_DOMAIN: Final = "kueue.x-k8s.io"
_PLACEMENT: Final = under(
    _DOMAIN,
    "podset-required-topology",
    "podset-preferred-topology",
    "podset-unconstrained-topology",
    "podset-slice-required-topology",
    "podset-slice-required-topology-constraints",
    "podset-slice-size",
    "podset-group-name",
)

SYSTEM: Final = System(
    name="kueue",
    title="Kueue",
    source="kubernetes-sigs/kueue pkg/controller/constants, pkg/controller/jobs/pod, "
    "apis/kueue/v1beta2/topology_types.go, pkg/util/tas/tas.go",
    labels=under(
        _DOMAIN,
        "queue-name",
        "managed",
        "pod-group-name",
        "pod-group-pod-index",
        "prebuilt-workload-name",
        "local-queue-name",
        "cluster-queue-name",
        "podset",
        "tas",
    ),
    annotations=_PLACEMENT
    | under(
        _DOMAIN,
        "queue-name",
        "pod-group-name",
        "pod-group-total-count",
        "pod-group-pod-index-label",
        "pod-suspending-parent",
        "prebuilt-workload-name",
        "workload",
        "role-hash",
    ),
    owner_labels=under(_DOMAIN, "queue-name"),
    reads=(
        "label `kueue.x-k8s.io/queue-name`",
        "label or annotation `kueue.x-k8s.io/pod-group-name` with annotation `kueue.x-k8s.io/pod-group-total-count`",
        "of plain pods annotations `kueue.x-k8s.io/podset-*-topology`",
    ),
    elsewhere=(
        "`metadata.labels[kueue.x-k8s.io/queue-name]` of the job",
        "`metadata.annotations[kueue.x-k8s.io/podset-preferred-topology]` of the job's pod template",
    ),
    topology="set annotation kueue.x-k8s.io/podset-preferred-topology (or -required-) of the workload's pod template",
    slices="set annotations kueue.x-k8s.io/podset-slice-required-topology and podset-slice-size of the workload's pod "
    "template",
    keeps="nodeSelector, affinity, tolerations, resources and claims in `role-hash`; the template in its Workload",
)

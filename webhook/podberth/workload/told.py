"""What a pod itself tells of its gang, for whoever keeps thousands of pods: ``gangs.gang_of`` of it says the same.

But for what stands in a pod's spec: that says who schedules it, or how many nodes a KServe model is on.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.members import STATEFUL_SET_INDEX
from ..kube.pod import annotations, controller, labels, metadata
from ..wellknown import GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION, JOB_COMPLETION_INDEX

KEYS: Final = frozenset(
    {
        GANG_ACCELERATED_ANNOTATION,
        GANG_LABEL,
        GANG_SIZE_ANNOTATION,
        JOB_COMPLETION_INDEX,
        STATEFUL_SET_INDEX,
        "app.kubernetes.io/part-of",
        "grove.io/base-podgang",
        "grove.io/podclique",
        "grove.io/podclique-pod-index",
        "grove.io/podcliquescalinggroup",
        "grove.io/podcliquescalinggroup-replica-index",
        "grove.io/podcliqueset-replica-index",
        "grove.io/podgang",
        "isvc.generation",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/jobset-name",
        "jobset.sigs.k8s.io/jobset-uid",
        "jobset.sigs.k8s.io/replicatedjob-name",
        "jobset.sigs.k8s.io/replicatedjob-replicas",
        "leaderworkerset.sigs.k8s.io/group-key",
        "leaderworkerset.sigs.k8s.io/name",
        "leaderworkerset.sigs.k8s.io/size",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "ray.io/cluster",
        "ray.io/group",
        "ray.io/node-type",
        "ray.io/replica-host-index",
        "ray.io/worker-group-replica-index",
        "rbg.workloads.x-k8s.io/component-id",
        "rbg.workloads.x-k8s.io/component-index",
        "rbg.workloads.x-k8s.io/component-name",
        "rbg.workloads.x-k8s.io/group-name",
        "rbg.workloads.x-k8s.io/role-instance-index",
        "rbg.workloads.x-k8s.io/role-name",
        "rolebasedgroup.workloads.x-k8s.io/name",
        "rolebasedgroup.workloads.x-k8s.io/role",
        "serving.kserve.io/inferenceservice",
        "spark-app-selector",
        "spark-exec-id",
        "spark-role",
        "sparkoperator.k8s.io/app-name",
        "training.kubeflow.org/job-name",
        "training.kubeflow.org/job-role",
        "training.kubeflow.org/replica-index",
        "training.kubeflow.org/replica-type",
        "volcano.sh/job-name",
        "volcano.sh/task-index",
        "volcano.sh/task-spec",
    }
)
"""Labels and annotations that the tables of gangs read (``operators``, ``serving_operators``)."""

LONGEST: Final = 253
"""Of a value that is kept: names, which may be as long (apimachinery DNS1123SubdomainMaxLength), and numbers.

An annotation may be of 256 KiB, and a label value in a review of any length.
"""


def told(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Pod of these labels and annotations, its name and its controller alone.

    An annotation that is longer than any name is left out, and so what it says is unknown.
    """
    owner = controller(pod)
    kept: dict[str, Any] = {
        "name": metadata(pod).get("name"),
        "labels": _kept(labels(pod)),
        "annotations": _kept(annotations(pod)),
    }
    if owner is not None:
        named = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
        kept["ownerReferences"] = [{**named, "controller": True}]
    return {"metadata": kept}


def _kept(said: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in said.items() if key in KEYS and len(value) <= LONGEST}

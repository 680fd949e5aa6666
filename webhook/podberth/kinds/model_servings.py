"""Adds the fields that Kthena writes on the pods of ModelServings, also on the pods of a ModelBooster."""

from typing import Any, Final

from ..kube.unchecked import at, count, text, text_at
from .places import PLACEHOLDER_HASH, PLACEHOLDER_UID, Found
from .stamping import add_annotations, add_labels, containers, own, set_name

MODEL_SERVING_GROUP: Final = "workload.serving.volcano.sh"
MODEL_SERVING_VERSION: Final = f"{MODEL_SERVING_GROUP}/v1alpha1"
MODEL_SERVING_KEYS: Final = "modelserving.volcano.sh"
"""The domain of the labels on the pods of ModelServings (volcano-sh/kthena pkg/apis/workload/v1alpha1/labels.go)."""


def scheduler_of(serving: object) -> str:
    """Return the scheduler of all pods of a ModelServing.

    If no scheduler is named, the CRD's default counts; an empty name means the API server's default.
    """
    said = at(serving, "spec", "schedulerName")
    return "volcano" if said is None else text(said) or "default-scheduler"


def stamp_member(pod: dict[str, Any], serving: Found, role: Found, *, entry: bool) -> None:
    """Add to a pod Kthena's fields for the entry pod of a role or, if ``entry`` is False, for the role's first worker.

    The pod belongs to the role's first replica in the first serving group. A label of the template replaces Kthena's
    label of equal key; an annotation of Kthena replaces the template's. If the scheduler is Volcano, Kthena makes a
    PodGroup, with or without a gangPolicy. Sources: pkg/model-serving-controller/utils/utils.go createBasePod,
    GenerateEntryPod, GenerateWorkerPod (labels); podgroupmanager/manager.go AnnotatePodWithPodGroup,
    shouldCreatePodGroup.
    """
    name, key = text_at(serving, "metadata", "name"), text(role.get("name"))
    group, replica = f"{name}-0", f"{key}-0"
    labels = {
        f"{MODEL_SERVING_KEYS}/name": name,
        f"{MODEL_SERVING_KEYS}/group-name": group,
        f"{MODEL_SERVING_KEYS}/role": key,
        f"{MODEL_SERVING_KEYS}/role-id": replica,
        f"{MODEL_SERVING_KEYS}/revision": PLACEHOLDER_HASH,
        f"{MODEL_SERVING_KEYS}/role-template-hash": PLACEHOLDER_HASH,
        **({f"{MODEL_SERVING_KEYS}/entry": "true"} if entry else {}),
    }
    add_labels(pod, {**labels, **(pod["metadata"].get("labels") or {})})
    scheduler = pod["spec"]["schedulerName"] = scheduler_of(serving)
    if scheduler == "volcano":
        add_annotations(pod, {"scheduling.k8s.io/group-name": group, "volcano.sh/task-spec": replica})
    first = f"{group}-{replica}-0"
    # createCommonEnvVars, addEnvVars: in the place of the user's own variables of these names
    said = {
        "GROUP_SIZE": str(count(role.get("workerReplicas")) + 1),
        "ENTRY_ADDRESS": f"{first}.{pod['metadata'].get('namespace', '')}",
        "WORKER_INDEX": "0" if entry else "1",
    }
    for each in containers(pod):
        kept = [other for other in each.get("env") or () if other.get("name") not in said]
        each["env"] = [*kept, *({"name": key, "value": value} for key, value in said.items())]
    own(pod, MODEL_SERVING_VERSION, "ModelServing", name, text_at(serving, "metadata", "uid") or PLACEHOLDER_UID)
    set_name(pod, first if entry else f"{group}-{replica}-1")

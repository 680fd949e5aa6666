"""Computes the object that validation sees when a document is created: with the API server's defaults.

Kubernetes' workloads, Pods and Namespaces get all defaults that do not differ between clusters; objects of other kinds
get only the defaults of metadata. Fields that only a cluster knows (creationTimestamp, managedFields, a Service's
address) are left out.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from ..kinds.places import PLACEHOLDER_HASH, PLACEHOLDER_UID
from ..kube.namespaces import with_name_label
from ..kube.quantity import is_some, write_quantities
from ..kube.shape import kind_of, metadata_problems, template_problems
from ..workload.defaults import apply_pod_defaults, apply_template_defaults
from .created_pod import complete_pod
from .resources import ResourceKind

_Defaults = Callable[[dict[str, Any]], None]
_MISFIT: Final = "spec: got a value of another type than the API has there"


def as_created(document: Mapping[str, Any], kind: ResourceKind, namespace: str) -> tuple[dict[str, Any], list[str]]:
    """Return (the object that validation sees, problems); with problems, the object is unchanged.

    A problem is a field of a wrong type. ``namespace`` is used for a namespaced object that names no namespace.
    """
    made, problems = as_received(document, kind, namespace)
    if not problems:
        _complete(made["metadata"], kind)
        prepare = _PREPARED.get((kind.api_version, kind.kind))
        if prepare is not None and not _applied(prepare, made):
            problems = [_MISFIT]
    return made, problems


def as_received(document: Mapping[str, Any], kind: ResourceKind, namespace: str) -> tuple[dict[str, Any], list[str]]:
    """Return (the object that mutation sees, problems). A problem is a field of a wrong type.

    The object is decoded and has defaults, but lacks the fields that the API server adds at creation. ``namespace`` is
    used for a namespaced object that names no namespace.
    """
    made = deepcopy(dict(document))
    if problems := metadata_problems(made):
        return made, problems
    default = _DEFAULTS.get((kind.api_version, kind.kind))
    if kind.built_in:
        made = _as_decoded(made)
    if default is not None and not isinstance(made.setdefault("spec", {}), dict):
        return made, [f"spec: got {kind_of(made['spec'])}, want an object"]
    metadata = made.get("metadata") or {}
    made["metadata"] = {key: value for key, value in metadata.items() if value not in (None, {}, [], "")}
    if kind.namespaced:
        made["metadata"]["namespace"] = made["metadata"].get("namespace") or namespace
    else:
        made["metadata"].pop("namespace", None)
    if default is not None and not _applied(default, made):
        return made, [_MISFIT]
    return made, []


def _applied(change: _Defaults, made: dict[str, Any]) -> bool:
    """Change an object by ``change``; return False if a value in the object has the wrong type."""
    try:
        change(made)
    except (TypeError, AttributeError, KeyError):
        return False
    return True


def defaulted(document: Mapping[str, Any], kind: ResourceKind) -> dict[str, Any]:
    """Return an object that a mutation has changed, decoded again and with the API's defaults."""
    made = deepcopy(dict(document))
    if kind.built_in:
        made = _as_decoded(made)
        if default := _DEFAULTS.get((kind.api_version, kind.kind)):
            default(made)
    made["metadata"] = {key: value for key, value in made["metadata"].items() if value not in (None, {}, [], "")}
    return made


def _complete(metadata: dict[str, Any], kind: ResourceKind) -> None:
    """Write the metadata that the API server adds at creation (BeforeCreate, apiserver pkg/registry/rest/create.go)."""
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = f"{metadata['generateName']}{PLACEHOLDER_HASH[:5]}"
    metadata.setdefault("uid", PLACEHOLDER_UID)
    if (kind.api_version, kind.kind) in _GENERATED or not kind.built_in:
        metadata.setdefault("generation", 1)


# ---- defaults of Kubernetes' kinds, pkg/apis/*/v1/defaults.go of kubernetes ------------------------------------------


def _fill(part: dict[str, Any], defaults: Mapping[str, Any]) -> None:
    for key, value in defaults.items():
        if part.get(key) is None:
            part[key] = deepcopy(value)
        elif isinstance(value, dict):
            _fill(part[key], value)


def _fill_strategy(strategy: dict[str, Any], rolling: Mapping[str, Any]) -> None:
    """Add the defaults of a strategy of updates; ``rolling`` has those of a rolling update."""
    _fill(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, {"rollingUpdate": rolling})


def _template(holder: dict[str, Any]) -> None:
    template = holder.setdefault("template", {})
    template.setdefault("metadata", {})
    template.setdefault("spec", {})
    if not template_problems(template):
        apply_template_defaults(template)
        write_quantities(template)


_GENERATION: Final = "deprecated.daemonset.template.generation"


def _deployment(made: dict[str, Any]) -> None:
    spec = made["spec"]
    _template(spec)
    _fill(spec, {"replicas": 1, "strategy": {}, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    _fill_strategy(spec["strategy"], {"maxUnavailable": "25%", "maxSurge": "25%"})
    made["status"] = {}


def _stateful_set(made: dict[str, Any]) -> None:
    spec = made["spec"]
    _template(spec)
    _fill(spec, {"podManagementPolicy": "OrderedReady", "updateStrategy": {}, "replicas": 1, "serviceName": ""})
    kept = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    _fill(spec, {"revisionHistoryLimit": 10, "persistentVolumeClaimRetentionPolicy": kept})
    _fill_strategy(spec["updateStrategy"], {"partition": 0})
    for claim in spec.get("volumeClaimTemplates") or ():
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        _fill(claim.setdefault("spec", {}), {"volumeMode": "Filesystem"})
        _fill(claim.setdefault("status", {}), {"phase": "Pending"})
        write_quantities(claim)
    made["status"] = {"replicas": 0, "availableReplicas": 0}


def _daemon_set(made: dict[str, Any]) -> None:
    spec = made["spec"]
    _template(spec)
    _fill(spec, {"updateStrategy": {}, "revisionHistoryLimit": 10})
    _fill_strategy(spec["updateStrategy"], {"maxUnavailable": 1, "maxSurge": 0})
    # Convert_apps_DaemonSet_To_v1_DaemonSet, pkg/apis/apps/v1/conversion.go
    made["metadata"]["annotations"] = {_GENERATION: "0", **(made["metadata"].get("annotations") or {})}
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    made["status"] = dict.fromkeys(counts, 0)


def _prepare_daemon_set(made: dict[str, Any]) -> None:
    if made["metadata"]["annotations"][_GENERATION] == "0":
        made["metadata"]["annotations"][_GENERATION] = "1"


def _replica_set(made: dict[str, Any]) -> None:
    spec = made["spec"]
    _template(spec)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not made["metadata"].get("labels"):
        made["metadata"]["labels"] = deepcopy(labels)
    _fill(spec, {"replicas": 1})
    made["status"] = {"replicas": 0}


def _job_spec(spec: dict[str, Any]) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    _fill(spec, {"parallelism": 1, "completionMode": "NonIndexed", "suspend": False, "manualSelector": False})
    if spec.get("backoffLimitPerIndex") is None:
        _fill(spec, {"backoffLimit": 6})
    else:
        _fill(spec, {"backoffLimit": 2**31 - 1})
    replaced = "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    _fill(spec, {"podReplacementPolicy": replaced})


def _job(made: dict[str, Any]) -> None:
    spec, metadata = made["spec"], made["metadata"]
    _template(spec)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not metadata.get("labels"):
        metadata["labels"] = labels  # the template's map itself, to which its creation adds labels
    _job_spec(spec)
    made["status"] = {}


def _prepare_job(made: dict[str, Any]) -> None:
    spec = made["spec"]
    if spec.get("manualSelector"):
        return
    uid, name = made["metadata"]["uid"], made["metadata"].get("name", "")
    # generateSelector, pkg/registry/batch/job/strategy.go
    labels = {"controller-uid": uid, "job-name": name}
    labels |= {f"batch.kubernetes.io/{key}": value for key, value in labels.items()}
    own = spec["template"]["metadata"].setdefault("labels", {})
    for key, value in labels.items():
        own.setdefault(key, value)
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def _cron_job(made: dict[str, Any]) -> None:
    spec = made["spec"]
    _fill(spec, {"concurrencyPolicy": "Allow", "suspend": False})
    _fill(spec, {"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1})
    template = spec.setdefault("jobTemplate", {})
    template.setdefault("metadata", {})
    template.setdefault("spec", {})
    _template(template["spec"])
    # A JobTemplate gets no defaults of a Job but those of its pods (SetDefaults_CronJob).
    made["status"] = {}


def _pod(made: dict[str, Any]) -> None:
    apply_pod_defaults(made)
    write_quantities(made)
    made["status"] = {}


def _prepare_pod(made: dict[str, Any]) -> None:
    complete_pod(made)
    made["status"] = {"phase": "Pending", "qosClass": _qos_class(made["spec"])}


def _qos_class(spec: Mapping[str, Any]) -> str:
    """Return the QoS class of a pod (ComputePodQOS, kubernetes pkg/apis/core/helper/qos).

    The amounts of the pod itself, if it has any, decide alone (KEP-2837). An amount of zero is none.
    """
    holders = [each.get("resources") for key in ("containers", "initContainers") for each in spec.get(key) or ()]
    if spec.get("resources") is not None:
        holders = [spec["resources"]]
    amounts = [
        [_some((each or {}).get(side), name) for side in ("limits", "requests")]
        for each in holders
        for name in ("cpu", "memory")
    ]
    if not any(any(each) for each in amounts):
        return "BestEffort"
    return "Guaranteed" if all(limit and limit == request for limit, request in amounts) else "Burstable"


def _some(amounts: Mapping[str, Any] | None, name: str) -> Any:
    """Return an amount of resources; None if it is zero or absent."""
    amount = (amounts or {}).get(name)
    return amount if is_some(amount) else None


def _namespace(made: dict[str, Any]) -> None:
    made["metadata"] = with_name_label(made)["metadata"]
    made["status"] = {}


def _prepare_namespace(made: dict[str, Any]) -> None:
    _fill(made["spec"], {"finalizers": ["kubernetes"]})
    made["status"] = {"phase": "Active"}


_DEFAULTS: Final[Mapping[tuple[str, str], _Defaults]] = {
    ("v1", "Pod"): _pod,
    ("v1", "Namespace"): _namespace,
    ("apps/v1", "Deployment"): _deployment,
    ("apps/v1", "StatefulSet"): _stateful_set,
    ("apps/v1", "DaemonSet"): _daemon_set,
    ("apps/v1", "ReplicaSet"): _replica_set,
    ("batch/v1", "Job"): _job,
    ("batch/v1", "CronJob"): _cron_job,
}
_PREPARED: Final[Mapping[tuple[str, str], _Defaults]] = {
    ("v1", "Pod"): _prepare_pod,
    ("v1", "Namespace"): _prepare_namespace,
    ("apps/v1", "DaemonSet"): _prepare_daemon_set,
    ("batch/v1", "Job"): _prepare_job,
}
"""The functions that write the fields which creation adds, by kind (PrepareForCreate, pkg/registry of kubernetes)."""
_GENERATED: Final = frozenset(
    {
        *(each for each in _DEFAULTS if each != ("v1", "Namespace")),
        ("networking.k8s.io/v1", "Ingress"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("policy/v1", "PodDisruptionBudget"),
    }
)
"""The kinds of Kubernetes whose objects have ``metadata.generation``."""


_MAPS: Final = frozenset(
    {"labels", "annotations", "matchLabels", "nodeSelector", "limits", "requests", "overhead", "data", "binaryData"}
)
"""The fields that are maps, and are left out if empty; any other field that is an empty object (``emptyDir``) is
written.
"""
_CONTAINER: Final = frozenset(
    {"command", "args", "workingDir", "imagePullPolicy", "image", "stdin", "stdinOnce", "tty"}
    | {"terminationMessagePath", "terminationMessagePolicy"}
)
_OMITTED: Final[Mapping[str, frozenset[str]]] = {
    "spec": frozenset(
        {"paused", "minReadySeconds", "hostNetwork", "hostPID", "hostIPC", "nodeName", "hostname", "subdomain"}
        | {"serviceAccountName", "serviceAccount", "priorityClassName", "schedulerName"}
    ),
    "containers": _CONTAINER,
    "initContainers": _CONTAINER,
    "env": frozenset({"value"}),
    "volumeMounts": frozenset({"readOnly", "subPath", "subPathExpr"}),
    "ports": frozenset({"hostPort", "hostIP"}),
}
"""The fields that pods and their controllers leave out if false, 0 or empty (omitempty), by the field around them."""


def _as_decoded(value: Any, place: str = "") -> Any:
    """Return a copy of a JSON value as the API server decodes it, without empty fields.

    Fields that are null, an empty list, or an empty map (labels and the other fields in ``_MAPS``) are left out. Some
    fields are also left out if false, 0 or "": ``_OMITTED`` has their names, by the name of the field around them.
    ``place`` is the name of the field that contains ``value``.
    """
    if isinstance(value, dict):
        omitted = _OMITTED.get(place, frozenset())
        return {
            key: _as_decoded(each, key)
            for key, each in value.items()
            if each is not None
            and each != []
            and not (each == {} and key in _MAPS)
            and not (key in omitted and each in (False, 0, ""))
        }
    return [_as_decoded(each, place) for each in value] if isinstance(value, list) else value

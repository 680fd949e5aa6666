"""Reduces a cluster's documents to the fields that podberth reads, for a snapshot that users keep and share.

The documents are sorted, and fields that change without effect on a decision (heartbeats, versions, managed fields) are
removed. Decisions from the reduced documents equal decisions from the originals. Leases, ConfigMaps that no policy
reads, and objects that ``facts.collect`` ignores or cannot read are left out. A workload, such as a Job, keeps only
numbers, names and the pods' requirements on a node, because other fields may be secret.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..devices.resources import recognise
from ..errors import TopologyError
from ..kinds.systems import POD_GROUPS
from ..kube.unchecked import list_at, mapping_at
from ..topology.manifest import FAULTS
from ..topology.pod_groups import served_pod_groups
from ..wellknown import TOPOLOGY_LABEL
from ..workload.owners import KEPT_ANNOTATIONS
from .object_kinds import Document, Kind, KindRole, kinds_of, unlist

IsParam: TypeAlias = Callable[[str, str, Mapping[str, Any]], bool]
"""The function that returns whether a policy may read a ConfigMap as params, from its namespace, name and labels."""

# kubectl's copy of the applied object, and annotations that only record how an object was created.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# The conditions of nodes and of Kueue's queues that podberth reads.
_CONDITIONS = frozenset({"Ready", "Active", *FAULTS})
# Strings of a workload that are kept: names by which its parts refer to each other (PodCliqueSet's scaling groups), and
# fields with a fixed set of values.
_NAMES = frozenset({"name", "cliqueNames", "restartPolicy", "startupPolicyOrder", "launcherCreationPolicy", "mode"})
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

Fields: TypeAlias = Mapping[str, Any]
"""The fields of an object that are kept, by name.

The value True keeps the whole field. A mapping keeps only the subfields that the mapping names.

A list with one mapping is for a field that is a list of objects: of each object, only the subfields in the mapping are
kept.
"""


def _whole(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, True)


_OF_CLUSTER, _NAMESPACED = {"metadata": _whole("name")}, {"metadata": _whole("name", "namespace")}
# The fields of a device request that devices.claims reads.
_REQUEST = _whole("deviceClassName", "allocationMode", "count", "adminAccess")
_CLAIM = {"devices": {"requests": [{"name": True, **_REQUEST, "exactly": _REQUEST, "firstAvailable": [_REQUEST]}]}}
_CHANNEL = {"resourceClaimTemplate": _whole("name"), "allocationMode": True}
_KEPT: Final[Mapping[KindRole, Fields]] = {
    # CEL sees the whole object as namespaceObject; policies read its labels and annotations.
    "namespace": {"metadata": _whole("name", "labels", "annotations")},
    "topology": {"metadata": {"name": True, "labels": _whole(TOPOLOGY_LABEL), "namespace": True}, "data": True},
    "config map": {"metadata": _whole("name", "namespace", "labels", "annotations"), **_whole("data", "binaryData")},
    "priority class": {**_OF_CLUSTER, **_whole("globalDefault", "value")},
    "class": {**_OF_CLUSTER, "spec": {"extendedResourceName": True, "selectors": [{"cel": _whole("expression")}]}},
    "claim": {**_NAMESPACED, "spec": _CLAIM},
    "template": {**_NAMESPACED, "spec": {"spec": _CLAIM}},
    "compute domain": {**_NAMESPACED, "spec": {"channel": _CHANNEL}},
    "pod group": {
        **_NAMESPACED,
        "spec": {
            **_whole("minMember", "topologyConstraint", "networkTopology"),
            "subGroups": [_whole("topologyConstraint")],
            "subGroupPolicy": [_whole("networkTopology")],
            "schedulingPolicy": {"gang": _whole("minCount")},
            "resourceClaims": [_whole("name", "resourceClaimTemplateName")],
        },
    },
    "queue": {
        **_NAMESPACED,
        "spec": {
            **_whole("clusterQueue", "parentQueue", "stopPolicy"),
            "resourceGroups": [_whole("coveredResources")],
        },
        "status": {"state": True, "conditions": [_whole("type", "status", "reason")]},
    },
    "node": {
        "metadata": _whole("name", "labels", "deletionTimestamp"),
        "spec": {"taints": [_whole("key", "value", "effect")], "unschedulable": True},
        "status": {"conditions": [_whole("type", "status")], **_whole("allocatable", "capacity")},
    },
    "owner": {
        "metadata": {
            **_whole("name", "namespace", "uid", "labels", "ownerReferences"),
            "annotations": _whole(*KEPT_ANNOTATIONS),
        }
    },
}


def trim(documents: Iterable[Document], *, is_param: IsParam) -> list[Document]:
    """Return the documents that decisions can depend on, with only the fields that podberth reads.

    The documents are sorted by API group, kind, namespace and name; the originals do not change. If an object has two
    documents, the later one counts.

    Args:
        documents: the objects, lists included.
        is_param: returns whether a policy may read a ConfigMap; such ConfigMaps are kept.
    """
    found: dict[tuple[str, ...], Document] = {}
    for document in documents:
        for single in unlist(document):
            kept = _trimmed(single, is_param)
            if kept is not None:
                found[_key(kept)] = kept
    return [found[key] for key in sorted(found)]


def _key(document: Document) -> tuple[str, ...]:
    metadata = document["metadata"]
    # The uid is a part of the key, because owners are looked up by uid, and an owner may be created again by its name.
    uid = str(metadata.get("uid", ""))
    group = str(document["apiVersion"]).rpartition("/")[0]
    return (group, str(document["kind"]), str(metadata.get("namespace", "")), str(metadata["name"]), uid)


def _trimmed(document: Document, is_param: IsParam) -> Document | None:
    rows = kinds_of(document)
    space = mapping_at(document, "metadata").get("namespace")
    if not rows or rows[0].place(document) is None or not (space is None or isinstance(space, str)):
        return None
    role = next((row.role for row in rows if _is_used(row, document)), None)
    if role is None or (role == "config map" and not _is_chosen(document, is_param)):
        return None
    kept = _SPECIAL[role](document) if role in _SPECIAL else _part(document, _KEPT[role]) if role in _KEPT else None
    return None if kept is None else {"apiVersion": document.get("apiVersion"), "kind": document["kind"], **kept}


def _is_used(kind: Kind, document: Document) -> bool:
    try:
        return kind.fact(document) is not None
    except TopologyError:
        return False


def _is_chosen(config_map: Document, is_param: IsParam) -> bool:
    metadata = config_map["metadata"]
    return is_param(metadata.get("namespace") or "default", metadata["name"], mapping_at(metadata, "labels"))


def _part(document: Document, fields: Fields) -> Document:
    """Return a copy of an object with only the fields in ``fields``; fields without a value are left out."""
    kept: Document = {}
    for name, inner in fields.items():
        value = document.get(name)
        if isinstance(inner, dict):
            value = (_part(value, inner) or None) if isinstance(value, dict) else None
        elif isinstance(inner, list):
            parts = [_part(each, inner[0]) for each in list_at(document, name) if isinstance(each, dict)]
            if name == "conditions":
                parts = sorted((each for each in parts if _type(each) in _CONDITIONS), key=_type)
            value = parts or None
        elif name == "annotations" and isinstance(value, dict):
            value = {key: each for key, each in value.items() if key != _LAST_APPLIED} or None
        if value is not None:
            kept[name] = value
    return kept


def _type(condition: Document) -> str:
    return str(condition.get("type"))


def _discovery(document: Document) -> Document:
    """Return an APIResourceList with only its PodGroups, named after the API group."""
    kept = {"groupVersion": document["groupVersion"], "resources": [{"name": POD_GROUPS}]}
    return {"apiVersion": "v1", "metadata": {"name": served_pod_groups(document)}, **kept}


def _priority_class(document: Document) -> Document:
    return _part(document, _KEPT["priority class"] if document.get("globalDefault") is True else _OF_CLUSTER)


def _owner(document: Document) -> Document:
    return {**_part(document, _KEPT["owner"]), "spec": _counted(document.get("spec"), "")}


def _node(node: Document) -> Document:
    kept = _part(node, _KEPT["node"])
    for key in {"allocatable", "capacity"} & kept.get("status", {}).keys():
        kept["status"][key] = {
            name: amount for name, amount in kept["status"][key].items() if "/" in name or recognise(name)
        }
    return kept


def _config_map(document: Document) -> Document:
    kept = _part(document, _KEPT["config map"])
    kept["metadata"]["namespace"] = kept["metadata"].get("namespace") or "default"
    return kept


def _counted(value: Any, key: str) -> Any:
    """Return a copy of a workload's spec in which every string is emptied, except names and requirements on a node.

    ``key`` is the name of the field that has ``value``; the key decides whether a string is kept.
    """
    if isinstance(value, dict):
        counted = {inner: _counted(each, inner) for inner, each in value.items()}
        return counted | _requested_of_a_node(value)
    if isinstance(value, list):
        return [_counted(each, key) for each in value]
    return value if not isinstance(value, str) or key in _NAMES else ""


def _requested_of_a_node(value: Document) -> Document:
    """Return the fields of a PodSpec, or of a container's resources, that decide on which nodes pods can run."""
    if isinstance(value.get("containers"), list):
        affinity = {"nodeAffinity": _whole(_REQUIRED)}
        return _part(value, {**_whole("nodeSelector", "tolerations", "resourceClaims"), "affinity": affinity})
    # Only extended resources are kept. Their names have a slash, those of CPU and memory have none.
    return {
        key: {name: amount for name, amount in value[key].items() if "/" in name}
        for key in ("limits", "requests")
        if isinstance(value.get(key), dict) and value[key]
    }


_SPECIAL: Final[Mapping[KindRole, Callable[[Document], Document]]] = {
    "config map": _config_map,
    "node": _node,
    "discovery": _discovery,
    "priority class": _priority_class,
    "owner": _owner,
}
"""The functions that trim an object by its content, for the roles in which the content decides what is kept."""


def as_list(documents: Iterable[Document], write: Callable[[Document], str]) -> Iterator[str]:
    """Yield the lines of a List in JSON, one object on each line.

    The lines of two snapshots can then be compared. ``write`` returns one object as one line.
    """
    lines = [write(document) for document in documents]
    yield '{"apiVersion": "v1", "kind": "List", "items": ['
    yield from (f"{line}," for line in lines[:-1])
    yield from lines[-1:]
    yield "]}"

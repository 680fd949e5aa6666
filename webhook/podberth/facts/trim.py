"""Reduces a cluster's documents to the fields that podberth reads, for a snapshot that users keep and share.

The documents are sorted, and fields that change without effect on a decision (heartbeats, versions, managed fields) are
removed. Decisions from the reduced documents equal decisions from the originals. Leases, ConfigMaps that no policy
reads, and objects that ``facts.collect`` ignores or cannot read are left out. A workload, such as a Job, keeps only
numbers, names and the pods' requirements on a node, because other fields may be secret.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..devices.claims import is_generated
from ..devices.resources import recognise
from ..errors import TopologyError
from ..kinds.systems import POD_GROUPS
from ..kube.unchecked import list_at, mapping_at, text_at
from ..topology.codec import decode_topology
from ..topology.manifest import FAULTS, read_node
from ..topology.pod_groups import served_pod_groups
from ..wellknown import TOPOLOGY_LABEL
from ..workload.owners import KEPT_ANNOTATIONS
from .object_kinds import Document, KindRole, kinds_of, unlist

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
        "spec": _whole("clusterQueue", "parentQueue", "stopPolicy"),
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


def trim(documents: Iterable[Document], *, is_param: IsParam, namespace: str) -> list[Document]:
    """Return the documents that decisions can depend on, with only the fields that podberth reads.

    The documents are sorted by API group, kind, namespace and name; the originals do not change. If an object has two
    documents, the later one counts.

    Args:
        documents: the objects, lists included.
        is_param: returns whether a policy may read a ConfigMap; such ConfigMaps are kept.
        namespace: the namespace of topology ConfigMaps.
    """
    found: dict[tuple[str, ...], Document] = {}
    for document in documents:
        for single in unlist(document):
            kept = _trimmed(single, is_param, namespace)
            if kept is not None:
                found[_key(kept)] = kept
    return [found[key] for key in sorted(found)]


def _key(document: Document) -> tuple[str, ...]:
    metadata = document["metadata"]
    # The uid is a part of the key, because owners are looked up by uid, and an owner may be created again by its name.
    uid = str(metadata.get("uid", ""))
    group = str(document["apiVersion"]).rpartition("/")[0]
    return (group, str(document["kind"]), str(metadata.get("namespace", "")), str(metadata["name"]), uid)


def _trimmed(document: Document, is_param: IsParam, namespace: str) -> Document | None:
    rows = kinds_of(document)
    space = mapping_at(document, "metadata").get("namespace")
    if not rows or rows[0].place(document) is None or not (space is None or isinstance(space, str)):
        return None
    role = rows[0].role
    if role in ("topology", "config map"):
        kept = _config_map(document, is_param, namespace)
    elif role in _SPECIAL:
        kept = _SPECIAL[role](document)
    else:
        kept = _part(document, _KEPT[role]) if role in _KEPT else None
    return None if kept is None else {"apiVersion": document.get("apiVersion"), "kind": document["kind"], **kept}


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


def _discovery(document: Document) -> Document | None:
    """Return an APIResourceList with only its PodGroups, named after the API group; None if it has no PodGroups."""
    group = served_pod_groups(document)
    if not group:
        return None
    kept = {"groupVersion": document["groupVersion"], "resources": [{"name": POD_GROUPS}]}
    return {"apiVersion": "v1", "metadata": {"name": group}, **kept}


def _priority_class(document: Document) -> Document:
    return _part(document, _KEPT["priority class"] if document.get("globalDefault") is True else _OF_CLUSTER)


def _claim(document: Document) -> Document | None:
    return None if is_generated(document) else _part(document, _KEPT["claim"])


def _compute_domain(document: Document) -> Document | None:
    named = text_at(document, "spec", "channel", "resourceClaimTemplate", "name")
    return _part(document, _KEPT["compute domain"]) if named else None


def _owner(document: Document) -> Document | None:
    kept = _part(document, _KEPT["owner"])
    return {**kept, "spec": _counted(document.get("spec"), "")} if kept["metadata"].get("uid") else None


def _node(node: Document) -> Document | None:
    if not _is_read(read_node, node):
        return None
    kept = _part(node, _KEPT["node"])
    for key in {"allocatable", "capacity"} & kept.get("status", {}).keys():
        kept["status"][key] = {
            name: amount for name, amount in kept["status"][key].items() if "/" in name or recognise(name)
        }
    return kept


def _config_map(document: Document, is_param: IsParam, namespace: str) -> Document | None:
    metadata = document["metadata"]
    where, labels = metadata.get("namespace") or "default", mapping_at(metadata, "labels")
    if TOPOLOGY_LABEL in labels:
        if where != namespace or not _is_read(decode_topology, document):
            return None
        own = {"name": True, "labels": _whole(TOPOLOGY_LABEL)}
        kept = _part(document, {"metadata": own, "data": True})
    elif is_param(where, metadata["name"], labels):
        kept = _part(document, _KEPT["config map"])
    else:
        return None
    kept["metadata"]["namespace"] = where
    return kept


def _is_read(read: Callable[[Document], object], document: Document) -> bool:
    try:
        read(document)
    except TopologyError:
        return False
    return True


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


_SPECIAL: Final[Mapping[KindRole, Callable[[Document], Document | None]]] = {
    "node": _node,
    "discovery": _discovery,
    "priority class": _priority_class,
    "claim": _claim,
    "compute domain": _compute_domain,
    "owner": _owner,
}
"""The functions that trim an object by its content, for the roles in which the content decides which fields are kept.

A function returns None if the object is left out.
"""


def as_list(documents: Iterable[Document], write: Callable[[Document], str]) -> Iterator[str]:
    """Yield the lines of a List in JSON, one object on each line.

    The lines of two snapshots can then be compared. ``write`` returns one object as one line.
    """
    lines = [write(document) for document in documents]
    yield '{"apiVersion": "v1", "kind": "List", "items": ['
    yield from (f"{line}," for line in lines[:-1])
    yield from lines[-1:]
    yield "]}"

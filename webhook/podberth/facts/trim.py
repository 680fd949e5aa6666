"""A cluster's documents reduced to the fields that podberth reads: the snapshot that users keep and share.

The same cluster gives the same documents in the same order: fields that only show age (heartbeats, versions, managed
fields) are removed. ``facts.collect`` gives the same result for the reduced documents as for the originals, so
decisions are equal. Objects that it ignores are left out. A workload that makes gangs keeps only numbers, names, and
its pods' requirements on a node: sizes and levels come from these, and its other fields may be secret.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..devices.claims import is_generated
from ..devices.resources import recognise
from ..errors import TopologyError
from ..kinds.systems import NATIVE_GROUP, POD_GROUPS
from ..kube.unchecked import mapping_at
from ..topology.codec import decode_topology
from ..topology.manifest import FAULTS, decode_node
from ..topology.pod_groups import served_pod_groups
from ..wellknown import TOPOLOGY_LABEL
from .kinds import Document, Role, kinds_of, unlist

IsParam: TypeAlias = Callable[[str, str, Mapping[str, Any]], bool]
"""Whether a policy may read a ConfigMap as its parameters, by namespace, name and labels."""

# kubectl's copy of the applied object, and annotations that only record how an object was created.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CONDITIONS = frozenset({"Ready", *FAULTS})
# The fields of a device request that devices.claims reads.
_OF_A_REQUEST = ("deviceClassName", "allocationMode", "count", "adminAccess")
# The fields by which the parts of a workload refer to each other (PodCliqueSet's scaling groups).
_NAMES = frozenset({"name", "cliqueNames", "restartPolicy", "startupPolicyOrder", "launcherCreationPolicy"})
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def trim(documents: Iterable[Document], *, is_param: IsParam, namespace: str) -> list[Document]:
    """Return the needed parts of documents, sorted by kind, namespace and name; of two with one name the later counts.

    ``namespace`` is the namespace of topology ConfigMaps. The originals are not changed.
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
    # Owners are looked up by uid, and two of one name may follow each other.
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
    elif role == "pod group":
        kept = _pod_group(document, rows[0].group)
    else:
        kept = _BY_ROLE[role](document) if role in _BY_ROLE else None
    return None if kept is None else {"apiVersion": document.get("apiVersion"), "kind": document["kind"], **kept}


def _discovery(document: Document) -> Document | None:
    """Return that PodGroups of an API group are served; the group is its name, because discovery has none."""
    groups = served_pod_groups(document)
    if not groups:
        return None
    kept = {"groupVersion": document["groupVersion"], "resources": [{"name": POD_GROUPS}]}
    return {"apiVersion": "v1", "metadata": {"name": min(groups)}, **kept}


def _namespace(document: Document) -> Document:
    # CEL sees the whole object as namespaceObject; policies read its labels and annotations.
    return {"metadata": _metadata(document, "name", "labels", "annotations")}


def _pod_group(document: Document, group: str) -> Document:
    spec = _object(document, "spec")
    if group == NATIVE_GROUP:
        gang = _pick(_object(_object(spec, "schedulingPolicy"), "gang"), "minCount")
        counted: Document = {"schedulingPolicy": {"gang": gang}} if gang else {}
        shared = [
            kept
            for each in _objects(spec.get("resourceClaims"))
            if "resourceClaimTemplateName" in (kept := _pick(each, "name", "resourceClaimTemplateName"))
        ]
        counted |= {"resourceClaims": shared} if shared else {}
    else:
        counted = _pick(spec, "minMember")
    return {"metadata": _metadata(document, "name", "namespace"), **({"spec": counted} if counted else {})}


def _queue(document: Document) -> Document:
    spec = _pick(_object(document, "spec"), "clusterQueue", "parentQueue", "stopPolicy")
    status = _pick(_object(document, "status"), "state")
    conditions = _objects(_object(document, "status").get("conditions"))
    if active := [_pick(each, "type", "status", "reason") for each in conditions if each.get("type") == "Active"]:
        status["conditions"] = active
    parts = {"spec": spec, "status": status}
    return {"metadata": _metadata(document, "name", "namespace"), **{key: each for key, each in parts.items() if each}}


def _priority_class(document: Document) -> Document:
    default = _pick(document, "globalDefault", "value") if document.get("globalDefault") is True else {}
    return {"metadata": _metadata(document, "name"), **default}


def _device_class(document: Document) -> Document:
    whole = _object(document, "spec")
    spec, selectors = _pick(whole, "extendedResourceName"), whole.get("selectors")
    kept = [{"cel": _pick(_object(each, "cel"), "expression")} for each in _objects(selectors)]
    spec |= {"selectors": kept} if kept else {}
    return {"metadata": _metadata(document, "name"), **({"spec": spec} if spec else {})}


def _claim(document: Document) -> Document | None:
    if is_generated(document):
        return None
    return {"metadata": _metadata(document, "name", "namespace"), "spec": _asked(_object(document, "spec"))}


def _claim_template(document: Document) -> Document:
    asked = _asked(_object(_object(document, "spec"), "spec"))
    return {"metadata": _metadata(document, "name", "namespace"), "spec": {"spec": asked}}


def _compute_domain(document: Document) -> Document | None:
    channel = _object(_object(document, "spec"), "channel")
    name = _pick(_object(channel, "resourceClaimTemplate"), "name")
    if not name:
        return None
    spec = {"channel": {"resourceClaimTemplate": name, **_pick(channel, "allocationMode")}}
    return {"metadata": _metadata(document, "name", "namespace"), "spec": spec}


def _asked(spec: Document) -> Document:
    requests = _object(spec, "devices").get("requests")
    return {"devices": {"requests": [_request(each) for each in _objects(requests)]}}


def _request(request: Document) -> Document:
    kept = _pick(request, "name", *_OF_A_REQUEST)
    if isinstance(request.get("exactly"), dict):
        kept["exactly"] = _pick(request["exactly"], *_OF_A_REQUEST)
    if alternatives := [_pick(each, *_OF_A_REQUEST) for each in _objects(request.get("firstAvailable"))]:
        kept["firstAvailable"] = alternatives
    return kept


def _owner(document: Document) -> Document | None:
    metadata = _metadata(document, "name", "namespace", "uid", "labels", "ownerReferences")
    return {"metadata": metadata, "spec": _counted(document.get("spec"), "")} if metadata.get("uid") else None


def _node(node: Document) -> Document | None:
    try:
        decode_node(node)
    except TopologyError:
        return None
    # The node was decoded, so its fields have the right shape.
    spec, status = _object(node, "spec"), _object(node, "status")
    amounts: Document = {
        key: {name: amount for name, amount in _object(status, key).items() if "/" in name or recognise(name)}
        for key in ("allocatable", "capacity")
    }
    kept = [_pick(each, "type", "status") for each in status.get("conditions") or () if each.get("type") in _CONDITIONS]
    taints = [_pick(taint, "key", "value", "effect") for taint in spec.get("taints") or ()]
    parts: Document = {"conditions": sorted(kept, key=lambda each: str(each["type"])), **amounts}
    return {
        "metadata": _metadata(node, "name", "labels", "deletionTimestamp"),
        "spec": {**({"taints": taints} if taints else {}), **_pick(spec, "unschedulable")},
        "status": {key: value for key, value in parts.items() if value},
    }


def _config_map(document: Document, is_param: IsParam, namespace: str) -> Document | None:
    metadata = document["metadata"]
    where, labels = metadata.get("namespace") or "default", _object(metadata, "labels")
    if TOPOLOGY_LABEL in labels:
        if where != namespace or not _is_topology(document):
            return None
        meta = {"name": metadata["name"], "namespace": where, "labels": _pick(labels, TOPOLOGY_LABEL)}
        return {"metadata": meta, **_pick(document, "data")}
    if not is_param(where, metadata["name"], labels):
        return None
    meta = {**_metadata(document, "name", "labels", "annotations"), "namespace": where}
    return {"metadata": meta, **_pick(document, "data", "binaryData")}


def _is_topology(document: Document) -> bool:
    try:
        decode_topology(document)
    except TopologyError:
        return False
    return True


def _metadata(document: Document, *keys: str) -> Document:
    found = _pick(document["metadata"], *keys)
    annotations = found.get("annotations")
    if isinstance(annotations, dict):
        found["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    if not found.get("annotations", True):
        del found["annotations"]
    return found


def _pick(document: Mapping[str, Any], *keys: str) -> Document:
    return {key: document[key] for key in keys if document.get(key) is not None}


def _object(document: Mapping[str, Any], key: str) -> Document:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Document]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _counted(value: Any, key: str) -> Any:
    """Copy a workload's spec with only numbers, flags and names in it."""
    if isinstance(value, dict):
        counted = {inner: _counted(each, inner) for inner, each in value.items()}
        return counted | _asked_of_a_node(value)
    if isinstance(value, list):
        return [_counted(each, key) for each in value]
    return value if not isinstance(value, str) or key in _NAMES else ""


def _asked_of_a_node(value: Document) -> Document:
    """Return the fields of a PodSpec, or of a container's resources, that decide where its pods can run."""
    if isinstance(value.get("containers"), list):
        kept = _pick(value, "nodeSelector", "tolerations", "resourceClaims")
        required = _pick(_object(_object(value, "affinity"), "nodeAffinity"), _REQUIRED)
        return kept | ({"affinity": {"nodeAffinity": required}} if required else {})
    # Extended resources: CPU and memory have no domain.
    return {
        key: {name: amount for name, amount in _object(value, key).items() if "/" in name}
        for key in ("limits", "requests")
        if _object(value, key)
    }


_BY_ROLE: Final[Mapping[Role, Callable[[Document], Document | None]]] = {
    "node": _node,
    "namespace": _namespace,
    "discovery": _discovery,
    "priority class": _priority_class,
    "class": _device_class,
    "claim": _claim,
    "template": _claim_template,
    "compute domain": _compute_domain,
    "queue": _queue,
    "owner": _owner,
}
"""The function that trims the objects of a role, beside apiVersion and kind; ConfigMaps and PodGroups need more."""


def as_list(documents: Iterable[Document], write: Callable[[Document], str]) -> Iterator[str]:
    """Yield the lines of a List with one object on each, so that two snapshots can be compared by line.

    It is JSON, and so YAML; ``write`` serialises one object on one line.
    """
    lines = [write(document) for document in documents]
    yield '{"apiVersion": "v1", "kind": "List", "items": ['
    yield from (f"{line}," for line in lines[:-1])
    yield from lines[-1:]
    yield "]}"

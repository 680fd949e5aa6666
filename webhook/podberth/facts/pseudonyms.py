"""Replaces the names of nodes and namespaces in a trimmed snapshot, so that users can share the snapshot.

Each name is replaced by a number, in the order of the names; a name gets the same number everywhere. Other identifiers
of a machine in labels, such as provider ids, are replaced too, and the UUIDs of GPUs are left out. Labels that describe
a node, or that name its rack, are kept, because decisions read them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from ..conventions import MACHINE_LABELS
from ..topology.codec import DATA_KEY
from ..wellknown import NAMESPACE, TOPOLOGY_LABEL
from .object_kinds import Document

_NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_CHOICES = frozenset({"nodeSelector", "nodeAffinity"})


def anonymised(documents: Iterable[Document]) -> list[Document]:
    """Return the documents of a trimmed snapshot with numbers for the names of nodes and namespaces.

    The topology document of a node is left out if the Node is not among the documents.
    """
    known = list(documents)
    nodes = _numbered("node", (each["metadata"]["name"] for each in known if each["kind"] == "Node"))
    spaces = {_space(each) for each in known}
    namespaces = _numbered("namespace", (name for name in spaces if name and not _is_common(name)))
    renamed = (_renamed(each, nodes, namespaces) for each in known)
    return [each for each in renamed if each is not None]


def _numbered(what: str, names: Iterable[str]) -> Mapping[str, str]:
    ordered = sorted(set(names))
    digits = len(str(len(ordered)))
    return {name: f"{what}-{number:0{digits}}" for number, name in enumerate(ordered, 1)}


def _space(document: Document) -> str:
    metadata = document["metadata"]
    return str(metadata["name"] if document["kind"] == "Namespace" else metadata.get("namespace") or "")


def _is_common(namespace: str) -> bool:
    """Return whether a namespace of this name is common in all clusters: the name reveals nothing about the cluster."""
    return namespace in {"default", NAMESPACE} or namespace.startswith("kube-")


def _renamed(document: Document, nodes: Mapping[str, str], namespaces: Mapping[str, str]) -> Document | None:
    metadata = dict(document["metadata"])
    labels = metadata.get("labels") or {}
    if document["kind"] == "Node":
        own = metadata["name"]
        metadata["name"] = nodes[own]
        if labels:
            metadata["labels"] = {
                key: nodes[own] if key in MACHINE_LABELS or value == own else value for key, value in labels.items()
            }
        return {**document, "metadata": metadata}
    space = _space(document)
    if document["kind"] == "Namespace":
        metadata["name"] = namespaces.get(space, space)
        metadata.pop("annotations", None)
        if _NAMESPACE_LABEL in labels:
            metadata["labels"] = {**labels, _NAMESPACE_LABEL: metadata["name"]}
        return {**document, "metadata": metadata}
    if space:
        metadata["namespace"] = namespaces.get(space, space)
    if document["kind"] == "ConfigMap" and TOPOLOGY_LABEL in labels:
        if metadata["name"] not in nodes:
            return None
        metadata["name"] = nodes[metadata["name"]]
        return {**document, "metadata": metadata, "data": {DATA_KEY: _without_uuids(document["data"][DATA_KEY])}}
    return {**_choosing(document, nodes), "metadata": metadata}


def _choosing(value: Any, nodes: Mapping[str, str], *, chosen: bool = False) -> Any:
    """Return a copy of a document in which the node names in node selections, such as node affinity, are replaced.

    ``chosen`` is whether ``value`` is part of a node selection.
    """
    if isinstance(value, dict):
        return {key: _choosing(each, nodes, chosen=chosen or key in _CHOICES) for key, each in value.items()}
    if isinstance(value, list):
        return [_choosing(each, nodes, chosen=chosen) for each in value]
    return nodes.get(value, value) if chosen and isinstance(value, str) else value


def _without_uuids(text: str) -> str:
    document = orjson.loads(text)
    gpus = [{key: value for key, value in gpu.items() if key != "uuid"} for gpu in document.get("gpus") or ()]
    return orjson.dumps({**document, "gpus": gpus}, option=orjson.OPT_SORT_KEYS).decode()

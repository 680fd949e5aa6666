"""What the agent asks of the API server: each request and the object in it; nothing is sent here.

Writes are server-side applies under a field manager of the agent's own, forced: what it says of its node is its to say,
and what others put beside it stays. https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import orjson

from ..kube.api_path import ApiPath, collection_path
from ..kube.times import as_micro_time
from ..topology.codec import DATA_KEY, SCHEMA_VERSION
from ..wellknown import NAMESPACE, TOPOLOGY_LABEL

FIELD_MANAGER = "podberth-agent"
LABEL_MANAGER = "podberth-agent-labels"
"""Of the labels on the Node: a manager of its own, so that giving them up touches nothing else."""

NFD_NODE_LABEL = "nfd.node.kubernetes.io/node-name"
"""Whose features they are: https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide"""

NODES: Final = collection_path("v1", "nodes")

# Name, uid, version, labels, owners: what the agent wants to know of an object, and not a Node's list of images.
# https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_APPLY = "application/apply-patch+yaml"

Purpose: TypeAlias = Literal["node", "read", "write", "check", "heartbeat", "label", "machine"]
"""What a request is for: learn the Node's uid, read the ConfigMap, write it, see whether it is still the same; renew
the Lease; set the labels; and of a simulated machine, what others do to its Node."""

LabelTarget: TypeAlias = Literal["own", "nfd-object"]
"""Who carries the labels through the API: the Node itself, or a NodeFeature for NFD's master."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the API server."""

    purpose: Purpose
    method: str
    path: ApiPath
    body: bytes | None = None
    accept: str = _METADATA
    text: str = ""
    """The document in a write."""
    content_type: str = _APPLY

    @property
    def headers(self) -> dict[str, str]:
        """What the request says beside its body."""
        return {"Accept": self.accept, **({} if self.body is None else {"Content-Type": self.content_type})}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request; a status of 0 is no answer at all."""

    status: int
    body: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""
    """In words, where it is no success."""
    retry_after_seconds: float | None = None

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The object's, or nothing."""
        found = self.body.get("metadata")
        return found if isinstance(found, dict) else {}


def ask_node(node: str) -> Request:
    """Ask for the Node's metadata."""
    return Request("node", "GET", node_path(node))


def read_config_map(node: str) -> Request:
    """Ask for the whole ConfigMap."""
    return Request("read", "GET", _config_map_path(node), accept="application/json")


def check_config_map(node: str) -> Request:
    """Ask for the ConfigMap's metadata only: the version says whether anybody touched it."""
    return Request("check", "GET", _config_map_path(node))


def write_config_map(node: str, uid: str, text: str) -> Request:
    """Apply the ConfigMap with a document."""
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(node, uid),
        "data": {DATA_KEY: text},
    }
    return Request("write", "PATCH", _apply(_config_map_path(node), FIELD_MANAGER), orjson.dumps(manifest), text=text)


def renew_lease(node: str, uid: str, now: datetime, seconds: int) -> Request:
    """Apply the heartbeat Lease: held from now on for that many seconds."""
    manifest = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": _metadata(node, uid),
        "spec": {
            "holderIdentity": node,
            "leaseDurationSeconds": seconds,
            "renewTime": as_micro_time(now),
        },
    }
    path = collection_path("coordination.k8s.io/v1", "leases", NAMESPACE).below(node)
    return Request("heartbeat", "PATCH", _apply(path, FIELD_MANAGER), orjson.dumps(manifest))


def write_labels(target: LabelTarget, node: str, uid: str, labels: Mapping[str, str]) -> Request:
    """Apply the labels, to the Node or as a NodeFeature; labels of earlier that are not among them go."""
    if target == "own":
        # With the uid, a Node that was made anew meanwhile is a conflict.
        metadata = {"name": node, "uid": uid, "labels": dict(labels)}
        manifest = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        path = _apply(node_path(node), LABEL_MANAGER)
    else:
        metadata = {**_metadata(node, uid), "labels": {NFD_NODE_LABEL: node}}
        spec = {"labels": dict(labels)}
        manifest = {"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature", "metadata": metadata, "spec": spec}
        features = collection_path("nfd.k8s-sigs.io/v1alpha1", "nodefeatures", NAMESPACE)
        path = _apply(features.below(node), LABEL_MANAGER)
    return Request("label", "PATCH", path, orjson.dumps(manifest))


def _metadata(node: str, uid: str) -> dict[str, Any]:
    """Return the metadata of what belongs to a Node and goes with it (the garbage collector's rule for dependents)."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "blockOwnerDeletion": False}
    return {
        "name": node,
        "namespace": NAMESPACE,
        "labels": {TOPOLOGY_LABEL: SCHEMA_VERSION},
        "ownerReferences": [owner],
    }


def node_path(node: str) -> ApiPath:
    """Return where the Node is."""
    return NODES.below(node)


def _config_map_path(node: str) -> ApiPath:
    return collection_path("v1", "configmaps", NAMESPACE).below(node)


def _apply(path: ApiPath, manager: str) -> ApiPath:
    return path.asking({"fieldManager": manager, "force": "true"})

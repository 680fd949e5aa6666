"""Makes the agent's requests to the API server, each with its path and body; this module sends nothing.

Writes are forced server-side applies under the agent's own field manager: the agent owns the facts about its node, and
fields of other writers stay.

https://kubernetes.io/docs/reference/using-api/server-side-apply/
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
"""The field manager that sets the agent's labels on the Node.

The agent has another field manager for its other writes, so that removing the labels changes nothing else.
"""

NFD_NODE_LABEL = "nfd.node.kubernetes.io/node-name"
"""The label that names the Node which a NodeFeature belongs to.

https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide
"""

NODES: Final = collection_path("v1", "nodes")

# Name, uid, version, labels, owners: the metadata that the agent needs, without a Node's list of images.
# https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_APPLY = "application/apply-patch+yaml"

Purpose: TypeAlias = Literal["node", "read", "write", "check", "heartbeat", "label", "machine"]
"""The purpose of a request.

node: read the Node's uid. read, write, check: read the ConfigMap, write the ConfigMap, check that the ConfigMap is
unchanged. heartbeat: renew the Lease. label: set the labels. machine: for a simulated machine, write to the machine's
Node the fields that other components would write.
"""

LabelTarget: TypeAlias = Literal["own", "nfd-object"]
"""The object on which the agent sets labels: the Node itself, or a NodeFeature, from which NFD's master copies the
labels to the Node.
"""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request of the agent to the API server."""

    purpose: Purpose
    method: str
    path: ApiPath
    body: bytes | None = None
    accept: str = _METADATA
    text: str = ""
    """The topology document in a request that writes the ConfigMap; empty in other requests."""
    content_type: str = _APPLY

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the request."""
        return {"Accept": self.accept, **({} if self.body is None else {"Content-Type": self.content_type})}


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of a request to the API server; ``status`` is 0 if there was no answer."""

    status: int
    body: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""
    """The message in the answer, or else the reason phrase of the answer's status; the error if there was no answer."""
    retry_after_seconds: float | None = None

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the object in the answer; empty if there is no object."""
        found = self.body.get("metadata")
        return found if isinstance(found, dict) else {}


def ask_node(node: str) -> ApiRequest:
    """Return the request that reads the metadata of the Node ``node``."""
    return ApiRequest("node", "GET", NODES.below(node))


def read_config_map(node: str) -> ApiRequest:
    """Return the request that reads the node's whole topology ConfigMap."""
    return ApiRequest("read", "GET", _config_map_path(node), accept="application/json")


def check_config_map(node: str) -> ApiRequest:
    """Return the request that reads only the metadata of the node's ConfigMap: a change shows in resourceVersion."""
    return ApiRequest("check", "GET", _config_map_path(node))


def write_config_map(node: str, uid: str, text: str) -> ApiRequest:
    """Return the request that applies the node's topology ConfigMap with the document ``text``.

    ``uid`` is the uid of the Node, which becomes the owner of the ConfigMap.
    """
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(node, uid),
        "data": {DATA_KEY: text},
    }
    return ApiRequest(
        "write", "PATCH", _apply(_config_map_path(node), FIELD_MANAGER), orjson.dumps(manifest), text=text
    )


def renew_lease(node: str, uid: str, now: datetime, seconds: int) -> ApiRequest:
    """Return the request that renews the node's heartbeat Lease for ``seconds`` seconds.

    ``uid`` is the uid of the Node, which becomes the owner of the Lease.
    """
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
    return ApiRequest("heartbeat", "PATCH", _apply(path, FIELD_MANAGER), orjson.dumps(manifest))


def write_labels(target: LabelTarget, node: str, uid: str, labels: Mapping[str, str]) -> ApiRequest:
    """Return the request that sets the agent's labels: on the Node if ``target`` is "own", else in a NodeFeature.

    ``uid`` is the uid of the Node. Earlier labels of the agent that are not in ``labels`` are removed.
    """
    if target == "own":
        # Because of the uid, the API server answers with a conflict if the Node was created again meanwhile.
        metadata = {"name": node, "uid": uid, "labels": dict(labels)}
        manifest = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        path = _apply(NODES.below(node), LABEL_MANAGER)
    else:
        metadata = {**_metadata(node, uid), "labels": {NFD_NODE_LABEL: node}}
        spec = {"labels": dict(labels)}
        manifest = {"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature", "metadata": metadata, "spec": spec}
        features = collection_path("nfd.k8s-sigs.io/v1alpha1", "nodefeatures", NAMESPACE)
        path = _apply(features.below(node), LABEL_MANAGER)
    return ApiRequest("label", "PATCH", path, orjson.dumps(manifest))


def _metadata(node: str, uid: str) -> dict[str, Any]:
    """Return the metadata of an object that the Node with the uid ``uid`` owns, so that it is deleted with the Node."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "blockOwnerDeletion": False}
    return {
        "name": node,
        "namespace": NAMESPACE,
        "labels": {TOPOLOGY_LABEL: SCHEMA_VERSION},
        "ownerReferences": [owner],
    }


def _config_map_path(node: str) -> ApiPath:
    return collection_path("v1", "configmaps", NAMESPACE).below(node)


def _apply(path: ApiPath, manager: str) -> ApiPath:
    return path.asking({"fieldManager": manager, "force": "true"})

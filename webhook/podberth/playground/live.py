"""Reads a live cluster as the text of the page's cluster: nodes, topology, Namespaces, and what pods hold.

It reads alone, with the user's own rights. Labels, taints and devices of nodes are in the text; of pods only where they
run and what they ask for.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..api.opening import Kubeconfig, connected
from ..api.protocol import NAMESPACES, NODES, TOPOLOGIES, Document, Resource, Timing
from ..checking.inventory import Lister
from ..errors import UsageError
from ..facts.trim import as_list, trim
from ..kube.api_path import collection_path
from ..kube.unchecked import list_at, mapping_at, text_at
from .cluster import MAX_NODES
from .session import MOST_CHARACTERS

FLAG: Final = "--live"
_PLACED_PODS: Final = Resource("pods", collection_path("v1", "pods"), fields="spec.nodeName!=", of_all_namespaces=True)
_LISTED: Final = ((NODES, "Node"), (TOPOLOGIES, "ConfigMap"), (NAMESPACES, "Namespace"))
_CONTAINERS: Final = ("initContainers", "containers")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCluster:
    """A cluster that the page reads again whenever the user wants it."""

    kubeconfig: Kubeconfig | None
    """The kubeconfig; None if the service account of the pod is used."""
    timing: Timing = field(default_factory=lambda: Timing(connect_seconds=5.0, list_seconds=30.0))

    async def text(self) -> str:
        """Return the objects as the cluster of a session.

        Raises:
            ClusterError: the API server does not answer or refuses.
            UsageError: the cluster cannot be reached, or is too large for the page.
        """
        async with connected(FLAG, self.kubeconfig, self.timing) as client:
            lister = Lister(client, self.timing)
            found = [
                {"apiVersion": "v1", "kind": kind, **each}
                for resource, kind in _LISTED
                for each in await lister.objects(resource)
            ]
            if (count := sum(each["kind"] == "Node" for each in found)) > MAX_NODES:
                raise UsageError(f"{FLAG}: got {count:,} nodes, want {MAX_NODES:,} at most; save some with kubectl get")
            placed = [_reduced(each) for each in await lister.objects(_PLACED_PODS)]
        # Without any Pod nobody would know what is free.
        held = [each for each in placed if _asks_for_devices(each)] or placed[:1]
        kept = [*trim(found, is_param=lambda *_: False), *held]
        text = "\n".join(as_list(kept, json.dumps)) + "\n"
        if len(text) > MOST_CHARACTERS["cluster"]:
            most = f"{MOST_CHARACTERS['cluster']:,}"
            raise UsageError(f"{FLAG}: got {len(text):,} characters of objects, want {most} at most")
        return text


def _reduced(pod: Document) -> Document:
    """Return a pod with only its name, its node, its phase and what it asks for."""
    asked: dict[str, Any] = {name: [_asked(each) for each in list_at(pod, "spec", name)] for name in _CONTAINERS}
    claims = list_at(pod, "spec", "resourceClaims")
    spec = {"nodeName": text_at(pod, "spec", "nodeName"), **asked, **({"resourceClaims": claims} if claims else {})}
    metadata = {name: text_at(pod, "metadata", name) for name in ("name", "namespace")}
    status = {"phase": text_at(pod, "status", "phase")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _asked(container: object) -> dict[str, Any]:
    given = container if isinstance(container, Mapping) else {}
    return {name: given[name] for name in ("name", "resources", "restartPolicy") if name in given}


def _asks_for_devices(pod: Document) -> bool:
    spec = pod["spec"]
    names = (
        name
        for container in (*spec["initContainers"], *spec["containers"])
        for kind in ("limits", "requests")
        for name in mapping_at(container, "resources", kind)
    )
    return "resourceClaims" in spec or any("/" in name for name in names)

"""Reads the objects that ``podberth status`` reports on. If an object cannot be read, the other objects are still read.

Every request is a get or a list, and none is for a Secret; manifests/base/viewer.yaml grants exactly these rights.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, TypeVar

from ..api.opening import Client, Kubeconfig, connected
from ..api.protocol import (
    EXCEPTIONS,
    HEARTBEATS,
    NAMESPACED_POLICIES,
    NAMESPACES,
    NODES,
    PARAMS,
    POLICIES,
    TOPOLOGIES,
    AnswerLimits,
    Resource,
    Timing,
    read_object,
)
from ..api.reflector import pages
from ..errors import ClusterError, TopologyError
from ..installation.observation import (
    Document,
    InstallationState,
    ObservedList,
    ObservedObject,
    Read,
    Replica,
    Unread,
)
from ..kube.api_path import ApiPath, collection_path, version_path
from ..telemetry.metrics import read_samples
from ..topology.holdings import BoundPod, read_bound_pod
from ..wellknown import API_VERSION, APPLIED_ANNOTATION, NAMESPACE
from ..workload.gpus import gpu_facts
from .shared_ca import KINDS

T = TypeVar("T")

_AGENTS: Final = "podberth-agent"
_ADMISSION: Final = "admissionregistration.k8s.io"
_DEPLOYMENTS: Final = collection_path("apps/v1", "deployments", NAMESPACE)
_DEPLOYMENT: Final = _DEPLOYMENTS.below("podberth")
_CONTROLLER: Final = _DEPLOYMENTS.below("podberth-controller")
_DAEMON_SET: Final = collection_path("apps/v1", "daemonsets", _AGENTS).below(_AGENTS)
_PODS: Final = Resource("pods", collection_path("v1", "pods", NAMESPACE), "app.kubernetes.io/name=podberth")
_EVENTS: Final = Resource("events", collection_path("v1", "events"), fields="type=Warning")
_ALL_PODS: Final = Resource("pods", collection_path("v1", "pods"))
# Kubernetes before 1.34 does not serve this version, and then no claim is counted.
_SLICES: Final = Resource("resourceslices", collection_path("resource.k8s.io/v1", "resourceslices"))
_CLAIMS: Final = Resource("resourceclaims", collection_path("resource.k8s.io/v1", "resourceclaims"))


def _native(kind: str, *names: str) -> dict[str, ApiPath]:
    """Return the API paths of native policies and of their bindings, which have the same names, by ``KIND/NAME``."""
    plurals = {
        f"{kind}AdmissionPolicy": f"{kind.lower()}admissionpolicies",
        f"{kind}AdmissionPolicyBinding": f"{kind.lower()}admissionpolicybindings",
    }
    return {
        f"{each}/{name}": collection_path(f"{_ADMISSION}/v1", plural).below(name)
        for name in names
        for each, plural in plurals.items()
    }


_GUARDS: Final = _native(
    "Validating",
    *("podberth-agent", "podberth-configurations", "podberth-events", "podberth-exemption"),
    *("podberth-shared-ca", "podberth-controller", "podberth-controller-lease"),
)
"""The API paths of the native policies that podberth's manifests install (base, shared-ca, controller), with the
policies' bindings.
"""
_FLOOR: Final = {
    **_native("Mutating", "podberth-floor", "podberth-floor-updates"),
    **_native("Validating", "podberth-floor-names", "podberth-floor-names-unknown"),
}
"""The API paths of the native policies of the component floor, with the policies' bindings."""
_METRICS_PORT: Final = "metrics"
# Pages of Events: 10,000 are some 10 MB, and more are not worth reading.
_MOST_PAGES: Final = 20
# Pages of pods: 20,000 are some 100 MB, of which those with accelerators are kept.
_MOST_PAGES_OF_PODS: Final = 40
# Short, because a user waits. A NetworkPolicy that excludes the API server drops its packets silently.
_TIMING: Final = Timing(connect_seconds=5.0, list_seconds=30.0)
_METRICS: Final = AnswerLimits(seconds=5.0)


class StatusReader:
    """Reads, once, the objects of a cluster that belong to podberth's installation."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, now: datetime) -> InstallationState:
        """Read all objects that the report of ``podberth status`` needs.

        Raises:
            ClusterError: the API server cannot be reached, or does not accept the user's credentials.
        """
        # First and alone: a kubeconfig's program for tokens then runs once, and rejected credentials are reported once.
        version = await self._read(ApiPath("version"))
        parts: dict[str, Coroutine[Any, Any, Any]] = {
            "deployment": self._named(_DEPLOYMENT, "apps"),
            "controller": self._named(_CONTROLLER, "apps"),
            "agents": self._named(_DAEMON_SET, "apps"),
            "policies_served": self._served(),
            "configurations": self._all_named({kind: path.below("podberth") for kind, path in KINDS.items()}),
            "guards": self._all_named(_GUARDS),
            "floor": self._all_named(_FLOOR),
            "policies": self._listed(POLICIES, "gpupolicies.podberth.io"),
            "exceptions": self._listed(EXCEPTIONS, "gpupolicyexceptions.podberth.io"),
            "namespaced": self._listed(NAMESPACED_POLICIES, "namespacedgpupolicies.podberth.io"),
            "nodes": self._listed(NODES, "nodes"),
            "topologies": self._listed(TOPOLOGIES, f"configmaps in {NAMESPACE}"),
            "heartbeats": self._listed(HEARTBEATS, f"leases.coordination.k8s.io in {NAMESPACE}"),
            "replicas": self._replicas(),
            "events": self._events(),
            "namespaces": self._listed(NAMESPACES, "namespaces"),
            "params": self._listed(PARAMS, f"configmaps in {NAMESPACE}"),
            "pods": self._pods(),
            "slices": self._listed(_SLICES, "resourceslices.resource.k8s.io"),
            "claims": self._listed(_CLAIMS, "resourceclaims.resource.k8s.io"),
        }
        read = dict(zip(parts, await _together(parts.values()), strict=True))
        unrecorded, bound = read.pop("pods")
        known = {"now": now, "kubernetes": str(version.get("gitVersion", "")), "unrecorded": unrecorded, "bound": bound}
        return InstallationState(**known, **read)

    async def _named(self, path: ApiPath, group: str) -> ObservedObject:
        """Return the object at a path; None if there is no object. After an error, the result has the reason.

        The reason names the missing right, for which ``group`` is the API group of the object.
        """
        *_, resource, name = path.split("/")
        where = f" in {path.namespace}" if path.namespace else ""
        return await _guarded(self._read(path), f"get {resource}.{group} {name}{where}")

    async def _all_named(self, paths: Mapping[str, ApiPath]) -> dict[str, ObservedObject]:
        found = await _together(self._named(path, _ADMISSION) for path in paths.values())
        return dict(zip(paths, found, strict=True))

    async def _served(self) -> Read[bool]:
        """Return whether the API server serves GPUPolicies; every authenticated user may read that fact."""
        path = version_path(API_VERSION)
        found = await _guarded(self._read(path), f"get {path}")
        if isinstance(found, Unread):
            return found
        return found is not None and any(each["name"] == POLICIES.name for each in found.get("resources") or ())

    async def _read(self, path: ApiPath) -> Document:
        return read_object(await self._client.get(path, {}), f"GET {path}")

    async def _listed(self, resource: Resource, what: str) -> Read[tuple[Document, ...]]:
        found = await _guarded(self._pages(resource), f"list {what}")
        return found if isinstance(found, Unread) else found[0] if found else ()

    async def _events(self) -> Read[ObservedList]:
        found = await _guarded(self._pages(_EVENTS, _MOST_PAGES), "list events")
        return found if isinstance(found, Unread) else ObservedList(*(found or ((), False)))

    async def _pods(self) -> tuple[Read[ObservedList], tuple[BoundPod, ...] | None]:
        """Return (the pods without a record, the pods that hold accelerators of nodes; None: not all pods were read).

        A pod that cannot be read holds nothing.
        """
        bound: list[BoundPod] = []

        def is_unrecorded(pod: Document) -> bool:
            with suppress(TopologyError):
                if (held := read_bound_pod(pod)) and held.devices:
                    bound.append(held)
            return _is_unrecorded(pod)

        found = await _guarded(self._pages(_ALL_PODS, _MOST_PAGES_OF_PODS, is_unrecorded), "list pods")
        if isinstance(found, Unread):
            return found, None
        documents, truncated = found or ((), False)
        return ObservedList(documents, truncated), None if truncated else tuple(bound)

    async def _pages(
        self, resource: Resource, most: int | None = None, keep: Callable[[Document], bool] = lambda _: True
    ) -> tuple[tuple[Document, ...], bool]:
        """Read at most ``most`` pages of a list.

        Return the objects that ``keep`` accepts, and whether the list has more pages.
        """
        items: list[Document] = []
        read, cut = 0, False
        async for page in pages(self._client, resource):
            items += (item.document for item in page.items if keep(item.document))
            read, cut = read + 1, bool(page.next_page)
            if read == most:
                break
        return tuple(items), cut

    async def _replicas(self) -> Read[tuple[Replica, ...]]:
        """Read the metrics of every running replica of the webhook, through the API server's proxy for pods."""
        pods = await self._listed(_PODS, f"pods in {NAMESPACE}")
        if isinstance(pods, Unread):
            return pods
        running = [pod for pod in pods if _runs(pod)]
        return tuple(await _together(map(self._replica, running)))

    async def _replica(self, pod: Document) -> Replica:
        name = str(pod["metadata"]["name"])
        path = _PODS.path.below(f"{name}:{_port(pod)}", "proxy", "metrics")
        found = await _guarded(self._client.get(path, {}, _METRICS), f"get pods/proxy in {NAMESPACE}")
        if isinstance(found, Unread | None):
            gone = Unread("the pod is gone", f"get pods/proxy in {NAMESPACE}", refused=False)
            return Replica(name, found or gone)
        try:
            return Replica(name, read_samples(found.decode("utf-8", "replace")))
        except ValueError as error:
            return Replica(name, Unread(f"got no metrics: {error}", "Prometheus' text", refused=False))


async def read_installation(kubeconfig: Kubeconfig | None, now: datetime) -> InstallationState:
    """Return the state of podberth's installation in the cluster that the kubeconfig names.

    Raises:
        ClusterError: the API server cannot be reached, or does not accept the user's credentials.
        UsageError: the cluster's client is not installed, or no address of the API server is configured.
    """
    async with connected("status", kubeconfig, _TIMING, brief=True) as client:
        return await StatusReader(client).read(now)


async def _together(reading: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run the coroutines together and return the results in order; the first error cancels all other coroutines."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in reading]
    return [each.result() for each in tasks]


async def _guarded(reading: Awaitable[T], want: str) -> T | Unread | None:
    """Return the result of ``reading``; None if there is no object. After an error, the result has the reason.

    ``want`` names the right that the read needs, for the reason.
    """
    try:
        return await reading
    except ClusterError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        refused = error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}
        return Unread("forbidden" if error.status == HTTPStatus.FORBIDDEN else str(error), want, refused=refused)


def _is_unrecorded(pod: Document) -> bool:
    """Return whether a pod requests accelerators, has not ended, and has no record of podberth's writes.

    The result is False for the mirror of a static pod, because podberth's webhook configurations exclude mirrors.
    """
    metadata = pod["metadata"]
    said = metadata.get("annotations") or {}
    ended = "deletionTimestamp" in metadata or (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
    if ended or APPLIED_ANNOTATION in said or "kubernetes.io/config.mirror" in said:
        return False
    return gpu_facts(pod).kind != "none"


def _runs(pod: Document) -> bool:
    status = pod.get("status") or {}
    ending = "deletionTimestamp" in pod["metadata"]
    return status.get("phase") == "Running" and bool(status.get("podIP")) and not ending


def _port(pod: Document) -> int:
    """Return the port number of a pod's metrics; podberth's default port if the pod does not declare the port."""
    ports: list[Any] = [each for one in pod["spec"]["containers"] for each in one.get("ports") or ()]
    return next((int(each["containerPort"]) for each in ports if each.get("name") == _METRICS_PORT), 8080)

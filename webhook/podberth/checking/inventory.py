"""Lists a cluster's workloads, and the other objects on which decisions about workloads depend.

API discovery is read first. The objects of each kind are listed in pages. If the objects of a kind cannot be listed,
the kind is reported, and the objects of other kinds are still listed.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, TypeVar

from ..api.opening import Client
from ..api.protocol import (
    CONTROLLER,
    HEARTBEATS,
    NAMESPACE_PARAMS,
    NODES,
    OBJECTS,
    TOPOLOGIES,
    Document,
    Pace,
    Resource,
    ServedKind,
    Timing,
    read_kinds,
    read_object,
    read_versions,
)
from ..api.reflector import PAGE, pages
from ..check.sources import SourceFile, without_place
from ..check.surroundings import REFERRED
from ..errors import ClusterError
from ..facts.object_kinds import FOLLOWED
from ..kinds.systems import POD_GROUPS
from ..kube.api_path import ApiPath, collection_path, version_path
from ..policy.every_pod import VALIDATING
from ..topology.heartbeats import is_stale
from ..workload.kinds import KINDS, LINKS, TEMPLATES_ONLY
from .against import CLUSTER, Gathered

# The token of the next page expires when etcd is compacted (kube-apiserver --etcd-compaction-interval, 5 minutes). A
# list that has taken longer four times will always take longer.
_TRIES: Final = 4
_AGAIN: Final = frozenset({"expired", "busy", "failed", "lost", "silent"})
_LISTED: Final = tuple(
    row for row in KINDS if row.kind != "List" and (row.kind not in TEMPLATES_ONLY or row.kind in REFERRED)
)
_SURROUNDINGS: Final[tuple[tuple[Resource, str, str], ...]] = (
    (NODES, "v1", "Node"),
    (TOPOLOGIES, "v1", "ConfigMap"),
    (HEARTBEATS, "coordination.k8s.io/v1", "Lease"),
    *((each, "v1", "Namespace" if each.name == "namespaces" else "ConfigMap") for each in OBJECTS),
)
_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_REGISTRATION: Final = collection_path(_ADMISSION, "validatingwebhookconfigurations").below("podberth")
"""The API path of podberth's ValidatingWebhookConfiguration, which says for which namespaces' pods podberth is
called."""
_BESIDES: Final = {(each.group, each.kind): each for each in FOLLOWED if each.role != "owner"}
"""The kinds that ``podberth serve`` follows besides workloads, by group and kind: decisions may depend on the objects
of these kinds.
"""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The objects that were listed, and the problems of listing them."""

    gathered: Gathered
    unserved: tuple[str, ...]
    """The kinds that podberth knows and that the cluster does not serve."""


class Lister:
    """Lists objects from one API server, and repeats a request that fails for a transient reason."""

    def __init__(self, client: Client, timing: Timing, *, page: int = PAGE) -> None:
        """Create the lister; a request is for ``page`` objects."""
        self._client = client
        self._timing = timing
        self._page = page

    async def versions(self) -> dict[str, tuple[str, ...]]:
        """Return a mapping from each API group but the core group to the served versions, the preferred version first.

        Raises:
            ClusterError: the API server does not answer, or refuses.
        """
        return read_versions(await self._again(lambda: self._client.get(ApiPath("apis"), {})))

    async def kinds(self, version: str) -> dict[str, ServedKind]:
        """Return a mapping from a kind's name to the kind with its resource, for the listable kinds of an API version.

        Raises:
            ClusterError: API discovery cannot be read.
        """
        found = read_kinds(await self._again(lambda: self._client.get(version_path(version), {})), version)
        return {each.kind: each for each in found if "list" in each.verbs}

    async def objects(self, resource: Resource) -> list[Document]:
        """Return all objects of a resource; if the continue token expires, the list is read again from the start.

        Raises:
            ClusterError: the objects cannot be listed.
        """
        return await self._again(lambda: self._pages(resource))

    async def object(self, path: ApiPath) -> Document:
        """Return the object at the path ``path``.

        Raises:
            ClusterError: the object cannot be read; the error's ``status`` is 404 if the object does not exist.
        """
        return read_object(await self._again(lambda: self._client.get(path, {})), f"GET {path}")

    async def _pages(self, resource: Resource) -> list[Document]:
        found: list[Document] = []
        async for page in pages(self._client, resource, size=self._page):
            found += [_trimmed(item.document, pod=resource.name == "pods") for item in page.items]
        return found

    async def _again(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        pace = Pace(self._timing, random.random)
        for left in reversed(range(_TRIES)):
            try:
                return await ask()
            except ClusterError as error:
                if error.reason not in _AGAIN or not left:
                    raise
                await self._client.reset()
                await asyncio.sleep(pace.wait_seconds(0.0, error.retry_after_seconds))
        raise AssertionError("the last try returns or raises")


async def take_inventory(
    lister: Lister, namespace: str, extra: Collection[str], *, nodes: bool, params: bool = False
) -> Inventory:
    """List the workloads of a namespace, and the objects that decisions on the workloads depend on.

    If ``namespace`` is empty, workloads of all namespaces are listed. ``extra`` has kinds of workloads, such as
    "MyJob", that are listed besides the kinds that podberth knows. Nodes and their topology are listed only if
    ``nodes`` is true. ConfigMaps outside podberth's own namespace that policies may read as params are listed only if
    ``params`` is true.

    Raises:
        ClusterError: API discovery cannot be read.
    """
    missing: list[str] = []
    documents: list[Document] = []
    kinds, unserved = await _served(lister, extra, missing)
    wanted = [(each.resource(namespace), each.version, each.kind) for each in kinds]
    around = [each for each in _SURROUNDINGS if nodes or each[0] in OBJECTS]
    around += [(NAMESPACE_PARAMS, "v1", "ConfigMap")] if params else []
    for resource, version, kind in (*wanted, *around):
        row = _BESIDES.get((_group(version), kind))
        try:
            found = await lister.objects(resource)
        except ClusterError as error:
            gone = row is not None and error.status == HTTPStatus.NOT_FOUND  # no longer served since API discovery
            missing += [] if gone else [f"{version} {kind}: {error}"]
        else:
            kept = [each for each in found if row is None or row.fact(each) is not None]
            documents += [{"apiVersion": version, "kind": kind, **each} for each in kept]
    documents += await _registration(lister, missing)
    documents += [_discovered(each.version) for each in kinds if each.kind == "PodGroup"]
    documents += [definition_of(each) for each in kinds if each.kind in extra]
    file = SourceFile(
        name=CLUSTER,
        text="",
        documents=(),
        sources=tuple(without_place(CLUSTER, each) for each in documents),
        problems=(),
    )
    return Inventory(
        gathered=Gathered(
            files=[file],
            missing=missing,
            is_makerless=nodes and await _is_makerless(lister),
            now=datetime.now(UTC),
        ),
        unserved=tuple(sorted(unserved)),
    )


async def _is_makerless(lister: Lister) -> bool:
    """Return whether no replica of podberth's controller runs; False if the controller's Lease cannot be read."""
    try:
        leases = await lister.objects(CONTROLLER)
    except ClusterError:  # the same collection as the heartbeats, which is then in ``missing``
        return False
    return all(is_stale(each, datetime.now(UTC)) for each in leases)


async def _registration(lister: Lister, missing: list[str]) -> list[Document]:
    """Return podberth's ValidatingWebhookConfiguration, as a list of at most one object.

    If the configuration cannot be read, the reason is added to ``missing``.
    """
    try:
        found = await lister.object(_REGISTRATION)
    except ClusterError as error:
        missing += [] if error.status == HTTPStatus.NOT_FOUND else [f"{_ADMISSION} {VALIDATING}: {error}"]
        return []
    return [{"apiVersion": _ADMISSION, "kind": VALIDATING, **found}]


def _discovered(version: str) -> Document:
    """Return an APIResourceList that says that ``version``, such as "scheduling.x-k8s.io/v1alpha1", serves PodGroups.

    The list shows that PodGroups are served even if the cluster has no PodGroup.
    """
    resources = [{"name": POD_GROUPS}]
    return {
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": version,
        "metadata": {"name": version},
        "resources": resources,
    }


def definition_of(served: ServedKind) -> Document:
    """Return a CustomResourceDefinition for a kind as the API server serves it, as ``native.resources`` reads it."""
    group, _, version = served.version.rpartition("/")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{served.plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if served.namespaced else "Cluster",
            "names": {"kind": served.kind, "plural": served.plural},
            "versions": [{"name": version, "served": True}],
        },
    }


async def _served(lister: Lister, extra: Collection[str], missing: list[str]) -> tuple[list[ServedKind], list[str]]:
    """Return (the kinds of objects to list, Pods first; the names of known kinds that the cluster does not serve).

    The kinds to list are the kinds of workloads that podberth knows, kinds between a workload and its pods, the kinds
    in ``extra``, and the kinds that ``podberth serve`` follows. Each kind is listed in the API server's preferred
    version only, because all versions have equal objects. If the kinds of a version cannot be read, for example because
    the server of an aggregated API is down, the version is added to ``missing``.
    """
    versions = {"": ("v1",), **await lister.versions()}
    wanted = {**kinds_to_list(), **_kinds_besides()}
    known = {version for candidates in wanted.values() for version in candidates}
    found: dict[tuple[str, str], ServedKind] = {}
    for group, served in versions.items():
        links = {kind for name, kind in LINKS if name == group}
        for version in served if extra or links else [each for each in served if each in known]:
            try:
                kinds = await lister.kinds(version)
            except ClusterError as error:
                missing.append(f"{version}: {error}")
                continue
            for kind, each in kinds.items():
                if version in wanted.get((group, kind), ()) or kind in links or kind in extra:
                    found.setdefault((group, kind), each)
    unserved = [
        f"{row.kind}.{min(map(_group, row.api_versions))}"
        for row in _LISTED
        if not any((_group(version), row.kind) in found for version in row.api_versions)
    ]
    return list(found.values()), unserved


def kinds_to_list() -> dict[tuple[str, str], set[str]]:
    """Return a mapping from (API group, kind) to the API versions, for every kind of workload that podberth knows."""
    wanted: dict[tuple[str, str], set[str]] = {("", "Pod"): {"v1"}}
    for row in _LISTED:
        for version in row.api_versions:
            wanted.setdefault((_group(version), row.kind), set()).add(version)
    return wanted


def _kinds_besides() -> dict[tuple[str, str], set[str]]:
    """Return a mapping from (API group, kind) to the API versions, for the kinds in ``_BESIDES``.

    Decisions depend on objects of these kinds, which are no workloads.
    """
    return {
        (group, kind): {f"{group}/{version}" for version in row.versions} for (group, kind), row in _BESIDES.items()
    }


def _group(version: str) -> str:
    return version.rpartition("/")[0]


def _trimmed(document: Document, *, pod: bool) -> Document:
    """Return an object without ``managedFields``; if it is a ``pod``, only ``phase`` is left of its status."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    status = document.get("status")
    if pod and isinstance(status, dict):
        return {**document, "metadata": metadata, "status": {"phase": status.get("phase")}}
    return {**document, "metadata": metadata}

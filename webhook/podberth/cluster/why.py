"""Reads one picture of a cluster for ``podberth why``; every request is a get or a list, and none is for a Secret.

The number of requests is bounded by what one pod names, and does not grow with the cluster: one list of the nodes, the
pods of a few nodes or all in one list, and single objects. docs/why.md has a ClusterRole of exactly these rights.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Final

from ..api.opening import Client, Kubeconfig, connected
from ..api.protocol import Timing, read_object
from ..errors import ClusterError, UsageError
from ..kube.api_path import ApiPath, collection_path
from ..kube.unchecked import list_at, text_at
from ..why.causes import wanted
from ..why.picture import Document, NotRead, Picture, Ref, pods_in

# A person waits.
_TIMING: Final = Timing(connect_seconds=5.0, list_seconds=30.0)
# A cause may ask again once its first objects are known: claim, volume, class.
_MOST_ROUNDS: Final = 5
# A pod names a handful of objects; one with more is somebody's mistake, and its answer says what it did not read.
_MOST_READ: Final = 64
# From the API server's memory instead of etcd, as kubectl's own watches; seconds old at most.
# https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
_CACHED: Final = {"resourceVersion": "0"}
# The kinds that own pods, or own what owns them, and that every cluster serves; kubectl's short names for them.
_CONTROLLERS: Final = {
    "Deployment": ("apps/v1", "deployments"),
    "ReplicaSet": ("apps/v1", "replicasets"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "DaemonSet": ("apps/v1", "daemonsets"),
    "Job": ("batch/v1", "jobs"),
    "CronJob": ("batch/v1", "cronjobs"),
}
_SHORT: Final = {
    "po": "pod",
    "deploy": "deployment",
    "rs": "replicaset",
    "sts": "statefulset",
    "ds": "daemonset",
    "cj": "cronjob",
}
_DEEPEST: Final = 6
_FORBIDDEN: Final = "forbidden"


def parse_name(text: str) -> tuple[str, str]:
    """Return kind and name of ``NAME`` or ``KIND/NAME``, the kind in lower case and singular; empty if not given.

    Raises:
        UsageError: the text is neither.
    """
    kind, slash, name = text.rpartition("/")
    if not name or (slash and not kind) or "/" in kind:
        raise UsageError(f"NAME: got {text!r}, want a pod's name, or KIND/NAME as in job/train")
    kind = kind.lower().partition(".")[0]
    kind = _SHORT.get(kind, kind)
    return kind[:-1] if kind.endswith("s") and kind not in _SHORT.values() else kind, name


class WhyReader:
    """Reads what an answer about one pod or workload needs, once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._served: Mapping[str, tuple[str, ...]] | NotRead = {}

    async def read(self, text: str, namespace: str, now: datetime) -> Picture:
        """Return the picture for ``NAME`` or ``KIND/NAME`` in a namespace.

        Raises:
            ClusterError: the API server does not answer, or there is no such pod or workload.
            UsageError: the name is not one.
        """
        kind, name = parse_name(text)
        groups, nodes, pod = await asyncio.gather(
            self._get(ApiPath("apis"), "get /apis"),
            self._list(collection_path("v1", "nodes"), "list nodes", _CACHED),
            self._pod(kind, name, namespace),
        )
        self._served = groups if isinstance(groups, NotRead) else _versions(groups)
        picture = Picture(now=now, namespace=namespace, kind="pod", name=name, pod=pod, nodes=nodes)
        if pod is None:
            picture = await self._of_workload(replace(picture, kind=kind or "workload"))
        for _ in range(_MOST_ROUNDS):
            refs = sorted(wanted(picture), key=repr)
            if not refs:
                break
            # Lists are as many as there are kinds; single objects are as many as somebody writes into a pod.
            left = max(0, _MOST_READ - sum(bool(ref.name) for ref in picture.read))
            beyond = set([ref for ref in refs if ref.name][left:])
            refs = [ref for ref in refs if ref not in beyond]
            found = await asyncio.gather(*map(self._ref, refs))
            unread = {ref: NotRead(ref.right, f"an answer reads {_MOST_READ} objects at most") for ref in beyond}
            picture = replace(picture, read={**picture.read, **dict(zip(refs, found, strict=True)), **unread})
        _check_there(picture)
        return picture

    async def _pod(self, kind: str, name: str, namespace: str) -> Document | None:
        """Return the pod of that name; None if there is none, or another kind was asked about."""
        if kind not in {"", "pod"}:
            return None
        path = collection_path("v1", "pods", namespace).below(name)
        found = await self._get(path, f"get pods in {namespace}")
        if isinstance(found, NotRead):
            right = f"; want the right to {found.want}" if found.why == _FORBIDDEN else ""
            raise ClusterError("refused", f"GET {path}: {found.why}{right}")
        if found is None and kind == "pod":
            raise ClusterError(
                "refused", f"pod {namespace}/{name}: does not exist; see kubectl get pods -n {namespace}"
            )
        return found

    async def _of_workload(self, picture: Picture) -> Picture:
        """Return the picture with the controllers and the pods of the workload that was asked about."""
        inside = pods_in(picture.namespace)
        pods, listed = await asyncio.gather(self._ref(inside), self._controllers(picture.namespace))
        known: dict[str, Document] = {}
        for kind, found in zip(_CONTROLLERS, listed, strict=True):
            for each in () if isinstance(found, NotRead) else found:
                known[text_at(each, "metadata", "uid")] = {**each, "kind": kind}
        mine = {uid: each for uid, each in known.items() if _descends(each, picture, known)}
        siblings = tuple(each for each in list_at(pods, "items") if _descends(each, picture, known))
        unread = {
            Ref("", ("v1",), f"controllers {number}"): each
            for number, each in enumerate(listed)
            if isinstance(each, NotRead)
        }
        return replace(
            picture,
            controllers=tuple(sorted(mine.values(), key=lambda each: text_at(each, "metadata", "creationTimestamp"))),
            siblings=siblings,
            pod=_chosen(siblings),
            read={**picture.read, inside: pods, **unread},
        )

    async def _controllers(self, namespace: str) -> list[tuple[Document, ...] | NotRead]:
        """Return the controllers of a namespace by kind, in the order of the table."""
        return await asyncio.gather(
            *(
                self._list(collection_path(version, plural, namespace), f"list {plural} in {namespace}")
                for version, plural in _CONTROLLERS.values()
            )
        )

    async def _ref(self, ref: Ref) -> Document | NotRead | None:
        """Return an object or a list, in the newest version of those that can be read in which the kind is served.

        NotRead says why it could not be read, whatever the reason is: the answer goes on without it.
        """
        served: Iterable[str] = ref.versions
        if ref.group:
            if isinstance(self._served, NotRead):
                return NotRead(ref.right, f"{self._served.want}: {self._served.why}")
            served = self._served.get(ref.group, ())
        query = ({"fieldSelector": ref.fields} if ref.fields else {}) | (_CACHED if ref.plural == "pods" else {})
        for version in (each for each in ref.versions if each in served):
            # A group may serve one kind in one version and another kind in another: PriorityClass in v1 alone.
            path = collection_path(f"{ref.group}/{version}" if ref.group else version, ref.plural, ref.namespace)
            try:
                path = path.below(ref.name) if ref.name else path
            except ClusterError:
                return None  # no object has such a name
            try:
                found = await self._get(path, ref.right, query)
            except ClusterError as error:
                return NotRead(ref.right, str(error))
            if found is not None:
                return found
        return None

    async def _list(
        self, path: ApiPath, want: str, query: Mapping[str, str] | None = None
    ) -> tuple[Document, ...] | NotRead:
        found = await self._get(path, want, query)
        return found if isinstance(found, NotRead) else tuple(list_at(found, "items"))

    async def _get(self, path: ApiPath, want: str, query: Mapping[str, str] | None = None) -> Document | NotRead | None:
        """Return an answer; None for 404, NotRead for any other status but 401, which stands for all requests.

        Raises:
            ClusterError: the API server does not answer, or does not know the user.
        """
        try:
            return read_object(await self._client.get(path, dict(query or {})), f"GET {path}")
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            if error.status == HTTPStatus.FORBIDDEN:
                return NotRead(want, _FORBIDDEN)
            if not error.status or error.status == HTTPStatus.UNAUTHORIZED:
                raise
            return NotRead(want, str(error))


async def read_picture(kubeconfig: Kubeconfig | None, text: str, namespace: str, now: datetime) -> Picture:
    """Return the picture that ``WhyReader.read`` reads from the cluster that the kubeconfig leads to.

    Raises:
        ClusterError: as ``WhyReader.read``.
        UsageError: as ``WhyReader.read``; or the cluster's client is not installed or not configured.
    """
    async with connected("why", kubeconfig, _TIMING, brief=True) as client:
        return await WhyReader(client).read(text, namespace, now)


def _versions(groups: Document | NotRead | None) -> dict[str, tuple[str, ...]]:
    """Return the served versions of each API group, as /apis lists them (meta/v1 APIGroupList)."""
    return {
        text_at(each, "name"): tuple(text_at(one, "version") for one in list_at(each, "versions"))
        for each in list_at(groups, "groups")
    }


def _descends(document: Document, picture: Picture, known: Mapping[str, Document]) -> bool:
    """Return whether an object is the workload that was asked about, or is owned by it, directly or through others."""
    wanted_kind = "" if picture.kind == "workload" else picture.kind
    current: Document | None = document
    for _ in range(_DEEPEST):
        if current is None:
            return False
        own = text_at(current, "kind").lower()
        if text_at(current, "metadata", "name") == picture.name and own and wanted_kind in {"", own}:
            return True
        owner = next((each for each in list_at(current, "metadata", "ownerReferences") if each.get("controller")), None)
        if owner is None:
            return False
        if text_at(owner, "name") == picture.name and wanted_kind in {"", text_at(owner, "kind").lower()}:
            return True
        current = known.get(text_at(owner, "uid"))
    return False


def _chosen(pods: Iterable[Document]) -> Document | None:
    """Return the pod of a workload that an answer is best about: the oldest that waits, else one that is not ready."""

    def rank(pod: Document) -> tuple[bool, bool, bool, bool, str, str]:
        conditions = {text_at(each, "type"): text_at(each, "status") for each in list_at(pod, "status", "conditions")}
        return (
            bool(text_at(pod, "metadata", "deletionTimestamp")),
            bool(text_at(pod, "spec", "nodeName")),
            "PodScheduled" not in conditions,
            conditions.get("Ready") == "True",
            text_at(pod, "metadata", "creationTimestamp"),
            text_at(pod, "metadata", "name"),
        )

    return min(pods, key=rank, default=None)


def _check_there(picture: Picture) -> None:
    """Raise ClusterError if nothing of the workload that was asked about is there, not even an Event."""
    if picture.pod is not None or picture.controllers:
        return
    names = {text_at(each, "involvedObject", "name") for each in picture.listed(picture.refusals)}
    if picture.name in names:
        return
    what = f"{picture.kind} {picture.namespace}/{picture.name}"
    unread = "".join(f"; not read: {each.want}" for each in picture.unread)
    raise ClusterError(
        "refused", f"{what}: there is no such object with pods{unread}; see kubectl get pods -n {picture.namespace}"
    )

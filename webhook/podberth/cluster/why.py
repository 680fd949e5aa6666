"""Reads, once, the objects that ``podberth why`` needs; writes nothing, and reads no Secret.

The number of requests depends on the objects that one pod names, and not on the size of the cluster. The nodes are one
list, and so are all pods, unless only the pods of a few nodes are listed; other objects are read one by one.
docs/why.md has a ClusterRole with exactly the needed rights.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Final

from ..api.opening import Client, Kubeconfig, connected
from ..api.protocol import Resource, Timing, read_object
from ..api.reflector import pages
from ..errors import ClusterError, UsageError
from ..kube.api_path import ApiPath, collection_path
from ..kube.unchecked import list_at, text_at
from ..why.causes import wanted
from ..why.picture import Document, NotRead, Picture, Ref, pods_in
from ..why.refusals import of_operators

# Short, because a user waits.
_TIMING: Final = Timing(connect_seconds=5.0, list_seconds=30.0, silence_seconds=30.0)
# A cause may need further objects once its first ones are known: first a claim, then its volume, then the class.
_MOST_ROUNDS: Final = 5
# A pod names a handful of objects. If one names more by mistake, the answer says which objects were not read.
_MOST_READ: Final = 64
# The API server answers such a list from its memory instead of etcd; the answer is seconds old at most.
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
    """Return (kind, name) from the text ``NAME`` or ``KIND/NAME``.

    The kind is in lower case and singular. In the text ``NAME``, the kind is empty.

    Raises:
        UsageError: the text is neither ``NAME`` nor ``KIND/NAME``.
    """
    kind, slash, name = text.rpartition("/")
    if not name or (slash and not kind) or "/" in kind:
        raise UsageError(f"NAME: got {text!r}, want a pod's name, or KIND/NAME as in job/train")
    kind = kind.lower().partition(".")[0]
    kind = _SHORT.get(kind, kind)
    return kind[:-1] if kind.endswith("s") and kind not in _SHORT.values() else kind, name


class WhyReader:
    """Reads, once, the objects that are needed to say why one pod or workload waits."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._served: Mapping[str, tuple[str, ...]] | NotRead = {}

    async def read(self, text: str, namespace: str, now: datetime) -> Picture:
        """Return a Picture: the objects that are needed to say why the pod or workload ``text`` waits.

        Raises:
            ClusterError: the API server does not answer, or the pod or workload does not exist.
            UsageError: ``text`` is neither NAME nor KIND/NAME.
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
            # The number of lists is that of the kinds. A pod may name any number of single objects.
            left = max(0, _MOST_READ - sum(bool(ref.name) for ref in picture.read))
            beyond = set([ref for ref in refs if ref.name][left:])
            refs = [ref for ref in refs if ref not in beyond]
            found = await asyncio.gather(*map(self._ref, refs))
            unread = {ref: NotRead(ref.right, f"an answer reads {_MOST_READ} objects at most") for ref in beyond}
            picture = replace(picture, read={**picture.read, **dict(zip(refs, found, strict=True)), **unread})
        _check_there(picture)
        return picture

    async def _pod(self, kind: str, name: str, namespace: str) -> Document | None:
        """Return the pod with the name ``name``; None if the name is not, or need not be, the name of a pod.

        Args:
            kind: the kind in the user's text: "pod", another kind (the result is None), or empty (None if there is no
                such pod).
            name: the name in the user's text.
            namespace: the namespace in which the pod is looked for.

        Raises:
            ClusterError: the pod cannot be read, or ``kind`` is "pod" and the pod does not exist.
        """
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
        """Return ``picture`` with the controllers and pods of its workload, and the pod to explain, filled in."""
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
        """Return the namespace's controllers, such as Jobs: for each kind of controllers a tuple, or an error."""
        return await asyncio.gather(
            *(
                self._list(collection_path(version, plural, namespace), f"list {plural} in {namespace}")
                for version, plural in _CONTROLLERS.values()
            )
        )

    async def _ref(self, ref: Ref) -> Document | NotRead | None:
        """Return an object or a list, in the first version of ``ref.versions`` that the cluster serves.

        None if the object does not exist. If the object cannot be read, the result is NotRead with the reason, and
        ``podberth why`` goes on without the object.
        """
        served: Iterable[str] = ref.versions
        if ref.group:
            if isinstance(self._served, NotRead):
                return NotRead(ref.right, f"{self._served.want}: {self._served.why}")
            served = self._served.get(ref.group, ())
        selectors = {"fieldSelector": ref.fields, "labelSelector": ref.labels}
        query = {key: each for key, each in selectors.items() if each}
        for version in (each for each in ref.versions if each in served):
            # A group may serve one kind in one version and another kind in another: PriorityClass in v1 alone.
            path = collection_path(f"{ref.group}/{version}" if ref.group else version, ref.plural, ref.namespace)
            try:
                path = path.below(ref.name) if ref.name else path
            except ClusterError:
                return None  # no object has such a name
            try:
                if ref.plural == "pods" and not ref.name:
                    found = await _tried(self._pods(path, ref.fields), ref.right)
                else:
                    found = await self._get(path, ref.right, query)
            except ClusterError as error:
                return NotRead(ref.right, str(error))
            if found is not None:
                return found
        return None

    async def _pods(self, path: ApiPath, fields: str) -> Document:
        """Return the pods at a path that the field selector ``fields`` selects, as a list object.

        Pods of all namespaces have only the fields that a cause may read of other pods. The pod to explain may be among
        those of one namespace, which are read as JSON, and so are all from an API server, or a proxy before it, that
        sends no protobuf. A page of JSON is in memory as a whole.
        """
        if not path.namespace:
            from ..api.pod_stream import streamed_pods  # noqa: PLC0415 - many answers need no pods, and protobuf loads slowly

            try:
                return {"items": await streamed_pods(self._client, path, fields)}
            except ClusterError as error:
                if error.reason != "garbled":
                    raise
        asked = Resource("pods", path, fields=fields, of_all_namespaces=True)
        return {"items": [_trimmed(put.document) async for page in pages(self._client, asked) for put in page.items]}

    async def _list(
        self, path: ApiPath, want: str, query: Mapping[str, str] | None = None
    ) -> tuple[Document, ...] | NotRead:
        found = await self._get(path, want, query)
        return found if isinstance(found, NotRead) else tuple(list_at(found, "items"))

    async def _get(self, path: ApiPath, want: str, query: Mapping[str, str] | None = None) -> Document | NotRead | None:
        return await _tried(self._object(path, query or {}), want)

    async def _object(self, path: ApiPath, query: Mapping[str, str]) -> Document:
        return read_object(await self._client.get(path, dict(query)), f"GET {path}")


async def _tried(reading: Awaitable[Document], want: str) -> Document | NotRead | None:
    """Return what ``reading`` reads; None for status 404, NotRead for any other error status except 401.

    Raises:
        ClusterError: the API server does not answer, or rejects the user's credentials (401).
    """
    try:
        return await reading
    except ClusterError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        if error.status == HTTPStatus.FORBIDDEN:
            return NotRead(want, _FORBIDDEN)
        if not error.status or error.status == HTTPStatus.UNAUTHORIZED:
            raise
        return NotRead(want, str(error))


def _trimmed(pod: Document) -> Document:
    """Return ``pod`` without its largest fields, which no cause reads: two thirds of a pod's bytes."""
    pod["metadata"].pop("managedFields", None)
    for container in list_at(pod, "spec", "containers"):
        container.pop("env", None)
    return pod


async def read_picture(kubeconfig: Kubeconfig | None, text: str, namespace: str, now: datetime) -> Picture:
    """Return the objects that the answer to ``podberth why`` needs, from the cluster that the kubeconfig names.

    Raises:
        ClusterError: an object cannot be read.
        UsageError: the name in ``text`` cannot be used, or the cluster's client is not installed or not configured.
    """
    async with connected("why", kubeconfig, _TIMING, brief=True) as client:
        return await WhyReader(client).read(text, namespace, now)


def _versions(groups: Document | NotRead | None) -> dict[str, tuple[str, ...]]:
    """Return a mapping from API group to served versions, from the answer ``groups`` to /apis (an APIGroupList)."""
    return {
        text_at(each, "name"): tuple(text_at(one, "version") for one in list_at(each, "versions"))
        for each in list_at(groups, "groups")
    }


def _descends(document: Document, picture: Picture, known: Mapping[str, Document]) -> bool:
    """Return whether an object is the workload that the user named, or belongs to that workload through controllers.

    ``known`` is a mapping from the uid of each controller in the namespace to the controller.
    """
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
    """Return the pod to explain for a workload; None if there are no pods.

    The result is the oldest pod without a node, else the oldest pod that is not ready, else the oldest pod. Pods that
    are being deleted come last.
    """

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
    """Raise ClusterError if nothing of the workload ``picture.name`` was found: no pod, controller or Event."""
    if picture.pod is not None or picture.controllers:
        return
    events = (*picture.listed(picture.refusals), *of_operators(picture))
    names = {text_at(each, "involvedObject", "name") for each in events}
    if picture.name in names:
        return
    what = f"{picture.kind} {picture.namespace}/{picture.name}"
    unread = "".join(f"; not read: {each.want}" for each in picture.unread)
    raise ClusterError(
        "refused", f"{what}: there is no such object with pods{unread}; see kubectl get pods -n {picture.namespace}"
    )

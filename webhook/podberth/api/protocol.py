"""The rules of lists and watches: the meaning of each answer or event, and the wait before the next request.

The module is pure: no clock, no random numbers, no I/O; ``reflector`` acts on the module's decisions. The rules are
those of client-go's reflector (k8s.io/client-go tools/cache/reflector.go) and in
https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from sys import intern
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import orjson

from ..errors import ClusterError
from ..kube.api_path import ApiPath, collection_path
from ..kube.forbidden import wanted_right
from ..wellknown import API_VERSION, NAMESPACE, PARAMS_LABEL, PROTOBUF_PREFIX, TOPOLOGY_LABEL

Document: TypeAlias = dict[str, Any]

JSON: Final = "application/json"

Reason: TypeAlias = Literal["ended", "lost", "silent", "garbled", "expired", "busy", "failed", "refused", "bug"]
"""The reason why a watch is started again.

ended: the watch reached its timeout. lost: the connection broke or could not be opened. silent: nothing arrived for too
long. garbled: an answer was not valid. expired: the watched version is too old (410). busy: the API server has too many
requests (429). failed: the API server has a fault (5xx). refused: the API server refuses the request (4xx). bug:
podberth has a bug.
"""

ListReason: TypeAlias = Literal["start", "expired", "resync"]
"""The reason for listing all objects: the start, a watch whose version is too old (expired), or a periodic resync."""

MERGE_PATCH: Final = "application/merge-patch+json"
"""The content type of a PATCH that is merged into an object (RFC 7386)."""
APPLY_PATCH: Final = "application/apply-patch+yaml"
"""The content type of a server-side apply."""
_GARBLED_SHOWN = 80
# etcd takes 1.5 MiB for an object, and JSON may spell a byte with six (\u0001).
_LONGEST_LINE: Final = 16 * 1024 * 1024
# etcd takes 1.5 MiB (--max-request-bytes). A custom resource is stored as the JSON of the answer, a built-in one as
# protobuf; readable JSON is less than twice as long.
LARGEST_OBJECT_BYTES: Final = 3 * 1024 * 1024

LARGEST_PAGE_BYTES: Final = 16 * 1024 * 1024
"""The limit for a page of a list that a replica keeps. A page of 100 Nodes has 1 MiB; a hundred objects that a tenant
makes as large as etcd takes have 900 MiB. Any one object is below it."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of the API that podberth lists and watches, with the selectors of the objects."""

    name: str
    path: ApiPath
    selector: str = ""
    """A label selector; empty selects all objects."""
    of_all_namespaces: bool = False
    """Whether the resource is followed in all namespaces; then the objects are identified as ``namespace/name``."""
    fields: str = ""
    """A field selector; empty selects all objects."""
    optional: bool = False
    """Whether podberth works without the resource, which a cluster may lack or may forbid podberth to list.

    The receiver of the resource's objects is then notified that there is none.
    """

    @property
    def selection(self) -> dict[str, str]:
        """The resource's selectors as query parameters of a request."""
        selectors = {"labelSelector": self.selector, "fieldSelector": self.fields}
        return {key: selector for key, selector in selectors.items() if selector}


NODES = Resource("nodes", collection_path("v1", "nodes"))
# Any version of the document: a newer agent's document must be reported, not ignored.
TOPOLOGIES = Resource("configmaps", collection_path("v1", "configmaps", NAMESPACE), TOPOLOGY_LABEL)
HEARTBEATS = Resource("leases", collection_path("coordination.k8s.io/v1", "leases", NAMESPACE), TOPOLOGY_LABEL)
CONTROLLER = Resource("controller", HEARTBEATS.path, fields="metadata.name=podberth-controller")
"""The Lease of podberth's controller (``api.election``). While a replica renews the Lease, groups of pods are made."""
NAMESPACES = Resource("namespaces", collection_path("v1", "namespaces"))
# Only from podberth's own namespace: a writer of ConfigMaps there may decide how podberth decides.
PARAMS = Resource("params", TOPOLOGIES.path, f"!{TOPOLOGY_LABEL}")
OBJECTS: tuple[Resource, ...] = (NAMESPACES, PARAMS)
"""The other resources that policies read: Namespaces and params objects."""
NAMESPACE_PARAMS = Resource(
    "namespace-params",
    collection_path("v1", "configmaps"),
    f"{PARAMS_LABEL}=true,!{TOPOLOGY_LABEL}",
    of_all_namespaces=True,
    optional=True,
)
"""Params objects in tenants' namespaces, which their label selects."""
WAITING_PODS = Resource("pods", collection_path("v1", "pods"), fields="spec.nodeName=", of_all_namespaces=True)
"""The pods that no scheduler has placed on a node yet; the controller makes groups and claim templates for these pods.
"""
POLICIES = Resource("gpupolicies", collection_path(API_VERSION, "gpupolicies"))
EXCEPTIONS = Resource("gpupolicyexceptions", collection_path(API_VERSION, "gpupolicyexceptions"))
NAMESPACED_POLICIES = Resource(
    "namespacedgpupolicies", collection_path(API_VERSION, "namespacedgpupolicies"), of_all_namespaces=True
)


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """The limits of size and time for one answer; an answer beyond the limits is an error."""

    seconds: float
    most_bytes: int = LARGEST_OBJECT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The limits and waits of lists, watches and retries, in seconds."""

    connect_seconds: float = 10.0
    """The limit for opening a connection, TLS included: client-go's limit for a handshake."""
    list_seconds: float = 60.0
    """The limit for reading one page of a list: the API server's own --request-timeout."""
    watch_seconds: float = 300.0
    """The shortest timeout that a watch request has, and half of the longest (client-go's minWatchTimeout)."""
    silence_seconds: float = 90.0
    """The longest time without a byte after which a watch is ended.

    The watch cache sends a bookmark every minute (bookmarkFrequency, apiserver storage/cacher), so a longer silence
    mostly means a half-open connection. The other cause is a kind that has not changed since the watch began: the
    bookmark waits until etcd reports progress (cacheWatcher.process), every 10 minutes by default and every 5 s with
    kubeadm (--watch-progress-notify-interval). The next watch begins at the last version of the ended watch, so nothing
    is lost.
    """
    resync_seconds: float = 7200.0
    """The longest time between two lists of all objects; the shortest time is half as long.

    Repeated lists are a safety net: no case is known that needs repeated lists.
    """
    refused_seconds: float = 10.0
    """The seconds after which the API server's refusal of the first list counts as final.

    A new API server needs 3 to 6 s to load roles.
    """
    first_wait_seconds: float = 0.25
    """The longest wait before the first retry after a failure; the limit doubles with each further failure."""
    longest_wait_seconds: float = 15.0
    """The longest wait before any retry.

    client-go waits up to 30 s; podberth waits less, so that a lost GPU is known sooner.
    """
    least_wait_seconds: float = 0.05
    """The shortest wait before any retry."""
    discover_seconds: float = 120.0
    """The longest time between two checks of which kinds the cluster serves; the shortest time is half as long.

    A shorter time is not needed, because a newly installed operator needs longer to pull images and start.
    """
    look_seconds: float = 20.0
    """The time between two reads of the objects that a GPUPolicy's status depends on and that are not watched.

    If a policy is applied together with the policy's webhook entry, the policy's status may say for this long that the
    entry is missing.
    """
    settle_seconds: float = 120.0
    """The time for which all heartbeats must arrive, or one must be missing, before a policy's status reports the fact.

    The time is longer than the replacement of an agent's pod takes, so a rollout of agents changes no status.
    """
    settled_seconds: float = 10.0
    """The time after which a watch counts as a success; a failure afterwards counts as the first."""


# ---- events ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Put:
    """An event of a watch: the object exists, with the fields in ``document``."""

    name: str
    version: str
    document: Document


@dataclass(frozen=True, slots=True)
class Drop:
    """An event of a watch: the object no longer exists, or the selectors of the watch no longer select it."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An event of a watch: the API server has sent all events up to ``version``."""

    version: str


Event: TypeAlias = Put | Drop | Bookmark


def read_event(line: bytes, what: str, after: str, *, of_all_namespaces: bool = False) -> Event:
    """Return the event in one line of a watch of ``what``; ``after`` is the version in the line before.

    If ``of_all_namespaces`` is true, the name in the event is ``namespace/name``, else the object's name alone.

    Raises:
        ClusterError: the line reports an error, is not an event, or has an older version than ``after``.
    """
    try:
        event = orjson.loads(line)
        verb, thing = event["type"], event["object"]
        if verb == "ERROR":
            raise _refusal(what, thing, 0.0)
        name, version = _identity(thing, bookmark=verb == "BOOKMARK", of_all_namespaces=of_all_namespaces)
        known = verb in {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise garbled(what, line) from error
    if not known:
        raise garbled(what, line)
    if _went_back(after, version):
        raise ClusterError("expired", f"{what}: got version {version} after {after}; the cluster is an older one now")
    if verb == "BOOKMARK":
        return Bookmark(version)
    return Drop(name, version) if verb == "DELETED" else Put(name, version, thing)


def _identity(thing: Mapping[str, Any], *, bookmark: bool, of_all_namespaces: bool) -> tuple[str, str]:
    metadata = thing["metadata"]
    name, version = metadata.get("name"), metadata["resourceVersion"]
    if not (isinstance(version, str) and version and (bookmark or (isinstance(name, str) and name))):
        raise ValueError("neither name nor version")
    if of_all_namespaces and name:
        return f"{metadata.get('namespace') or ''}/{name}", version
    # A node's name is a key in a dozen tables; because of ``intern`` they share one string.
    return intern(name or ""), version


def _went_back(before: str, version: str) -> bool:
    """Return whether ``version`` is older than ``before``; False unless both are numbers (KEP-5504, Kubernetes 1.35).

    An older version means that etcd was restored from a backup. A watch from the later version would receive only
    bookmarks.
    """
    return before.isdecimal() and version.isdecimal() and int(version) < int(before)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the API server's answer to a list request."""

    items: tuple[Put, ...]
    version: str
    """The resourceVersion of the whole list."""
    next_page: str
    """The token with which the next page is requested; empty on the last page."""


def read_page(body: bytes, what: str, *, of_all_namespaces: bool = False) -> Page:
    """Return the page in the answer to a list request; ``what`` names the list in messages.

    If ``of_all_namespaces`` is true, the names on the page are ``namespace/name``, else the objects' names alone.

    Raises:
        ClusterError: the answer is not a list.
    """
    try:
        document = orjson.loads(body)
        metadata = document["metadata"]
        # Go writes a list without items as null.
        items = tuple(
            Put(*_identity(item, bookmark=False, of_all_namespaces=of_all_namespaces), item)
            for item in document["items"] or ()
        )
        return Page(items, str(metadata["resourceVersion"]), str(metadata.get("continue") or ""))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise garbled(what, body) from error


class ServedKind(NamedTuple):
    """A kind of Kubernetes objects, in one version that the API server serves."""

    version: str
    """The API group and version, for example ``batch/v1``."""
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]

    def resource(self, namespace: str) -> Resource:
        """Return the resource that lists the kind in ``namespace``; an empty ``namespace`` means all namespaces."""
        path = collection_path(self.version, self.plural, namespace if self.namespaced else "")
        return Resource(self.plural, path)


def read_versions(body: bytes) -> dict[str, tuple[str, ...]]:
    """Return the group versions (``batch/v1``) of each API group in an answer to ``/apis``, preferred versions first.

    Raises:
        ClusterError: the answer is not an APIGroupList.
    """
    try:
        found: dict[str, tuple[str, ...]] = {}
        for each in orjson.loads(body)["groups"]:
            ordered = [each.get("preferredVersion") or each["versions"][0], *each["versions"]]
            found[each["name"]] = tuple(dict.fromkeys(one["groupVersion"] for one in ordered))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise garbled("discovery of groups", body) from error
    return found


def read_kinds(body: bytes, version: str) -> tuple[ServedKind, ...]:
    """Return the kinds of a group version, without subresources, from the API server's answer.

    Raises:
        ClusterError: the answer is not an APIResourceList.
    """
    try:
        return tuple(
            ServedKind(
                version, each.get("kind", ""), each["name"], bool(each.get("namespaced")), frozenset(each["verbs"])
            )
            for each in orjson.loads(body)["resources"] or ()
            if "/" not in each["name"]
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise garbled("discovery of resources", body) from error


class Lines:
    """Splits the bytes of a stream into lines."""

    def __init__(self, what: str) -> None:
        """Create a splitter without data; ``what`` names the stream in messages."""
        self._what = what
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Add bytes to the stream and yield the completed lines; an incomplete line is kept for the next call.

        Raises:
            ClusterError: a line is longer than any object can be.
        """
        self._rest += chunk
        if len(self._rest) > _LONGEST_LINE and b"\n" not in self._rest:
            raise garbled(self._what, bytes(self._rest[:_GARBLED_SHOWN]))
        *lines, rest = bytes(self._rest).split(b"\n") if b"\n" in chunk else (bytes(self._rest),)
        if lines:
            self._rest = bytearray(rest)
        yield from (line for line in lines if line.strip())


def read_object(body: bytes, what: str) -> Document:
    """Return the object in the body of an answer; ``what`` names the object in messages.

    Raises:
        ClusterError: the answer does not hold an object.
    """
    try:
        found = orjson.loads(body)
    except ValueError as error:
        raise garbled(what, body) from error
    if not isinstance(found, dict):
        raise garbled(what, body)
    return found


# ---- failures -------------------------------------------------------------------------------------------------------


def garbled(what: str, got: bytes) -> ClusterError:
    """Return the error for the answer ``got``, which is not JSON of the Kubernetes API; ``what`` is the request."""
    shown = got[:_GARBLED_SHOWN].decode("utf-8", "replace")
    return ClusterError("garbled", f"{what}: got {shown!r}, want an object, a list or an event of the API; try again")


def refusal(what: str, status: int, body: bytes, retry_after: str) -> ClusterError:
    """Return the error for an answer with a status of 300 or more.

    ``what`` is the request, and ``retry_after`` the text of the header Retry-After, or empty.
    """
    try:
        thing = _status(body)
    except ValueError:
        thing = None
    if not isinstance(thing, dict):
        thing = {"message": body[:200].decode("utf-8", "replace")}
    seconds = float(retry_after) if retry_after.isdecimal() else 0.0
    error = _refusal(what, {**thing, "code": status}, seconds)
    error.status = status
    return error


def _status(body: bytes) -> Any:
    if not body.startswith(PROTOBUF_PREFIX):
        return orjson.loads(body)
    from ..kube.protobuf_pods import read_status  # noqa: PLC0415 - only a request for protobuf is refused in protobuf

    return read_status(body)


def _refusal(what: str, status: Mapping[str, Any], retry_after: float) -> ClusterError:
    code, why = status.get("code"), status.get("reason")
    code = code if isinstance(code, int) else 0
    said = " ".join(str(status.get("message") or why or "nothing").split())
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    kinds = [cause.get("reason") for cause in causes or () if isinstance(cause, dict)]
    if code == HTTPStatus.GONE or why in {"Expired", "Gone"} or "ResourceVersionTooLarge" in kinds:
        # ResourceVersionTooLarge: the version is in the future, because the cluster was restored from a backup since.
        return ClusterError("expired", f"{what}: got {code} {said}; list again")
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        return ClusterError("busy", f"{what}: got {code} {said}; try later", retry_after_seconds=retry_after)
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR or not code:
        return ClusterError("failed", f"{what}: got {code} {said}; try again", retry_after_seconds=retry_after)
    hint = (wanted_right(said) if code == HTTPStatus.FORBIDDEN else "") or _HINTS.get(code, "see what it says")
    return ClusterError("refused", f"{what}: got {code} {said}, want 200; {hint}")


_HINTS: Mapping[int, str] = {
    401: "check the token, and that it is of this cluster",
    404: "check the server's address",
}


# ---- waiting --------------------------------------------------------------------------------------------------------


class Pace:
    """Computes the wait before the next try of a request: exponential backoff with full jitter, up to a limit.

    With full jitter, replicas that lose the API server at the same moment do not all retry at the same moment
    (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
    """

    def __init__(self, timing: Timing, draw: Callable[[], float]) -> None:
        """Create the backoff without failures. ``draw`` returns random numbers from 0 to 1."""
        self._timing = timing
        self._draw = draw
        self._failures = 0

    def wait_seconds(self, lived_seconds: float, retry_after_seconds: float = 0.0) -> float:
        """Return the wait in seconds before the next try.

        ``lived_seconds`` is how long the last watch lasted, or 0. After a watch that lasted for
        ``Timing.settled_seconds``, the backoff starts again with its shortest wait. A wait that the API server asks for
        is respected up to the limit: a misconfigured proxy may ask for a day.
        """
        timing = self._timing
        if lived_seconds >= timing.settled_seconds:
            self._failures = 0
        # Past the cap the exponent stays constant, so that it cannot overflow.
        bound = min(timing.longest_wait_seconds, timing.first_wait_seconds * 2.0 ** min(self._failures, 30))
        self._failures += 1
        asked = min(retry_after_seconds, timing.longest_wait_seconds)
        return max(timing.least_wait_seconds, asked + self._draw() * bound)

    def succeeded(self) -> None:
        """Forget earlier failures, because a try has succeeded."""
        self._failures = 0


class Refusals:
    """Decides whether the API server's refusals of requests are final, so that the caller gives up.

    A refusal is an error with the reason "refused". A server that has just started knows neither roles nor tokens yet,
    and refuses all requests for some seconds.
    """

    def __init__(self, timing: Timing) -> None:
        """Create the object without a refusal; refusals are final after ``timing.refused_seconds``."""
        self._timing = timing
        self._since: float | None = None

    def lasting(self, error: ClusterError, at: float) -> bool:
        """Record a failure at the time ``at``, in seconds; return whether the API server's refusals are now final.

        The refusals are final if every failure in the configured time, ``Timing.refused_seconds``, was a refusal.
        """
        if error.reason != "refused":
            self._since = None
            return False
        self._since = at if self._since is None else self._since
        return at - self._since >= self._timing.refused_seconds

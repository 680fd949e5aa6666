"""Decides what the agent sends to the API server: a state machine without its own clock, network or random numbers.

The caller passes in documents, takes the next request, sends the request (``publish``), passes the answer back, and
asks for the time of the next request. The publisher keeps a ConfigMap, a Lease and the Node's labels up to date. Each
has its own backoff, so that the refusal of one write does not delay another:

- The ConfigMap has the newest document. The present ConfigMap is read first, so an agent that restarts does not write
  the same document again. A newer document replaces one that is not written yet.
- The Lease is renewed while the driver answers and the document is in place. Before each renewal one small read shows
  whether the ConfigMap is still as it was written. If not, the publisher begins again, and reads the Node's uid first:
  the Node may have been deleted, and its ConfigMap with it, and created again.
- The Node's labels are written, unless Node Feature Discovery writes them from a file of the agent. Live labels, which
  change with the use of the GPUs, are part of the same write, so that no writer removes the labels of another.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from math import ceil, inf
from typing import Any

from ..kube.forbidden import wanted_right
from ..kube.unchecked import text_at
from ..telemetry.bucket import Bucket
from ..topology.codec import DATA_KEY, SCHEMA_VERSION, is_same_but_for_time
from ..wellknown import NAMESPACE, TOPOLOGY_LABEL
from .api_requests import (
    ApiRequest,
    LabelTarget,
    Purpose,
    SendResult,
    ask_node,
    check_config_map,
    read_config_map,
    renew_lease,
    write_config_map,
    write_labels,
)
from .pace import Backoff, Draw

HEARTBEAT_SECONDS = 120.0
"""The seconds between two renewals of a node's Lease.

Kubelets renew their Leases every 10 s: 1,000 writes a second for 10,000 nodes. Agents add a tenth of that: 95 writes,
and as many small reads. A shorter interval is not needed: the Node itself reports a dead node within a minute, and the
heartbeat only reports an agent or a driver that is gone while the node lives.
"""
_MISSED = 3
"""The duration of a Lease, in renewal intervals: a Lease survives one lost renewal or a restart of the API server."""
_JITTER = 0.25
"""The largest part of the renewal interval by which a renewal is early.

The part is random, so that agents that started together do not renew together.
"""

# Limits for a GPU that is lost and returns again and again: six changes are written at once, then four a minute.
_BURST_WRITES = 6
_SECONDS_A_WRITE = 15.0
# The labels are written again after so many heartbeats, in case somebody has removed them. To check them instead would
# cost a read at each heartbeat.
_HEARTBEATS_A_LABELLING = 10

# https://kubernetes.io/docs/reference/using-api/api-concepts/: statuses after which the same request may succeed later.
_PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS}


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment, as a monotonic clock and the wall clock show it."""

    seconds: float
    """The time in seconds of a clock that never jumps; the caller chooses its start."""
    wall: datetime


@dataclass(frozen=True, slots=True)
class _Stored:
    """The node's ConfigMap as the API server has it; ``version`` is empty if the ConfigMap does not exist."""

    version: str = ""
    text: str = ""
    sound: bool = False
    """Whether the ConfigMap has podberth's label and, as an owner, the Node."""


class Publisher:
    """Decides which requests the agent of one node sends to the API server, and when."""

    def __init__(
        self, node: str, *, draw: Draw, heartbeat_seconds: float = HEARTBEAT_SECONDS, labels: LabelTarget | None = None
    ) -> None:
        """Create the publisher of the Node with the name ``node``, with nothing to publish.

        ``draw`` returns random numbers for the jitter. ``heartbeat_seconds`` is the time between two renewals of the
        node's Lease. ``labels`` is where the agent's labels are sent; None: nowhere.
        """
        self.troubles: dict[str, str] = {}
        """A mapping from an object's name to the message about the object's present failure; empty without failures.

        A message is replaced only if the status code changes: a library may word the same failure differently each
        time.
        """
        self._statuses: dict[str, int] = {}
        self.node, self._draw, self._heartbeat_seconds = node, draw, heartbeat_seconds
        self.silent = False
        """Set by the caller while the driver does not answer: the Lease is then not renewed; published objects stay."""
        self.live: Mapping[str, str] = {}
        """The live labels, set by the caller: they are written with the labels of ``offer``, and never without them."""
        self._wanted: str | None = None
        self._uid = ""
        self._there: _Stored | None = None
        self._seen_at = -inf
        self._beat_at = -inf
        self._writing, self._beating, self._labelling = Backoff(draw), Backoff(draw), Backoff(draw)
        self._writes, self._label_writes = (Bucket(_BURST_WRITES, _SECONDS_A_WRITE) for _ in range(2))
        self._target = labels
        self._labels: Mapping[str, str] | None = None
        self._labelled: tuple[str, Mapping[str, str]] | None = None
        self._relabel_at = inf

    def offer(self, config_map: Mapping[str, Any], labels: Mapping[str, str] | None) -> None:
        """Set the ConfigMap to publish and the labels of the node; None keeps the earlier labels."""
        self._wanted = config_map["data"][DATA_KEY]
        if labels is not None:
            self._labels = labels

    @property
    def settled(self) -> bool:
        """Whether the published ConfigMap has the document of the last ``offer`` and is ``_Stored.sound``.

        Documents that differ only in their time, the field ``observed``, count as equal.
        """
        there = self._there
        return there is not None and there.sound and is_same_but_for_time(there.text, self._wanted or "")

    def next_at(self) -> float:
        """Return the time of the next request, in seconds of the agent's clock.

        A past time means now, and inf means that there is nothing to send.
        """
        if self._wanted is None:
            return inf
        return min(self._document_at(), self._heartbeat_at(), self._labels_at())

    def next_request(self, now: Instant) -> ApiRequest | None:
        """Return the request to send now; None if no request is due.

        The answer must be passed to ``receive`` before the next call.
        """
        if self._wanted is None:
            return None
        if self._document_at() <= now.seconds:
            return self._document_request(self._wanted)
        if self._heartbeat_at() <= now.seconds:
            if self._seen_at < self._beat_at:
                return check_config_map(self.node)
            return renew_lease(self.node, self._uid, now.wall, ceil(_MISSED * self._heartbeat_seconds))
        if self._target and self._labels_at() <= now.seconds:
            return write_labels(self._target, self.node, self._uid, self._all_labels())
        return None

    def last_request(self) -> ApiRequest | None:
        """Return the request that removes the live labels from the Node; None if no live label was set.

        It is the agent's last request: nobody keeps a live label current when the agent has ended.
        """
        if self._target is None or self._labels is None or not self._uid:
            return None
        written = self._labelled[1] if self._labelled else {}
        if not self.live and written.keys() <= self._labels.keys():
            return None
        return write_labels(self._target, self.node, self._uid, self._labels)

    def receive(self, request: ApiRequest, answer: SendResult, now: Instant) -> None:
        """Process the answer to ``request``, which was the latest result of ``next_request``."""
        backoff = self._backoff(request.purpose)
        absent = answer.status == HTTPStatus.NOT_FOUND and request.purpose in {"read", "check"}
        # Every object has a uid: an answer without one is from something in front of the API server, such as a login
        # page.
        found = HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES and answer.metadata.get("uid")
        if not (found or absent):
            self._fail(backoff, request, answer, now.seconds)
            return
        backoff.succeed()
        about = _about(request.purpose, self.node)
        self.troubles.pop(about, None)
        self._statuses.pop(about, None)
        match request.purpose:
            case "node":
                self._uid = str(answer.metadata.get("uid", ""))
            case "read":
                self._there = _Stored() if absent else _stored(answer, self._uid)
                self._seen_at = now.seconds
            case "check":
                self._seen_at = now.seconds
                if absent or self._there is None or answer.metadata.get("resourceVersion") != self._there.version:
                    self._there, self._uid = None, ""
            case "write" if answer.status == HTTPStatus.CREATED and self._there is not None and self._there.version:
                self._there, self._uid = None, ""  # somebody deleted it, perhaps with the Node that owned it
            case "write":
                self._there = _Stored(str(answer.metadata.get("resourceVersion", "")), request.text, sound=True)
                self._seen_at = now.seconds
                self._writes.take(now.seconds)
            case "heartbeat":
                self._beat_at = now.seconds + self._interval()
            case "label":
                self._labelled = (self._uid, self._all_labels())
                self._relabel_at = now.seconds + _HEARTBEATS_A_LABELLING * self._interval()
                self._label_writes.take(now.seconds)

    def _document_request(self, wanted: str) -> ApiRequest:
        if not self._uid:
            return ask_node(self.node)
        if self._there is None:
            return read_config_map(self.node)
        return write_config_map(self.node, self._uid, wanted)

    def _document_at(self) -> float:
        if self._uid and self._there is not None:
            return inf if self.settled else max(self._writing.at, self._writes.at)
        return self._writing.at

    def _heartbeat_at(self) -> float:
        """Return the time of the next renewal of the Lease, in seconds of the agent's clock.

        The result is inf, so that the Lease is not renewed, if the driver does not answer, if the Node or the ConfigMap
        is unknown, or if writing the ConfigMap fails.
        """
        if self.silent or not self._uid or self._there is None or self._writing.failing:
            return inf
        return max(self._beat_at, self._beating.at)

    def _labels_at(self) -> float:
        if self._target is None or self._labels is None or not self._uid:
            return inf
        due = -inf if self._labelled != (self._uid, self._all_labels()) else self._relabel_at
        return max(due, self._labelling.at, self._label_writes.at)

    def _all_labels(self) -> dict[str, str]:
        return {**(self._labels or {}), **self.live}

    def _interval(self) -> float:
        return self._heartbeat_seconds * (1 - _JITTER * self._draw())

    def _backoff(self, purpose: Purpose) -> Backoff:
        return {"label": self._labelling, "heartbeat": self._beating, "check": self._beating}.get(
            purpose, self._writing
        )

    def _fail(self, backoff: Backoff, request: ApiRequest, answer: SendResult, now: float) -> None:
        about = _about(request.purpose, self.node)
        refused = HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
        if answer.status in _PASSING or not refused:
            backoff.fail(now, asked_seconds=answer.retry_after_seconds)
        else:
            backoff.postpone(now, self._interval())
        if request.purpose == "label" and answer.status == HTTPStatus.CONFLICT:
            self._uid, self._there = "", None  # another Node has the name now
        if self._statuses.get(about) == answer.status:
            return
        self._statuses[about] = answer.status
        said = answer.said if answer.status >= HTTPStatus.BAD_REQUEST else "no object of Kubernetes"
        got = f"status {answer.status}: {said}" if answer.status else answer.said
        self.troubles[about] = f"{about}: got {got}; {_remedy(request.purpose, answer.status, said)}"


def _stored(answer: SendResult, uid: str) -> _Stored:
    metadata = answer.metadata
    labels, owners = metadata.get("labels"), metadata.get("ownerReferences")
    return _Stored(
        version=str(metadata.get("resourceVersion", "")),
        text=text_at(answer.body, "data", DATA_KEY),
        sound=(labels or {}).get(TOPOLOGY_LABEL) == SCHEMA_VERSION
        and any(owner.get("uid") == uid for owner in owners or ()),
    )


def _about(purpose: Purpose, node: str) -> str:
    """Return the name of the object that a request is about, such as "ConfigMap podberth-system/node-1"."""
    subjects = {"node": f"Node {node}", "heartbeat": f"Lease {NAMESPACE}/{node}", "label": f"labels of {node}"}
    return subjects.get(purpose, f"ConfigMap {NAMESPACE}/{node}")


def _remedy(purpose: Purpose, status: int, said: str) -> str:
    """Return the last part of the message about a failed request: advice on how to fix the failure, never empty.

    ``said`` is the API server's own message.
    """
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return "want a token of this cluster that has not expired; it is read again each time"
        case HTTPStatus.FORBIDDEN:
            return wanted_right(said) or "want what it says"
        case HTTPStatus.NOT_FOUND if purpose == "node":
            return "want --node to be the name of this machine's Node"
        case HTTPStatus.NOT_FOUND if purpose == "label":
            return "want the CRDs of Node Feature Discovery, or other --labels"
        case HTTPStatus.NOT_FOUND:
            return f"do: kubectl create namespace {NAMESPACE}"
    return "trying again, ever less"

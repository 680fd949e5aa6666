"""Reads the pods that the API server sends as protobuf, with the fields that an answer about other pods needs.

https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from ..wellknown import PROTOBUF_PREFIX
from .protobuf import Reader, fields, text

_TYPE_META, _RAW = 1, 2  # fields of Unknown

TABLE: Final = {
    # runtime.Unknown, around the object
    "Unknown": "TypeMeta typeMeta = 1; bytes raw = 2",
    "TypeMeta": "string kind = 2",
    # meta/v1
    "ListMeta": "string continue = 3",
    "ObjectMeta": (
        "string name = 1; string namespace = 3; Time creationTimestamp = 8; Time deletionTimestamp = 9; "
        "repeated Texts labels = 11; repeated Texts annotations = 12"
    ),
    "Time": "int64 seconds = 1",
    "LabelSelector": "repeated Texts matchLabels = 1; repeated LabelSelectorRequirement matchExpressions = 2",
    "LabelSelectorRequirement": "string key = 1; string operator = 2; repeated string values = 3",
    "Status": "string message = 3; string reason = 4; StatusDetails details = 5; int32 code = 6",
    "StatusDetails": "repeated StatusCause causes = 4",
    "StatusCause": "string reason = 1",
    # core/v1
    "PodList": "ListMeta metadata = 1; repeated Pod items = 2",
    "Pod": "ObjectMeta metadata = 1; PodSpec spec = 2; PodStatus status = 3",
    "PodSpec": (
        "repeated Container initContainers = 20; repeated Container containers = 2; string nodeName = 10; "
        "shared Affinity affinity = 18; string schedulerName = 19; int32 priority = 25; "
        "repeated Amounts overhead = 32; shared ResourceRequirements resources = 40; "
        "PodSchedulingGroup schedulingGroup = 43"
    ),
    "Container": (
        "repeated ContainerPort ports = 6; shared ResourceRequirements resources = 8; string restartPolicy = 24"
    ),
    "ContainerPort": "int32 hostPort = 2; string protocol = 4; string hostIP = 5",
    "ResourceRequirements": "repeated Amounts limits = 1; repeated Amounts requests = 2",
    "Affinity": "PodAntiAffinity podAntiAffinity = 3",
    "PodAntiAffinity": "repeated PodAffinityTerm requiredDuringSchedulingIgnoredDuringExecution = 1",
    "PodAffinityTerm": (
        "LabelSelector labelSelector = 1; repeated string namespaces = 2; string topologyKey = 3; "
        "LabelSelector namespaceSelector = 4"
    ),
    "PodSchedulingGroup": "string podGroupName = 1",
    "PodStatus": "repeated PodCondition conditions = 2; Time startTime = 7",
    "PodCondition": "string type = 1; string reason = 5",
    # the entries of map<string, string> and of map<string, Quantity>
    "Texts": "string key = 1; string value = 2",
    "Amounts": "string key = 1; Quantity value = 2",
    "Quantity": "string string = 1",
}
"""The declared fields of each message, from generated.proto of k8s.io/api and k8s.io/apimachinery (v0.37).

A field that a cause of ``podberth why`` reads of other pods belongs here.
"""


def _texts(entries: Iterable[Any]) -> dict[str, str]:
    return {text(each.key): text(each.value) for each in entries}


def _amounts(entries: Iterable[Any]) -> dict[str, str]:
    return {text(each.key): text(each.value.string) for each in entries}


def _time(message: Any) -> str:
    return _written(message.seconds)


@lru_cache(maxsize=8192)
def _written(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:19]}Z"


_READER: Final = Reader(TABLE, "podberth", {"Texts": _texts, "Amounts": _amounts, "Time": _time})


class PodListReader:
    """Reads a list of pods from the pieces of the API server's answer."""

    def __init__(self) -> None:
        """Create the reader of one answer."""
        self._unread = b""
        """The bytes of fields that have not arrived as a whole."""
        self._left = -1
        """The number of bytes of the list that have not been read; -1: the list has not begun."""
        self._token = ""

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """Return the pods that are whole with this piece, as JSON has them with the declared fields.

        Raises:
            ValueError: the answer is no list of pods in protobuf.
        """
        data, begin = self._unread + piece, 0
        if self._left < 0:
            begin = self._begin(data)
            if self._left < 0:
                self._unread = data
                return []
        data = data[begin : begin + self._left]
        size = max((end for _, _, end in fields(data) if end <= len(data)), default=0)
        self._unread, self._left = data[size:], self._left - size
        found = _READER.read("PodList", data[:size])  # some fields of a message are a message
        self._token = found.get("metadata", {}).get("continue", self._token)
        pods: list[dict[str, Any]] = found.get("items", [])
        return pods

    def end(self) -> str:
        """Return the token of the next page after the last piece; empty: there is no next page.

        Raises:
            ValueError: the list is cut.
        """
        if self._left:
            raise ValueError("got a part of a list of pods")
        return self._token

    def _begin(self, data: bytes) -> int:
        """Return where the list begins, and set the number of its bytes, if the bytes before it are whole."""
        if not data.startswith(PROTOBUF_PREFIX[: len(data)]):
            raise ValueError("got no protobuf of the API server")
        kind = ""
        for number, begin, end in fields(data, len(PROTOBUF_PREFIX)):
            if number == _RAW:
                if kind != "PodList":
                    raise ValueError(f"got {kind!r}, want a PodList")
                self._left = end - begin
                return begin
            if number == _TYPE_META and end <= len(data):
                kind = _READER.read("TypeMeta", data[begin:end]).get("kind", "")
        return 0


def read_status(body: bytes) -> dict[str, Any]:
    """Return the Status with which the API server refuses a request, as JSON has it with the declared fields.

    Raises:
        ValueError: ``body`` is no Status in protobuf.
    """
    return _READER.read("Status", _READER.read("Unknown", body.removeprefix(PROTOBUF_PREFIX)).get("raw", b""))

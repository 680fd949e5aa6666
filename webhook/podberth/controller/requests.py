"""Sends the actions of a plan to the API server: one request for each action, with a result."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal, TypeAlias

from ..api.election import Term
from ..api.opening import Client
from ..api.protocol import MERGE_PATCH, AnswerLimits, garbled, read_object
from ..errors import ClusterError
from ..kube.api_path import ApiPath, collection_path
from ..workload.owners import LOOKED_UP
from .plan.systems import BY_API_GROUP
from .plan.world import Action, Create, GroupChange, LookUp

MANAGER = "podberth-controller"
_WRITER: Final = {"fieldManager": MANAGER}
# Reading one object by name takes milliseconds. A longer request would block a place; it is ended and sent again later.
_LOOK_UP: Final = AnswerLimits(seconds=5.0)
# A write may take longer, because the API server calls other webhooks. It must end before this replica's Lease can
# expire, with the time of one retry to spare; a write that is still wanted is sent again.
WRITE: Final = AnswerLimits(seconds=Term().renew_seconds - Term().retry_seconds)
"""The limits of a write's answer."""

Result: TypeAlias = Literal["ok", "conflict", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class RequestResult:
    """The result of the API request for an action."""

    result: Result
    document: dict[str, Any] | None = None
    """The object in the API server's answer."""
    error: ClusterError | None = None


def word(action: Action) -> str:
    """Return the verb for an action in metrics and messages: "create", "change" or "look up"."""
    return {Create: "create", GroupChange: "change", LookUp: "look up"}[type(action)]


class Requests:
    """Sends the actions of plans to the API server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def send(self, action: Action, served: Mapping[str, str]) -> RequestResult:
        """Send the request for an action and return the result; ``served`` has the API version of each kind."""
        try:
            body = await self._send(action, served)
            document = read_object(body, word(action))
            if not isinstance(document.get("metadata"), dict):
                raise garbled(word(action), body)
            return RequestResult("ok", document)
        except ClusterError as error:
            return RequestResult(_result(action, error), error=error)

    async def reset(self) -> None:
        """Close the connection. The next request opens a new connection."""
        await self._client.reset()

    async def _send(self, action: Action, served: Mapping[str, str]) -> bytes:
        if isinstance(action, LookUp):
            owner = action.owner
            plural = LOOKED_UP[owner.api_version, owner.kind].plural
            path = collection_path(owner.api_version, plural, action.namespace).below(owner.name)
            return await self._client.get(path, {}, _LOOK_UP)
        if isinstance(action, Create):
            path = _path(action.kind, action.place[0], served)
            return await self._client.send("POST", path.asking(_WRITER), action.document, limits=WRITE)
        path = _path(action.kind, action.place[0], served).below(action.place[1])
        return await self._client.send("PATCH", path.asking(_WRITER), action.patch, MERGE_PATCH, WRITE)


def _result(action: Action, error: ClusterError) -> Result:
    if error.status == HTTPStatus.CONFLICT:
        return "conflict"
    if error.status == HTTPStatus.NOT_FOUND and not isinstance(action, Create):
        return "conflict"  # it was deleted meanwhile
    return "refused" if error.reason == "refused" else "failed"


def _path(kind: str, namespace: str, served: Mapping[str, str]) -> ApiPath:
    return collection_path(served[kind], kind.partition(".")[0], namespace)


def keeps_minimum(action: GroupChange, answer: RequestResult) -> bool:
    """Return whether the API server refused a change of a PodGroup because the group's minimum cannot change.

    The API server's message names the refused field in the form ``FIELD: text`` (ErrorList.ToAggregate,
    k8s.io/apimachinery pkg/util/validation/field).
    """
    system = BY_API_GROUP.get(action.kind.partition(".")[2])
    if system is None or answer.error is None or answer.error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
        return False
    fields = (".".join(system.minimum[: end + 1]) for end in range(len(system.minimum)))
    named = "|".join(map(re.escape, fields))
    return re.search(rf"(?:^|[\s\[])(?:{named}): (?:Invalid value|Forbidden)\b", str(answer.error)) is not None

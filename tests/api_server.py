"""An API server in memory, as far as a publisher sees it: a Node, a ConfigMap, a Lease, labels, and what it refuses."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from podberth.agent.api_requests import ApiRequest, Purpose, SendResult
from podberth.agent.publisher import Instant, Publisher
from podberth.topology.codec import DATA_KEY

BEGAN = datetime(2026, 1, 31, 12, tzinfo=UTC)


@dataclass
class Server:
    """What is there, what was asked at which second, and what the next answers are instead of the truth."""

    uid: str = "uid-1"
    config_map: dict[str, Any] | None = None
    renewals: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    version: int = 0
    asked: list[tuple[float, Purpose]] = field(default_factory=list)
    refusal: Callable[[float, ApiRequest], SendResult | None] = lambda _now, _request: None

    def answer(self, request: ApiRequest, now: float) -> SendResult:
        """Do what a request says; the garbage collector has been there just before."""
        owners = (self.config_map or {"metadata": {}})["metadata"].get("ownerReferences") or ()
        if any(owner["uid"] != self.uid for owner in owners):
            self.config_map = None
        self.asked.append((now, request.purpose))
        if refused := self.refusal(now, request):
            return refused
        body = json.loads(request.body) if request.body else {}
        match request.purpose:
            case "node":
                return (
                    SendResult(200, {"metadata": {"uid": self.uid}})
                    if self.uid
                    else SendResult(404, said="no such node")
                )
            case "read" | "check":
                return SendResult(404) if self.config_map is None else SendResult(200, self.config_map)
            case "write":
                status = 201 if self.config_map is None else 200
                self.put(body)
                assert self.config_map is not None
                return SendResult(status, self.config_map)
            case "heartbeat":
                self.renewals.append(body["spec"]["renewTime"])
            case "label":
                self.labels = body["metadata"]["labels"] if body["kind"] == "Node" else body["spec"]["labels"]
        return SendResult(200, {"metadata": {"uid": "x"}})

    def put(self, config_map: dict[str, Any]) -> None:
        """Store a ConfigMap under a new version."""
        self.version += 1
        metadata = {**config_map["metadata"], "uid": "c", "resourceVersion": str(self.version)}
        self.config_map = {**config_map, "metadata": metadata}

    @property
    def text(self) -> str:
        """The document that is there."""
        return "" if self.config_map is None else str(self.config_map["data"][DATA_KEY])

    def count(self, purpose: Purpose, *, since: float = 0.0) -> int:
        """Count the requests for a purpose."""
        return sum(1 for at, each in self.asked if each == purpose and at >= since)


@dataclass
class Clock:
    """A clock that stands still until a test moves it."""

    seconds: float = 0.0

    @property
    def now(self) -> Instant:
        """This moment."""
        return Instant(self.seconds, BEGAN + timedelta(seconds=self.seconds))


def drive(publisher: Publisher, server: Server, clock: Clock, seconds: float) -> None:
    """Let time pass as a loop would: from one thing to do to the next."""
    end = clock.seconds + seconds
    while True:
        for _ in range(20):
            request = publisher.next_request(clock.now)
            if request is None:
                break
            publisher.receive(request, server.answer(request, clock.seconds), clock.now)
        else:
            raise AssertionError(f"a loop at {clock.seconds}: {server.asked[-20:]}")
        if publisher.next_at() > end:
            clock.seconds = end
            return
        clock.seconds = max(clock.seconds, publisher.next_at())

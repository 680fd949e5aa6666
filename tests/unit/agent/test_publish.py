"""The agent's loop between two looks: the requests of one round, with a clock and a server that follow a script."""

from datetime import timedelta
from itertools import islice
from math import inf
from typing import Any

import pytest

from api_server import BEGAN, Clock, Server, drive
from podberth.agent.api_requests import ApiRequest, SendResult
from podberth.agent.publish import publish, pump
from podberth.agent.publisher import Instant, Publisher
from podberth.agent.watch import DeviceWatch
from podberth.errors import DeviceError
from podberth.telemetry.log import Level
from podberth.topology.codec import DATA_KEY
from podberth.topology.node import NodeTopology

LABELS = {"podberth.io/link-shape": "none"}
# What ``agent.api`` waits for a connection and an answer, both together.
SLOWEST_ANSWER_SECONDS = 25.0


def document(text: str) -> dict[str, Any]:
    return {"data": {DATA_KEY: text}}


def test_an_api_server_that_hangs_is_asked_once_for_each_thing_before_the_devices_are_looked_at_again() -> None:
    """Each try takes longer than the other's wait before its next try: without a bound this never ends."""
    made, server, clock = Publisher("n", draw=lambda: 0.5, labels="own"), Server(), Clock()
    made.offer(document("{}"), LABELS)
    drive(made, server, clock, 1.0)
    asked: list[str] = []

    def hang(request: ApiRequest) -> SendResult:
        asked.append(request.purpose)
        assert len(asked) < 20, asked
        clock.seconds += SLOWEST_ANSWER_SECONDS
        return SendResult(0, said="no answer")

    made.offer(document('{"a": 1}'), {**LABELS, "podberth.io/link-domain-size": "1"})
    assert pump(made, hang, lambda: clock.now) == 2
    assert asked == ["write", "label"]


def test_a_renewal_names_the_time_at_which_it_is_sent() -> None:
    made, server = Publisher("n", draw=lambda: 0.5), Server()
    moments = (Instant(float(second), BEGAN + timedelta(seconds=second)) for second in range(100))
    made.offer(document("{}"), None)
    pump(made, lambda request: server.answer(request, 0.0), lambda: next(moments))
    assert [purpose for _, purpose in server.asked] == ["node", "read", "write", "heartbeat"]
    [renewed] = server.renewals
    assert renewed > (BEGAN + timedelta(seconds=4)).strftime("%Y-%m-%dT%H:%M:%S")
    assert list(islice(moments, 1))


def playing(clock: Clock, *, ends_at: float) -> DeviceWatch:
    """Return a machine whose waiting moves a clock, until its end."""

    def wait(seconds: float) -> None:
        clock.seconds += seconds
        if clock.seconds > ends_at:
            raise DeviceError("the end")

    return DeviceWatch(NodeTopology, wait, interval_seconds=inf, now=str, say=lambda _: None)


def test_the_log_says_what_is_wrong_now_once_however_differently_a_library_words_it() -> None:
    """No answer, then one that refuses, then all is well: each is reported, because each needs another fix."""
    server, clock, said = Server(), Clock(), list[tuple[Level, str]]()

    def send(request: ApiRequest) -> SendResult:
        if clock.seconds < 60:
            return SendResult(0, said=f"no answer: <connection object at {clock.seconds:.3f}>")
        return SendResult(403, said="no rights") if clock.seconds < 600 else server.answer(request, clock.seconds)

    with pytest.raises(DeviceError, match="the end"):
        publish(
            playing(clock, ends_at=3600),
            Publisher("n", draw=lambda: 0.5),
            send,
            say=lambda level, line: said.append((level, line)),
            features=None,
            now=lambda: clock.now,
        )
    assert [(level, line.partition("; ")[0]) for level, line in said] == [
        ("warning", "Node n: got no answer: <connection object at 0.000>"),
        ("warning", "Node n: got status 403: no rights"),
        ("info", "Node n: works again"),
    ]

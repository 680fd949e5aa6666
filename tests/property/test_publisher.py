"""Whatever fails, and whatever others do: an agent ends with the newest document in place, and never asks in a loop."""

import json
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from api_server import Clock, Server, drive
from podberth.agent.api_requests import ApiRequest, SendResult
from podberth.agent.publisher import HEARTBEAT_SECONDS, Publisher
from podberth.topology.codec import DATA_KEY

LABELS = {"podberth.io/link-shape": "none"}
STATUSES = st.sampled_from([0, 401, 403, 404, 408, 409, 422, 429, 500, 503])

# What happens, and how long until the next thing does.
steps = st.tuples(
    st.one_of(
        st.tuples(st.just("offer"), st.integers(0, 3)),
        st.tuples(st.just("fail"), STATUSES),
        st.tuples(st.just("work"), st.none()),
        st.tuples(st.just("edit"), st.sampled_from(["", "{}", '{"number":1}'])),
        st.tuples(st.just("delete"), st.none()),
        st.tuples(st.just("new node"), st.integers(2, 5)),
        st.tuples(st.just("silent"), st.booleans()),
    ),
    st.floats(0, 300),
)


def document(number: int) -> dict[str, Any]:
    text = json.dumps({"number": number, "observed": "2026-01-01T00:00:00Z"}, sort_keys=True, separators=(",", ":"))
    return {"data": {DATA_KEY: text}}


def refusing(status: int, draw: Random) -> Any:
    """Refuse two in three; an answer that is lost may be of a request that was obeyed."""

    def refuse(_now: float, _request: ApiRequest) -> SendResult | None:
        return (
            SendResult(status, said="no", retry_after_seconds=draw.choice([None, 1.0]))
            if draw.random() < 0.67
            else None
        )

    return refuse


def do(server: Server, publisher: Publisher, what: str, value: Any, draw: Random) -> None:
    match what:
        case "offer":
            publisher.offer(document(value), LABELS if value else None)
        case "fail":
            server.refusal = refusing(value, draw)
        case "work":
            server.refusal = lambda _now, _request: None
        case "edit" if server.config_map is not None:
            server.put({**server.config_map, "data": {DATA_KEY: value}})
        case "delete":
            server.config_map = None
        case "new node":
            server.uid, server.config_map = f"uid-{value}", None
        case "silent":
            publisher.silent = value


@given(st.lists(steps, max_size=12), st.integers(0, 2**32))
def test_in_the_end_the_newest_document_is_in_place_and_nothing_was_asked_in_a_loop(
    happened: list[tuple[tuple[str, Any], float]], seed: int
) -> None:
    draw = Random(seed)  # noqa: S311 - a history, no secret
    server, clock = Server(), Clock()
    publisher = Publisher("n", draw=draw.random, labels="own")
    publisher.offer(document(0), LABELS)
    for (what, value), seconds in happened:
        do(server, publisher, what, value, draw)
        drive(publisher, server, clock, seconds)  # fails where more than 20 requests are sent at one moment
    server.refusal = lambda _now, _request: None
    publisher.silent = False
    publisher.offer(document(9), LABELS)
    asked, renewed = len(server.asked), len(server.renewals)
    drive(publisher, server, clock, 3 * HEARTBEAT_SECONDS)
    assert server.text == document(9)["data"][DATA_KEY]
    assert server.config_map is not None
    assert [owner["uid"] for owner in server.config_map["metadata"]["ownerReferences"]] == [server.uid]
    assert (publisher.troubles, publisher.settled, server.labels) == ({}, True, LABELS)
    assert len(server.renewals) > renewed
    assert len(server.asked) - asked < 40


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 20)), max_size=60))
def test_writes_are_six_and_then_four_a_minute_at_most_whatever_flaps(flaps: list[tuple[int, float]]) -> None:
    server, clock = Server(), Clock()
    publisher = Publisher("n", draw=lambda: 0.0)
    for number, seconds in flaps:
        publisher.offer(document(number), None)
        drive(publisher, server, clock, seconds)
        assert server.count("write") <= 6 + clock.seconds / 15

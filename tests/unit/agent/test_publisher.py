"""The state machine, with a clock and a server that follow a script."""

import json
from math import inf
from typing import Any

import pytest

from api_server import Clock, Server, drive
from podberth.agent.api_requests import ApiRequest, Purpose, SendResult
from podberth.agent.pace import Backoff
from podberth.agent.publisher import HEARTBEAT_SECONDS, Publisher
from podberth.telemetry.bucket import Bucket
from podberth.topology.codec import DATA_KEY
from podberth.topology.shapes import simulate
from podberth.wellknown import FREE_LINKED_LABEL

LABELS = {"podberth.io/link-shape": "none"}


def document(number: int, observed: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    """Return a ConfigMap of which all that counts is the number."""
    text = json.dumps({"number": number, "observed": observed}, sort_keys=True, separators=(",", ":"))
    return {"data": {DATA_KEY: text}}


def text_of(number: int) -> str:
    text: str = document(number)["data"][DATA_KEY]
    return text


def publisher(**options: Any) -> Publisher:
    return Publisher("n", draw=lambda: 0.5, **options)


def settled() -> tuple[Publisher, Server, Clock]:
    made, server, clock = publisher(), Server(), Clock()
    made.offer(document(1), LABELS)
    drive(made, server, clock, 1.0)
    return made, server, clock


def purposes(server: Server) -> list[Purpose]:
    return [purpose for _, purpose in server.asked]


def test_nothing_is_asked_before_there_is_a_document() -> None:
    made = publisher(labels="own")
    assert (made.next_at(), made.next_request(Clock().now)) == (inf, None)


def test_it_reads_before_it_writes_and_beats_when_the_document_is_there() -> None:
    _, server, _ = settled()
    assert purposes(server) == ["node", "read", "write", "heartbeat"]
    assert server.text == text_of(1)


def test_an_equal_document_is_not_written_again_whatever_its_time() -> None:
    _, server, _ = settled()
    server.asked.clear()
    again = publisher()
    again.offer(document(1, "2026-02-02T00:00:00Z"), LABELS)
    drive(again, server, Clock(), 1.0)
    assert purposes(server) == ["node", "read", "heartbeat"]
    assert again.settled


@pytest.mark.parametrize("text", ["", "{", "[]", '{"number": 1}', '{"more":1,"number":1}', text_of(2)])
def test_a_different_document_is_overwritten(text: str) -> None:
    _, server, _ = settled()
    assert server.config_map is not None
    server.put({**server.config_map, "data": {DATA_KEY: text}})
    again = publisher()
    again.offer(document(1), LABELS)
    drive(again, server, Clock(), 1.0)
    assert server.text == text_of(1)


def test_at_rest_there_is_one_small_read_and_one_write_for_each_heartbeat() -> None:
    made, server, clock = settled()
    server.asked.clear()
    drive(made, server, clock, 24 * 3600)
    mean = HEARTBEAT_SECONDS * 0.875  # a quarter of the interval, drawn in the middle
    assert set(purposes(server)) == {"check", "heartbeat"}
    assert server.count("heartbeat") == server.count("check") == int(24 * 3600 / mean)


def test_the_first_faults_are_written_at_once_and_a_flap_a_few_times_a_minute() -> None:
    made, server, clock = settled()
    server.asked.clear()
    for step in range(600):
        made.offer(document(step % 2), LABELS)
        drive(made, server, clock, 0.1)
    # Five at once, because the first document took one, and one in 15 s; never the present one.
    assert server.count("write") == 5 + 60 // 15
    made.offer(document(7), LABELS)
    drive(made, server, clock, 15.0)
    assert server.text == text_of(7)


def test_a_change_that_is_taken_back_before_it_is_written_is_not_written() -> None:
    made, server, clock = settled()
    server.asked.clear()
    made.offer(document(2), LABELS)
    made.offer(document(1), LABELS)
    drive(made, server, clock, 60.0)
    assert server.count("write") == 0


def test_the_newest_document_wins_over_one_that_is_tried_again() -> None:
    made, server, clock = settled()
    server.refusal = lambda now, request: SendResult(503) if request.purpose == "write" and now < 30.0 else None
    for number in (2, 3, 4):
        made.offer(document(number), LABELS)
        drive(made, server, clock, 5.0)
    drive(made, server, clock, 60.0)
    assert (server.text, server.version) == (text_of(4), 2)


def test_an_outage_is_met_with_ever_fewer_tries() -> None:
    made, server, clock = settled()
    server.refusal = lambda _now, _request: SendResult(0, said="no answer")
    server.asked.clear()
    made.offer(document(2), LABELS)
    drive(made, server, clock, 3600.0)
    # 0.25 s doubled up to 30 s: seven tries in half a minute, then two a minute
    assert 100 < len(server.asked) < 130
    server.refusal = lambda _now, _request: None
    drive(made, server, clock, 61.0)
    assert server.text == text_of(2)
    assert made.troubles == {}


def test_a_retry_after_is_kept() -> None:
    made, server, clock = settled()
    server.refusal = lambda now, _request: SendResult(429, retry_after_seconds=20.0) if now < 2.0 else None
    made.offer(document(2), LABELS)
    drive(made, server, clock, 60.0)
    at = [when for when, purpose in server.asked if purpose == "write"]
    assert at[2] - at[1] >= 20.0


@pytest.mark.parametrize("body", [{}, {"metadata": None}, {"metadata": {"uid": ""}}, {"login": "please"}])
def test_something_in_front_of_the_api_server_that_answers_nonsense_makes_no_loop(body: dict[str, Any]) -> None:
    made, server, clock = publisher(labels="own"), Server(), Clock()
    server.refusal = lambda now, _request: SendResult(200, body) if now < 300.0 else None
    made.offer(document(1), LABELS)
    drive(made, server, clock, 299.0)
    assert len(server.asked) < 30
    assert made.troubles["Node n"].startswith("Node n: got status 200: no object of Kubernetes; ")
    drive(made, server, clock, 62.0)
    assert (server.text, made.troubles) == (text_of(1), {})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_failure_that_a_person_has_to_fix_is_reported_and_tried_again_slowly(status: int) -> None:
    made, server, clock = publisher(), Server(), Clock()
    server.refusal = lambda _now, request: SendResult(status, said="why") if request.purpose == "write" else None
    made.offer(document(1), LABELS)
    drive(made, server, clock, 3600.0)
    assert server.count("write") <= 1 + 3600 / (HEARTBEAT_SECONDS * 0.75)
    assert server.renewals == []
    [trouble] = made.troubles.values()
    assert trouble.startswith(f"ConfigMap podberth-system/n: got status {status}: why; ")


def test_a_refusal_of_one_object_does_not_delay_the_others() -> None:
    made, server, clock = publisher(labels="own"), Server(), Clock()
    server.refusal = lambda _now, request: SendResult(403) if request.purpose in {"label", "heartbeat"} else None
    made.offer(document(1), LABELS)
    drive(made, server, clock, 1.0)
    made.offer(document(2), LABELS)
    drive(made, server, clock, 1.0)
    assert server.text == text_of(2)
    assert sorted(made.troubles) == ["Lease podberth-system/n", "labels of n"]


def test_no_heartbeat_while_the_driver_is_silent_or_the_document_cannot_be_written() -> None:
    made, server, clock = settled()
    made.silent = True
    drive(made, server, clock, 3600.0)
    assert len(server.renewals) == 1
    made.silent = False
    drive(made, server, clock, 1.0)
    assert len(server.renewals) == 2
    server.refusal = lambda _now, request: SendResult(503) if request.purpose == "write" else None
    made.offer(document(2), LABELS)
    drive(made, server, clock, 3600.0)
    assert len(server.renewals) == 2


def test_a_flapping_gpu_does_not_stop_the_heartbeat() -> None:
    made, server, clock = settled()
    for step in range(3600):
        made.offer(document(step % 2), LABELS)
        drive(made, server, clock, 0.1)
    assert len(server.renewals) >= 360 // HEARTBEAT_SECONDS


@pytest.mark.parametrize("edit", ["delete", "document", "label", "owner"])
def test_changes_by_others_are_undone_at_the_next_heartbeat(edit: str) -> None:
    made, server, clock = settled()
    assert server.config_map is not None
    if edit == "delete":
        server.config_map, server.uid = None, "uid-2"
    elif edit == "document":
        server.put({**server.config_map, "data": {DATA_KEY: text_of(3)}})
    else:
        key = {"label": "labels", "owner": "ownerReferences"}[edit]
        server.put({**server.config_map, "metadata": {**server.config_map["metadata"], key: None}})
    drive(made, server, clock, HEARTBEAT_SECONDS)
    found = server.config_map
    assert found is not None
    metadata = found["metadata"]
    assert (server.text, metadata["labels"]) == (text_of(1), {"podberth.io/topology": "v1"})
    assert [owner["uid"] for owner in metadata["ownerReferences"]] == [server.uid]


def test_a_foreign_annotation_is_looked_at_once_and_left() -> None:
    made, server, clock = settled()
    assert server.config_map is not None
    server.put(server.config_map)
    server.asked.clear()
    drive(made, server, clock, 4 * HEARTBEAT_SECONDS)
    assert (server.count("read"), server.count("write")) == (1, 0)


def test_labels_are_written_on_change_and_again_every_tenth_heartbeat() -> None:
    made, server, clock = publisher(labels="own"), Server(), Clock()
    made.offer(document(1), LABELS)
    drive(made, server, clock, 60.0)
    assert (server.labels, server.count("label")) == (LABELS, 1)
    made.offer(document(2), None)  # unknown now: the earlier labels stay
    drive(made, server, clock, 60.0)
    assert server.count("label") == 1
    other = {**LABELS, "podberth.io/link-domain-size": "1"}
    made.offer(document(2), other)
    drive(made, server, clock, 1.0)
    assert (server.labels, server.count("label")) == (other, 2)
    drive(made, server, clock, 11 * HEARTBEAT_SECONDS)
    assert server.count("label") == 3


def test_live_labels_are_written_with_the_others_and_on_change_only_at_a_bounded_rate() -> None:
    made, server, clock = publisher(labels="own"), Server(), Clock()
    made.offer(document(1), LABELS)
    made.live = {FREE_LINKED_LABEL: "8"}
    drive(made, server, clock, 60.0)
    assert (server.labels, server.count("label")) == ({**LABELS, FREE_LINKED_LABEL: "8"}, 1)
    for turn in range(600):
        made.live = {FREE_LINKED_LABEL: str(turn % 2)}
        drive(made, server, clock, 1.0)
    assert server.count("label") <= 1 + 6 + 600 / 15
    drive(made, server, clock, 60.0)
    assert server.labels[FREE_LINKED_LABEL] == "1"


def test_an_agent_that_ends_takes_its_live_label_along_and_no_other() -> None:
    made, server, clock = publisher(labels="own"), Server(), Clock()
    assert made.last_request() is None
    made.offer(document(1), LABELS)
    drive(made, server, clock, 1.0)
    assert made.last_request() is None
    made.live = {FREE_LINKED_LABEL: "8"}
    drive(made, server, clock, 60.0)
    last = made.last_request()
    assert last is not None
    server.answer(last, clock.seconds)
    assert server.labels == LABELS


def test_without_the_static_labels_no_live_one_is_written() -> None:
    """A write has all labels of the agent: one without the static labels would take them away."""
    made, server, clock = publisher(labels="own"), Server(), Clock()
    made.offer(document(1), None)
    made.live = {FREE_LINKED_LABEL: "8"}
    drive(made, server, clock, 60.0)
    assert (server.count("label"), made.last_request()) == (0, None)


def test_labels_of_a_node_that_is_another_one_now_are_written_to_that() -> None:
    made, server, clock = publisher(labels="own"), Server(), Clock()
    made.offer(document(1), LABELS)
    drive(made, server, clock, 1.0)
    server.uid, server.config_map = "uid-2", None

    def refuse(_now: float, request: ApiRequest) -> SendResult | None:
        old = request.purpose == "label" and json.loads(request.body or b"")["metadata"]["uid"] != server.uid
        return SendResult(409, said="Precondition failed: UID") if old else None

    server.refusal = refuse
    server.labels = {}
    made.offer(document(1), {**LABELS, "podberth.io/link-domain-size": "2"})
    drive(made, server, clock, 60.0)
    assert server.labels["podberth.io/link-domain-size"] == "2"
    assert made.troubles == {}


def test_a_heartbeat_lasts_three_intervals() -> None:
    _, server, _ = settled()
    assert server.renewals == ["2026-01-31T12:00:00.000000Z"]


def test_a_shape_published_is_as_the_shape_says() -> None:
    config_map = simulate("gb200-tray", "n")[1]
    made, server = publisher(), Server()
    made.offer(config_map, None)
    drive(made, server, Clock(), 1.0)
    assert server.config_map is not None
    assert server.config_map["data"] == config_map["data"]


def test_a_backoff_is_never_a_loop_even_where_chance_says_nought() -> None:
    backoff = Backoff(lambda: 0.0)
    now = 0.0
    for _ in range(100):
        backoff.fail(now)
        assert backoff.at - now > 0.049
        now = backoff.at
    backoff.fail(now, asked_seconds=1e9)
    assert backoff.at - now < 3600


def test_a_backoff_doubles_up_to_a_minute() -> None:
    backoff = Backoff(lambda: 0.999999)
    pauses = []
    for _ in range(30):
        backoff.fail(0.0)
        pauses.append(round(backoff.at, 3))
    assert pauses[:8] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]
    assert set(pauses[8:]) == {60.0}
    backoff.succeed()
    assert not backoff.failing


def test_a_bucket_gives_its_tokens_and_then_one_each_period() -> None:
    bucket = Bucket(3, 10.0)
    taken = []
    now = 100.0
    for _ in range(6):
        now = max(now, bucket.at)
        bucket.take(now)
        taken.append(now)
    assert taken == [100.0, 100.0, 100.0, 110.0, 120.0, 130.0]

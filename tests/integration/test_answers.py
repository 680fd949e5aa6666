"""The answers of the review port to reviews, and to everything else that a client may send."""

import asyncio
import json
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp
import pytest

from builders import gpu_pod, review, review_text
from integration.serving import Connection, Serving, admit, body, post, run, serving, until, until_reached
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest
from podberth.admission.snapshot import Snapshot
from podberth.errors import ReviewError
from podberth.kube.review_limits import MAX_TEXT_BYTES
from podberth.port.byte_budget import LEVELS, PARSED_PER_BYTE, MemoryBudget
from podberth.server.body import MOST_READ_BYTES

_EIGHT_MIB = 8 * 1024 * 1024


def test_review_is_answered_with_its_uid(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            answer = await server.ask(post(body("u-17"), "/validate?timeout=10s"))
            assert (answer.status, answer.uid, answer.closes) == (200, "u-17", False)
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["date"].endswith("GMT")
            assert answer.document["kind"] == "AdmissionReview"
            assert answer.document["apiVersion"] == "admission.k8s.io/v1"

    run(test)


def test_each_review_is_one_line_and_one_observation(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            await server.ask(post(body("u-1", dryRun=True, name="", userInfo={"username": "ann"})))
            [line] = server.reviews()
            del line["time"], line["duration_ms"]
            assert line == {
                "level": "info",
                "msg": "review",
                "path": "/mutate",
                "uid": "u-1",
                "operation": "CREATE",
                "kind": "Pod",
                "namespace": "default",
                "name": "train",
                "user": "ann",
                "dry_run": True,
                "verdict": "allowed",
                "code": 200,
                "policies": ["nothing"],
                "patch_ops": 0,
            }
            text = server.metrics.exposition().decode()
            counted = 'podberth_admission_requests_total{operation="CREATE",path="/mutate",verdict="allowed"} 1.0'
            assert counted in text
            assert 'podberth_admission_duration_seconds_count{path="/mutate"} 1.0' in text
            assert 'podberth_policy_decisions_total{policy="nothing",verdict="skip"} 1.0' in text
            assert "podberth_admission_in_flight 0.0" in text

    run(test)


_V1 = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
_REFUSED: list[tuple[str, bytes, int, str]] = [
    ("no body", post(b""), 400, "body: got nothing"),
    ("text", post(b"hello"), 400, "body: not JSON"),
    ("cut JSON", post(b'{"kind": "AdmissionReview"'), 400, "body: not JSON"),
    ("invalid UTF-8", post(b'{"kind": "\xff\xfe"}'), 400, "body: not JSON"),
    ("half a surrogate pair", post(b'{"kind": "\\ud800"}'), 400, "body: not JSON"),
    ("deep nesting", post(b"[" * 30_000 + b"]" * 30_000), 400, "body: not JSON"),
    ("deeper nesting", post(b"[" * 100_000 + b"]" * 100_000), 413, "it has no head that can be read alone"),
    ("a number beyond all", post(b'{"a": 1e999999}'), 400, ""),
    ("huge integer", post(b'{"request": ' + b"9" * 400 + b"}"), 400, ""),
    ("null", post(b"null"), 400, "got null, want an object"),
    ("list", post(b"[]"), 400, "got list, want an object"),
    ("another kind", post(json.dumps({**_V1, "kind": "Pod"}).encode()), 400, "'Pod'"),
    ("v1beta1", post(body().replace(b"k8s.io/v1", b"k8s.io/v1beta1", 1)), 400, "admission.k8s.io/v1beta1"),
    ("no request", post(json.dumps(_V1).encode()), 400, "request: got null"),
    ("no uid", post(body("")), 400, "request.uid: got an empty string"),
    ("uid that is a number", post(body().replace(b'"u-1"', b"17")), 400, "uid: got int"),
    ("unknown operation", post(body(operation="PATCH")), 400, "'PATCH'"),
    ("media type", post(body(), headers={"Content-Type": "application/yaml"}), 415, "application/yaml"),
    ("no media type", post(body(), headers={"Content-Type": ""}), 415, "want application/json"),
    ("compressed", post(b"\x1f\x8b\x08", headers={"Content-Encoding": "gzip"}), 415, "gzip"),
    ("another path", post(body(), "/mutate/"), 404, "'/mutate/'"),
    ("a media type of no characters", post(body(), headers={"Content-Type": "\udcff"}), 415, "got '"),
    ("an absolute target", post(body(), "http://localhost/mutate"), 404, ""),
]


@pytest.mark.parametrize(("request_", "status", "message"), [row[1:] for row in _REFUSED], ids=[r[0] for r in _REFUSED])
def test_a_body_that_is_no_review_gets_a_status_with_a_reason(
    tmp_path: Path, request_: bytes, status: int, message: str
) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            answer = await connection.ask(request_)
            assert answer.status == status
            document = answer.document
            assert (document["kind"], document["status"], document["code"]) == ("Status", "Failure", status)
            assert message in document["message"]
            assert "Traceback" not in answer.content.decode()
            assert len(answer.content) < 1000
            [line] = server.reviews()
            assert (line["code"], line["verdict"], line["level"]) == (status, "error", "warning")
            # The connection can carry a review, because the whole body was read.
            assert (await connection.ask(post(body("next")))).uid == "next"

    run(test)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_post_is_allowed(tmp_path: Path, method: str) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            answer = await server.ask(f"{method} /mutate HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert (answer.status, answer.headers["allow"]) == (405, "POST")

    run(test)


def test_answer_to_head_has_no_body(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            await connection.send(b"HEAD /mutate HTTP/1.1\r\nHost: localhost\r\n\r\n")
            head = await connection.reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 405 ")
            assert (await connection.ask(post(body("next")))).uid == "next"

    run(test)


def test_a_request_that_is_no_http_gets_400(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            answer = await connection.ask(b"\x16\x03\x01 what is this\r\n\r\n")
            assert answer.status == 400
            assert b"Traceback" not in answer.content
            assert await connection.reader.read() == b""

    run(test)


def test_body_with_a_length_above_the_cap_gets_413_unread(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            await connection.send(post(b"", headers={"Content-Length": str(MOST_READ_BYTES + 1)}))
            answer = await connection.answer()
            assert (answer.status, answer.closes) == (413, True)
            assert f"want {MOST_READ_BYTES} bytes at most" in answer.document["message"]

    run(test)


def test_of_a_review_above_the_cap_the_ends_are_kept_and_it_is_decided_on(tmp_path: Path) -> None:
    decided: list[AdmissionRequest] = []

    def see(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
        decided.append(request)
        return admit(request, snapshot)

    async def test() -> None:
        # In a budget that has no room for a whole one.
        budget = MemoryBudget({**LEVELS, "unproven bodies": 1_000_000, "bodies": 1_000_000})
        async with serving(tmp_path, see, budget=budget) as server, server.connect() as connection:
            large = review_text(review(gpu_pod(annotations={"a": "<" * _EIGHT_MIB}), uid="u-8", dryRun=True))
            answer = await connection.ask(post(large))
            assert (answer.status, answer.uid, answer.closes) == (200, "u-8", False)
            assert (decided[0].unparsed, decided[0].object, decided[0].dry_run) == (True, {}, True)
            assert decided[0].excess.endswith(f"got {len(large):,} bytes, want {MAX_TEXT_BYTES:,} at most")
            assert (await connection.ask(post(body("next")))).uid == "next"
            assert budget.used["bodies"] == 0

    run(test)


async def _send_chunks(connection: Connection, content: bytes, size: int = 65_536) -> None:
    await connection.send(post(b"", headers={"Content-Length": "", "Transfer-Encoding": "chunked"}))
    try:
        for start in range(0, len(content), size):
            part = content[start : start + size]
            await connection.send(b"%x\r\n%b\r\n" % (len(part), part))
        await connection.send(b"0\r\n\r\n")
    except ConnectionError:
        return  # the server may close on what it will not read


def test_body_in_chunks_above_the_cap_gets_413(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            sending = asyncio.create_task(_send_chunks(connection, b" " * _EIGHT_MIB))
            answer = await connection.answer()
            assert (answer.status, answer.closes) == (413, True)
            await sending

    run(test)


def test_large_review_in_chunks_is_decided(tmp_path: Path) -> None:
    async def test() -> None:
        padded = body("large") + b" " * (3 * 1024 * 1024)
        async with serving(tmp_path) as server, server.connect() as connection:
            sending = asyncio.create_task(_send_chunks(connection, padded))
            assert (await connection.answer()).uid == "large"
            await sending
            assert (await connection.ask(post(body("next")))).uid == "next"

    run(test)


def test_bodies_in_parts_share_a_bound(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            serving(tmp_path, budget=MemoryBudget({**LEVELS, "unproven bodies": 400_000})) as server,
            server.connect() as first,
            server.connect() as second,
        ):
            whole = post(b" " * 80_000 + body("u-1"))
            await first.send(whole[:70_000])
            await until("the first body is being read", lambda: _in_flight(server, 1))
            await second.send(whole[:70_000])
            answer = await second.answer()
            assert (answer.status, answer.closes) == (503, True)
            assert answer.headers["retry-after"] == "1"
            await first.send(whole[70_000:])
            assert (await first.answer()).uid == "u-1"

    run(test)


def test_a_review_for_whose_document_there_is_no_memory_is_asked_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            serving(tmp_path, budget=MemoryBudget({**LEVELS, "documents": 1_000_000})) as server,
            server.connect() as connection,
        ):
            answer = await connection.ask(post(body("u-1") + b" " * 40_000))
            assert (answer.status, answer.headers["retry-after"], answer.closes) == (503, "1", False)
            assert "no memory for its document" in answer.document["message"]
            # The connection can carry a smaller review, which has room.
            assert (await connection.ask(post(body("u-2")))).uid == "u-2"

    run(test)


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_a_review_that_is_too_dense_is_decided_without_a_document(tmp_path: Path, operation: str) -> None:
    decided: list[AdmissionRequest] = []

    def see(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
        decided.append(request)
        return admit(request, snapshot)

    dense: dict[str, Any] = {"spec": {"tolerations": [{}] * 500_000}}
    document = json.loads(body("dense", operation=operation))
    document["request"] |= {"object": dense} | ({"oldObject": dense} if operation == "UPDATE" else {})
    content = review_text(document)

    async def test() -> None:
        # A parsed document of this size would be charged 48 MB.
        async with serving(tmp_path, see, budget=MemoryBudget({**LEVELS, "documents": 1_000_000})) as server:
            assert (await server.ask(post(content))).uid == "dense"
            [request] = decided
            assert "the review is too large to be decided on" in request.excess

    run(test)


def test_expect_continue_is_answered_before_the_body_is_read(tmp_path: Path) -> None:
    async def test() -> None:
        request = post(body("u-1"), headers={"Expect": "100-continue"})
        head, _, content = request.partition(b"\r\n\r\n")
        async with serving(tmp_path) as server, server.connect() as connection:
            await connection.send(head + b"\r\n\r\n")
            assert await connection.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            assert (await connection.ask(content)).uid == "u-1"

    run(test)


def test_http_1_0_is_answered_and_closed(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            answer = await connection.ask(post(body("old")).replace(b"HTTP/1.1", b"HTTP/1.0"))
            assert (answer.uid, answer.closes) == ("old", True)
            assert await connection.reader.read() == b""

    run(test)


def test_kept_alive_connection_carries_many_reviews(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            for number in range(50):
                assert (await connection.ask(post(body(f"u-{number}")))).uid == f"u-{number}"

    run(test)


def test_pipelined_reviews_are_answered_in_order(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            await connection.send(b"".join(post(body(f"u-{number}")) for number in range(100)))
            assert [(await connection.answer()).uid for _ in range(100)] == [f"u-{number}" for number in range(100)]

    run(test)


def test_dribbling_clients_block_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        slow = post(body("slow"))
        async with serving(tmp_path) as server, server.connect() as headers, server.connect() as content:
            await headers.send(slow[:20])
            await content.send(slow[:-20])
            await until("a body is being read", lambda: _in_flight(server, 1))
            assert (await server.ask(post(body("fast")))).uid == "fast"
            assert (await headers.ask(slow[20:])).uid == "slow"
            assert (await content.ask(slow[-20:])).uid == "slow"

    run(test)


def test_body_that_does_not_come_in_time_gets_408(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            answer = await connection.ask(post(body(), "/mutate?timeout=50ms")[:-20])
            assert (answer.status, answer.closes) == (408, True)

    run(test)


@pytest.mark.parametrize("padding", [0, 100_000], ids=["small", "large"])
def test_a_document_is_charged_until_nobody_holds_it(tmp_path: Path, padding: int) -> None:
    budget = MemoryBudget()
    charged: list[int] = []

    async def test() -> None:
        async with serving(tmp_path, budget=budget) as server, server.connect() as connection:
            recorder = server.metrics.request
            server.metrics.request = lambda *given: (charged.append(budget.used["documents"]), recorder(*given))  # type: ignore[method-assign,assignment,func-returns-value]
            content = body("u-1", options={"padding": "x" * padding})
            assert (await connection.ask(post(content))).uid == "u-1"
            await until_reached("it is recorded", lambda: charged, lambda: None)
            assert charged == [PARSED_PER_BYTE * len(content)]
            await until_reached("nothing is held", lambda: not budget.used["documents"], lambda: budget.used)

    run(test)


def test_client_that_leaves_in_the_middle_costs_one_line(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            async with server.connect() as connection:
                await connection.send(post(body())[:-20])
                await until("the body is being read", lambda: _in_flight(server, 1))
            await until("it is over", lambda: _in_flight(server, 0))
            await until_reached("it is reported", server.reviews, lambda: server.log.lines)
            [line] = server.reviews()
            assert (line["code"], line["verdict"]) == (400, "error")
            assert "broken off" in line["error"]

    run(test)


def test_bug_in_a_decision_is_500_with_the_uid_and_a_traceback_in_the_log_only(tmp_path: Path) -> None:
    def broken(_: AdmissionRequest, __: Snapshot) -> Outcome:
        raise KeyError("spec")

    async def test() -> None:
        async with serving(tmp_path, broken) as server, server.connect() as connection:
            answer = await connection.ask(post(body("u-9")))
            assert answer.status == 500
            assert answer.document["message"].startswith("podberth: review u-9: a bug in podberth")
            assert b"KeyError" not in answer.content
            bug, line = server.log.lines
            assert (bug["msg"], bug["uid"], bug["error"]) == ("bug", "u-9", "KeyError: 'spec'")
            assert "Traceback" in bug["traceback"]
            assert (line["msg"], line["uid"], line["code"]) == ("review", "u-9", 500)

    run(test)


def test_a_refusal_of_the_core_is_answered_with_its_status(tmp_path: Path) -> None:
    def refusing(_: AdmissionRequest, __: Snapshot) -> Outcome:
        raise ReviewError(400, "spec.containers: got str, want list")

    async def test() -> None:
        async with serving(tmp_path, refusing) as server:
            answer = await server.ask(post(body("u-9")))
            assert (answer.status, answer.document["message"]) == (400, "podberth: spec.containers: got str, want list")

    run(test)


def test_review_whose_turn_comes_too_late_is_not_decided(tmp_path: Path) -> None:
    decided: list[str] = []

    def slow(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
        decided.append(request.uid)
        over = perf_counter() + (0.2 if request.uid == "u-1" else 0)
        while perf_counter() < over:  # as a decision does, it keeps the loop from turning
            pass
        return admit(request, snapshot)

    async def test() -> None:
        async with serving(tmp_path, slow) as server, server.connect() as first, server.connect() as second:
            # Handshakes are over on both sides.
            await first.ask(post(body()))
            await second.ask(post(body()))
            # Both are written before the loop, which is the server's as well, reads them.
            first.writer.write(post(body("u-1"), "/mutate?timeout=30s"))
            second.writer.write(post(body("u-2"), "/mutate?timeout=100ms"))
            assert (await first.answer()).uid == "u-1"
            late = await second.answer()
            assert (late.status, late.closes) == (504, False)
            assert "no turn within 0.09 s" in late.document["message"]
            assert "u-2" not in decided

    run(test)


def test_before_anything_is_loaded_the_answer_is_503(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            server.state.snapshot = None
            assert (await server.ask(post(body()))).status == 503

    run(test)


def test_a_thousand_reviews_at_once_each_get_their_own_uid(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            connector = aiohttp.TCPConnector(limit=100, ssl=server.client_context())
            url = f"https://localhost:{server.address.port}/mutate?timeout=30s"
            async with aiohttp.ClientSession(connector=connector) as session:

                async def ask(uid: str) -> str:
                    headers = {"Content-Type": "application/json"}
                    async with session.post(url, data=body(uid), headers=headers) as answer:
                        document: dict[str, Any] = await answer.json()
                        return str(document["response"]["uid"])

                uids = [f"u-{number}" for number in range(1000)]
                assert await asyncio.gather(*map(ask, uids)) == uids
            assert sorted(line["uid"] for line in server.reviews()) == sorted(uids)

    run(test)


async def _in_flight(server: Serving, count: int) -> bool:
    return server.state.in_flight == count

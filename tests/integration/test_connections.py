"""The limits of a connection: size and time of headers, places, unread answers; and answers without a banner."""

import asyncio
from pathlib import Path

import pytest

from hostile_callers import ATTACKS, Callers
from integration.process import serve
from integration.serving import Connection, body, post, run, serving, until_reached
from podberth.port import connection as bounds
from podberth.port import slots
from podberth.port.byte_budget import MemoryBudget

_HEAD = b"POST /mutate HTTP/1.1\r\nHost: localhost\r\n"
_MALFORMED = (b"\x16\x03\x01 what is this\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"GET / HTTP/1.1\r\nA B: c\r\n\r\n")


async def _end(connection: Connection) -> bytes:
    """Read the rest."""
    async with asyncio.timeout(30):
        return await connection.reader.read()


def test_headers_above_their_bound_get_431(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            await connection.send(_HEAD + b"X: %b\r\n" % (b"x" * 6_000) * 4)
            assert (await _end(connection)).startswith(b"HTTP/1.1 431 ")

    run(test)


def test_headers_below_their_bound_are_read(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            assert (await server.ask(post(body("u-1"), headers={"X": "x" * 8_000}))).uid == "u-1"

    run(test)


@pytest.mark.parametrize("before", [b"", post(body("u-1")), post(body("u-1")) * 2], ids=["first", "next", "pipelined"])
def test_headers_that_do_not_end_in_their_time_get_408(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    monkeypatch.setattr(bounds, "HEAD_SECONDS", 0.05)

    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            await connection.send(before + _HEAD)
            for _ in range(before.count(b"POST ")):
                assert (await connection.answer()).uid == "u-1"
            assert (await _end(connection)).startswith(b"HTTP/1.1 408 ")

    run(test)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_connection_that_has_asked_stays_however_its_request_was_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    monkeypatch.setattr(bounds, "HEAD_SECONDS", 0.05)
    content = body("u-1")
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)
    headers = {"Content-Length": "", "Transfer-Encoding": "chunked"}
    request = post(b"", headers=headers) + chunks if chunked else post(content)
    head = request.index(b"\r\n\r\n")

    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            for cut in (len(request), head, head + 2, head + 4, head + 40, len(request) - 2):
                await connection.send(request[:cut])
                await asyncio.sleep(0.01)
                await connection.send(request[cut:])
                assert (await connection.answer()).uid == "u-1"
            [open_one] = server.port._web.connections
            assert open_one._head_timer is None  # type: ignore[attr-defined]

    run(test)


@pytest.mark.parametrize("path", ["/mutate", "/nothing"])
def test_a_body_in_tiny_chunks_is_not_read(tmp_path: Path, path: str) -> None:
    """Fifty callers with a body in chunks of one byte kept reviews waiting for twenty seconds."""
    headers = {"Content-Length": "", "Transfer-Encoding": "chunked"}

    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            await connection.send(post(b"1\r\n \r\n" * 2_000, path, headers=headers))
            assert b"HTTP/1.1 400 " in await _end(connection)
            assert (await server.ask(post(body("u-1")))).uid == "u-1"

    run(test)


def test_a_large_body_in_chunks_is_read(tmp_path: Path) -> None:
    content = body("u-1") + b" " * 2_000_000
    chunks = b"".join(b"200\r\n%b\r\n" % content[at : at + 512].ljust(512) for at in range(0, len(content), 512))
    headers = {"Content-Length": "", "Transfer-Encoding": "chunked"}

    async def test() -> None:
        async with serving(tmp_path) as server:
            assert (await server.ask(post(chunks + b"0\r\n\r\n", headers=headers))).uid == "u-1"

    run(test)


def test_headers_behind_a_request_are_bounded_too(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            await connection.send(post(body("u-1")) + _HEAD + b"X: %b\r\n" % (b"x" * 6_000) * 4)
            assert (await connection.answer()).uid == "u-1"
            assert not (await _end(connection)).startswith(b"HTTP/1.1 2")

    run(test)


def test_newcomers_take_the_places_of_those_who_have_asked_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "GRACE_SECONDS", 0.0)

    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as known:
            server.port.places._most = 3
            assert (await known.ask(post(body("u-1")))).uid == "u-1"
            async with server.connect() as idle, server.connect() as begun:
                await begun.send(_HEAD)
                await until_reached("three", lambda: len(server.port.places) == 3, lambda: None)
                assert (await server.ask(post(body("u-2")))).uid == "u-2"
                assert await _end(idle) == b""
                async with server.connect() as another:
                    assert (await another.ask(post(body("u-3")))).uid == "u-3"
                    async with server.connect() as last:
                        assert (await last.ask(post(body("u-4")))).uid == "u-4"
                        farewell = await _end(begun)
                        assert farewell.startswith(b"HTTP/1.1 503 ")
                        assert b"Retry-After: 1\r\n" in farewell
            assert (await known.ask(post(body("u-5")))).uid == "u-5"

    run(test)


def test_a_newcomer_without_a_place_waits_for_one(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            server.port.places._most = 1
            async with server.connect() as first:
                assert (await first.ask(post(body("u-1")))).uid == "u-1"
                waiting = asyncio.create_task(server.ask(post(body("u-2"))))
                await until_reached("it waits", lambda: server.port._waiting, lambda: None)
                assert not waiting.done()
            assert (await waiting).uid == "u-2"

    run(test)


def test_a_caller_that_reads_no_answers_is_not_asked_for_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "UNREAD_SECONDS", 0.5)

    async def test() -> None:
        async with serving(tmp_path) as server, server.connect() as connection:
            connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
            asking = asyncio.create_task(_ask_on(connection))
            await until_reached("it is ended", lambda: not server.port._web.connections, lambda: None)
            asking.cancel()
            # 250 bytes an answer: the kernel's buffers at both ends, and one of podberth's.
            assert server.port._web.requests_count < 100_000

    run(test)


async def _ask_on(connection: Connection) -> None:
    while True:
        await connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: str(attack.__name__))
def test_all_memory_comes_back_when_hostile_callers_leave(tmp_path: Path, attack: object) -> None:
    async def test() -> None:
        budget = MemoryBudget()
        async with serving(tmp_path, budget=budget) as server:
            callers = Callers(*server.address, server.client_context())
            await callers.attack({attack: 5})  # type: ignore[dict-item]
            await callers.close()
            await until_reached("nothing is held", lambda: not any(budget.used.values()), lambda: budget.used)
            assert len(server.port.places) == 0
            assert [line["msg"] for line in server.log.lines if line["msg"] != "review"] == []

    run(test)


@pytest.mark.parametrize("request_", [*_MALFORMED, post(body()), post(b""), b"GET / HTTP/1.1\r\n\r\n"])
def test_no_answer_names_the_software(tmp_path: Path, request_: bytes) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            answer = await server.ask(request_)
            assert "server" not in answer.headers
            assert b"ython" not in answer.content

    run(test)


def test_no_answer_of_the_port_of_probes_names_the_software(tmp_path: Path) -> None:
    async def test() -> None:
        async with serve(tmp_path) as served:
            for path in ("/livez", "/readyz", "/metrics", "/nothing"):
                assert "server" not in (await served.probe(path)).headers, path
            for request in (*_MALFORMED, b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"):
                connection = Connection(*await asyncio.open_connection(served.host, served.metrics_port))
                answer = await connection.ask(request)
                await connection.close()
                assert "server" not in answer.headers
                assert answer.status == 400

    run(test)

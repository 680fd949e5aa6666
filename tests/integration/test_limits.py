"""One object that the API server sends without end, or never, over real HTTP."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread

import pytest

from integration.scripted import Step, scripted, status, stream
from integration.serving import NAMES, run, until_reached, write_kubeconfig
from podberth.api.client import ClusterClient
from podberth.api.protocol import AnswerLimits, Timing
from podberth.errors import ClusterError
from podberth.kube.api_path import collection_path
from podberth.server.port_tls import PortTls, read_pair
from podberth.server.self_signed import ensure

LIMITS = AnswerLimits(seconds=30.0, most_bytes=1000)
PATH = collection_path("batch/v1", "jobs", "team").below("train")
Ask = Callable[[ClusterClient, AnswerLimits], Awaitable[bytes]]


async def _get(client: ClusterClient, limits: AnswerLimits) -> bytes:
    return await client.get(PATH, {}, limits)


async def _send(client: ClusterClient, limits: AnswerLimits) -> bytes:
    return await client.send("POST", PATH, {}, limits=limits)


def asked(directory: Path, step: Step, ask: Ask, limits: AnswerLimits) -> bytes:
    """Send one request to a server with that answer."""

    async def run() -> bytes:
        async with scripted(directory, step) as server:
            client = ClusterClient(server.kubeconfig, Timing())
            try:
                return await ask(client, limits)
            finally:
                await client.reset()

    return asyncio.run(run())


@pytest.mark.parametrize("ask", [_get, _send])
def test_an_answer_longer_than_any_object_is_not_read_to_its_end(tmp_path: Path, ask: Ask) -> None:
    """The server goes on for ever after it, so a reader that waited for its end would run into the time limit."""
    with pytest.raises(ClusterError) as caught:
        asked(tmp_path, stream(b"x" * 600, b"x" * 600), ask, LIMITS)
    assert caught.value.reason == "garbled"
    assert str(caught.value).endswith(f"{PATH}: got more than 1000 bytes, want one object of the API; see what it is")


@pytest.mark.parametrize("ask", [_get, _send])
def test_an_answer_of_the_allowed_length_is_read(tmp_path: Path, ask: Ask) -> None:
    assert asked(tmp_path, stream(b"x" * 600, b"x" * 400, then="end"), ask, LIMITS) == b"x" * 1000


@pytest.mark.parametrize("ask", [_get, _send])
def test_an_answer_that_is_too_late_is_lost(tmp_path: Path, ask: Ask) -> None:
    with pytest.raises(ClusterError, match="no answer in time; try again") as caught:
        asked(tmp_path, stream(b"x"), ask, AnswerLimits(seconds=0.05))
    assert caught.value.reason == "lost"


def test_a_refusal_is_read_to_its_end(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="got 409 taken") as caught:
        asked(tmp_path, status(409, message="taken"), _get, LIMITS)
    assert caught.value.status == 409


HEAD = b"HTTP/1.1 %s\r\nContent-Length: 100\r\n\r\n"


@contextmanager
def silent(directory: Path, answer: bytes) -> Iterator[tuple[Path, Event]]:
    """Serve one TLS connection from a thread: a request gets ``answer`` and nothing more, not even the end of TLS.

    The kubeconfig that leads to it, and whether a request has been answered, are yielded.
    """
    files, _ = ensure(directory, NAMES, datetime.now(UTC))
    tls = PortTls(ask_clients=False)
    _, certificate, key = read_pair(files)
    tls.show(certificate, key, str(files.certificate))
    asked, over = Event(), Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with tls.context.wrap_socket(connection, server_side=True) as peer:
            peer.recv(1)
            peer.sendall(answer)
            asked.set()
            over.wait(60)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve, args=(listener,))
        thread.start()
        url = f"https://localhost:{listener.getsockname()[1]}"
        try:
            yield write_kubeconfig(directory, url, {"token": "t"}, directory / "ca.crt"), asked
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize("answer", [b"", HEAD % b"200 OK", HEAD % b"500 Internal Server Error"])
def test_a_cancelled_request_leaves_no_connection_to_the_end_of_the_loop(tmp_path: Path, answer: bytes) -> None:
    """A connection that is still open when uvloop's loop is closed is a warning there, and an error here."""
    with silent(tmp_path, answer) as (kubeconfig, asked):

        async def test() -> None:
            client = ClusterClient(kubeconfig, Timing())
            request = asyncio.create_task(client.get(PATH, {}))
            await until_reached("a request", asked.is_set, lambda: None)
            await asyncio.sleep(0.1)  # the client reads the head of the answer, and waits for the rest
            request.cancel()
            await asyncio.gather(request, return_exceptions=True)
            await client.reset()

        run(test)

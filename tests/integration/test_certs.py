"""``podberth certs`` while the API server, or podberth, is gone for a short time during a rotation."""

import asyncio
import base64
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from integration.scripted import Step, scripted, status
from integration.serving import run
from podberth.cli.main import main
from podberth.pki.authorities import SECRET_KEY, Authorities, encode
from podberth.pki.issue import issue_leaf, living
from podberth.pki.rotation import new_signer, rotated

LIFE, LEAF_LIFE = timedelta(days=365), timedelta(days=1)


def secret(authorities: Authorities) -> Step:
    """Answer with the Secret."""

    async def step(_: web.Request) -> web.StreamResponse:
        data = {SECRET_KEY: base64.b64encode(encode(authorities)).decode()}
        return web.json_response({"kind": "Secret", "metadata": {"resourceVersion": "1"}, "data": data})

    return step


def waited(directory: Path, *then: Step, wait: str = "60s") -> int:
    """Rotate with a wait; ``then`` are the answers after the beginning. Return the exit code."""
    now = datetime.now(UTC)
    before = Authorities(new_signer(LIFE, LEAF_LIFE, now), None)
    under_way = rotated(before, new_signer(LIFE, LEAF_LIFE, now))

    codes: list[int] = []

    async def test() -> None:
        async with scripted(directory, secret(before), secret(under_way), secret(under_way), *then) as server:
            flags = ["--wait", wait, "--kubeconfig", str(server.kubeconfig)]
            codes.append(await asyncio.to_thread(main, ["certs", "rotate", *flags]))

    run(test)
    return codes[0]


def done() -> Step:
    return secret(Authorities(new_signer(LIFE, LEAF_LIFE, datetime.now(UTC)), None))


def test_an_api_server_that_is_away_for_a_while_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = status(404, message="no configuration")
    assert waited(tmp_path, status(503, message="restarting"), done(), none) == 0
    assert capsys.readouterr().err.splitlines()[-1].endswith(": rotated")


def test_unlisted_resources_are_reported_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert waited(tmp_path, status(503, message="restarting"), wait="3s") == 1
    assert "got 503 restarting; try again: not done in time" in capsys.readouterr().err


def test_one_that_refuses_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert waited(tmp_path, status(403, message="no rights")) == 3
    assert "got 403 no rights" in capsys.readouterr().err


@pytest.fixture
def listening_once(tmp_path: Path) -> Iterator[int]:
    """Accept one client, then stop listening."""
    now = datetime.now(UTC)
    issued = issue_leaf(new_signer(LIFE, LEAF_LIFE, now).authority, ["localhost"], living(LEAF_LIFE, now))
    pair = tmp_path / "pair.pem"
    pair.write_bytes(issued.certificate + issued.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        plain, _ = listener.accept()
        listener.close()
        # A client that leaves with a session ticket unread resets the connection.
        with suppress(OSError), context.wrap_socket(plain, server_side=True) as secured:
            secured.recv(1)

    thread = threading.Thread(target=serve)
    port: int = listener.getsockname()[1]
    thread.start()
    yield port
    thread.join()


def test_a_server_that_goes_away_between_two_looks_at_it_is_said_to_be(
    listening_once: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def test() -> None:
        async with scripted(tmp_path, status(404, message="none")) as server:
            flags = ["--kubeconfig", str(server.kubeconfig), "--connect", f"127.0.0.1:{listening_once}"]
            assert await asyncio.to_thread(main, ["certs", "status", *flags]) == 3

    run(test)
    assert "cannot be reached: [Errno 111] Connection refused; check the address" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["podberth", ":8443", "podberth:0", "podberth:65536", "::1:x"])
def test_an_impossible_address_is_a_wrong_flag(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def test() -> None:
        async with scripted(tmp_path, status(404, message="none")) as server:
            flags = ["--kubeconfig", str(server.kubeconfig), "--connect", address]
            assert await asyncio.to_thread(main, ["certs", "status", *flags]) == 2

    run(test)
    assert f"--connect: got '{address}', want HOST:PORT" in capsys.readouterr().err

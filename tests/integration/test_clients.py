"""A review port with client certificates: accepted and refused clients, and changes of the CA file."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from client_certificates import ClientAuthority
from integration.serving import Connection, Serving, body, post, run, serving, until
from podberth.errors import CertificateError
from podberth.server.port_tls import WatchedClientAuthority
from podberth.server.reload import watch
from podberth.telemetry.log import Log

_NAME = "kube-apiserver"


@asynccontextmanager
async def _connected(server: Serving, client: tuple[Path, Path] | None) -> AsyncIterator[Connection]:
    context = server.client_context()
    if client:
        context.load_cert_chain(*client)
    reader, writer = await asyncio.open_connection(
        server.address.host, server.address.port, ssl=context, server_hostname="localhost"
    )
    connection = Connection(reader, writer)
    try:
        yield connection
    finally:
        await connection.close()


async def _status(server: Serving, client: tuple[Path, Path] | None) -> int:
    """Return the status of an answer; 0 if TLS refused the client."""
    try:
        async with _connected(server, client) as connection:
            return (await connection.ask(post(body()))).status
    except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
        return 0


def _watched(server: Serving, path: Path) -> WatchedClientAuthority:
    return WatchedClientAuthority(path, server.tls, server.metrics, Log(server.log))


def test_only_a_client_with_a_certificate_of_the_authority_and_the_name_gets_an_answer(tmp_path: Path) -> None:
    ours, other = ClientAuthority(tmp_path / "ours"), ClientAuthority(tmp_path / "other")

    async def test() -> None:
        async with serving(tmp_path / "tls", clients=_NAME) as server:
            assert await _status(server, ours.issue(_NAME)) == 0  # before any authority is known
            await _watched(server, ours.file).refresh()
            assert await _status(server, None) == 0
            assert await _status(server, other.issue(_NAME)) == 0
            assert await _status(server, ours.issue("somebody")) == 403
            assert await _status(server, ours.issue(_NAME)) == 200
            expired = datetime.now(UTC) - timedelta(days=1)
            assert await _status(server, ours.issue(_NAME, expired)) == 0

    run(test)


def test_another_authority_counts_for_the_next_connection_and_a_broken_file_for_none(tmp_path: Path) -> None:
    ours, next_one = ClientAuthority(tmp_path / "ours"), ClientAuthority(tmp_path / "next")
    file = tmp_path / "clients.crt"
    file.write_bytes(ours.file.read_bytes())

    async def test() -> None:
        async with serving(tmp_path / "tls", clients=_NAME) as server:
            watched = _watched(server, file)
            await watched.refresh()
            watching = asyncio.create_task(watch([watched], 0.01, server.metrics, Log(server.log)))
            async with _connected(server, ours.issue(_NAME)) as before:
                assert (await before.ask(post(body()))).status == 200
                file.write_bytes(next_one.file.read_bytes())

                async def exchanged() -> bool:
                    return await _status(server, next_one.issue(_NAME)) == 200

                await until("the next authority to count", exchanged)
                assert await _status(server, ours.issue(_NAME)) == 0
                assert (await before.ask(post(body("still")))).uid == "still"
            file.write_text("nothing")

            async def reported() -> bool:
                return any(line["msg"].startswith("client CA: cannot be used") for line in server.log.lines)

            await until("the broken file to be reported", reported)
            assert await _status(server, next_one.issue(_NAME)) == 200
            watching.cancel()

    run(test)


def test_the_serving_certificate_is_exchanged_for_asked_clients_too(tmp_path: Path) -> None:
    ours = ClientAuthority(tmp_path / "ours")

    async def test() -> None:
        async with serving(tmp_path / "tls", clients=_NAME) as server, serving(tmp_path / "second") as second:
            await _watched(server, ours.file).refresh()
            async with _connected(server, ours.issue(_NAME)) as before:
                pair = second.files
                server.tls.show(pair.certificate.read_bytes(), pair.key.read_bytes(), "second")
                assert (await before.ask(post(body("still")))).uid == "still"
            context = ssl.create_default_context(cafile=str(second.authority))
            context.load_cert_chain(*ours.issue(_NAME))
            reader, writer = await asyncio.open_connection(
                server.address.host, server.address.port, ssl=context, server_hostname="localhost"
            )
            connection = Connection(reader, writer)
            assert (await connection.ask(post(body("new")))).uid == "new"
            await connection.close()

    run(test)


def test_a_file_that_is_not_there_is_named_at_the_start(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "tls", clients=_NAME) as server:
            with pytest.raises(CertificateError, match=r"^--client-ca: .*nowhere: cannot be read: No such file"):
                await _watched(server, tmp_path / "nowhere").refresh()

    run(test)

"""`podberth serve` as a process: how it starts, how it leaves, and that nothing at its standard output can stop it."""

import asyncio
import contextlib
import json
import signal
import ssl
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from integration.serving import Answer, Connection, body, environment, post, run, until

_POLICIES = Path(__file__).parents[2] / "policies"


@dataclass(frozen=True, slots=True)
class Served:
    """A running `podberth serve`."""

    process: Process
    host: str
    port: int
    metrics_port: int
    authority: Path

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """Open a connection to the review port."""
        context = ssl.create_default_context(cafile=str(self.authority))
        streams = await asyncio.open_connection(self.host, self.port, ssl=context, server_hostname="localhost")
        connection = Connection(*streams)
        try:
            yield connection
        finally:
            await connection.close()

    async def probe(self, path: str) -> Answer:
        """Ask the second port."""
        connection = Connection(*await asyncio.open_connection(self.host, self.metrics_port))
        try:
            return await connection.ask(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        finally:
            await connection.close()

    async def line(self, message: str) -> dict[str, Any]:
        """Read the log up to a line with this message."""
        assert self.process.stdout is not None
        while text := await self.process.stdout.readline():
            line: dict[str, Any] = json.loads(text)
            if line["msg"] == message:
                return line
        raise AssertionError(f"the log ended before {message!r}")


def _command(directory: Path, *more: str) -> list[str]:
    anywhere = ("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
    own = ("--policies", str(_POLICIES), "--self-signed", str(directory))
    return [sys.executable, "-m", "podberth", "serve", *own, *anywhere, *more]


@asynccontextmanager
async def _served(directory: Path, *more: str) -> AsyncIterator[Served]:
    command = _command(directory, *more)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, env=environment(), limit=1 << 20)
    try:
        waiting = Served(process, "127.0.0.1", 0, 0, directory / "ca.crt")
        line = await waiting.line("serving")
        yield Served(process, line["listen"][0], line["listen"][1], line["metrics"][1], directory / "ca.crt")
    finally:
        if process.returncode is None:
            process.kill()
        # The rest of the log, so that the pipe is at its end and closed.
        await process.communicate()


def test_serving_process_is_live_ready_and_measured(tmp_path: Path) -> None:
    async def test() -> None:
        async with _served(tmp_path) as served:
            assert (await served.probe("/livez")).status == 200
            assert (await served.probe("/readyz")).status == 200
            async with served.connect() as connection:
                for path in ("/mutate", "/validate", "/validate-workload"):
                    assert (await connection.ask(post(body(path), path))).uid == path
            text = (await served.probe("/metrics")).content.decode()
            assert "podberth_policies_loaded 0.0" not in text
            assert "podberth_admission_requests_total" in text
            line = await served.line("review")
            assert (line["uid"], line["code"], line["user"]) == ("/mutate", 200, "kubernetes-admin")

    run(test)


def test_review_in_flight_survives_sigterm(tmp_path: Path) -> None:
    async def test() -> None:
        async with _served(tmp_path, "--drain-seconds", "30") as served, served.connect() as connection:
            request = post(body("in flight"))
            await connection.send(request[:-20])
            await until("it is being read", lambda: _metric(served, "podberth_admission_in_flight 1.0"))
            served.process.send_signal(signal.SIGTERM)
            await until("readiness fails", lambda: _unready(served))
            assert (await served.probe("/livez")).status == 200
            async with served.connect() as other:
                answer = await other.ask(post(body("while draining")))
                assert (answer.uid, answer.closes) == ("while draining", True)
            # A second signal ends the wait for the cluster, not the one for reviews.
            served.process.send_signal(signal.SIGTERM)
            await until("nothing is accepted any more", lambda: _refused(served))
            answer = await connection.ask(request[-20:])
            assert (answer.uid, answer.closes) == ("in flight", True)
            assert await served.process.wait() == 0

    run(test)


def test_idle_connections_do_not_hold_the_end_up(tmp_path: Path) -> None:
    async def test() -> None:
        async with _served(tmp_path, "--drain-seconds", "0") as served, served.connect() as idle:
            assert (await idle.ask(post(body("u-1")))).uid == "u-1"
            served.process.send_signal(signal.SIGTERM)
            assert await idle.reader.read() == b""
            assert await served.process.wait() == 0

    run(test)


@pytest.mark.parametrize("closed", [False, True], ids=["blocked", "closed"])
def test_log_that_nobody_reads_stops_nothing(tmp_path: Path, closed: bool) -> None:
    async def test() -> None:
        async with _served(tmp_path) as served, served.connect() as connection:
            transport = served.process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
            if closed:
                transport.close()
            else:
                transport.pause_reading()
            # Half a kilobyte each: four times what a pipe holds.
            for number in range(500):
                assert (await connection.ask(post(body(f"u-{number}")))).uid == f"u-{number}"
            if closed:
                await until("lines are counted as lost", lambda: _lost(served))
            served.process.send_signal(signal.SIGINT)
            assert await connection.reader.read() == b""
            if not closed:
                transport.resume_reading()
            assert await served.process.wait() == 0

    run(test)


def test_broken_policy_is_told_with_its_place_and_exit_code_2(tmp_path: Path) -> None:
    async def test() -> None:
        policies = tmp_path / "policies"
        policies.mkdir()
        (policies / "policy.yaml").write_text("apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {}\n")
        command = _command(tmp_path / "tls", "--policies", str(policies))
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=environment())
        _, talk = await process.communicate()
        assert process.returncode == 2
        assert f"{policies}/policy.yaml:" in talk.decode()
        assert "Traceback" not in talk.decode()

    run(test)


def test_port_that_is_taken_is_told_with_exit_code_2(tmp_path: Path) -> None:
    async def test() -> None:
        async with _served(tmp_path) as served:
            command = _command(tmp_path, "--listen", f"127.0.0.1:{served.port}")
            process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=environment())
            _, talk = await process.communicate()
            assert process.returncode == 2
            assert talk.decode().startswith(f"podberth: --listen: got 127.0.0.1:{served.port}")

    run(test)


async def _metric(served: Served, sample: str) -> bool:
    return sample in (await served.probe("/metrics")).content.decode()


async def _lost(served: Served) -> bool:
    return not await _metric(served, "podberth_log_lines_dropped_total 0.0")


async def _unready(served: Served) -> bool:
    answer = await served.probe("/readyz")
    return answer.status == 503 and answer.document == {"unready": ["draining"]}


async def _refused(served: Served) -> bool:
    try:
        _, writer = await asyncio.open_connection(served.host, served.port)
    except ConnectionRefusedError:
        return True
    writer.close()
    with contextlib.suppress(ConnectionResetError):  # the listener closed with this one in its queue
        await writer.wait_closed()
    return False

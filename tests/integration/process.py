"""A running `podberth serve`, with its own certificate, on free ports."""

import asyncio
import json
import ssl
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.serving import Answer, Connection, environment

# One of the shipped policies: all of them take a process two seconds, and are served in tests/e2e.
POLICIES = Path(__file__).parents[2] / "policies" / "gpu-tolerations"


def command(directory: Path, *more: str) -> list[str]:
    """Return the command; its certificate is in ``directory``."""
    anywhere = ("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
    own = ("--policies", str(POLICIES), "--self-signed", str(directory))
    return [sys.executable, "-m", "podberth", "serve", *own, *anywhere, *more]


@dataclass(frozen=True, slots=True)
class Served:
    """A running `podberth serve`."""

    process: Process
    host: str
    port: int
    metrics_port: int
    authority: Path

    def client_context(self) -> ssl.SSLContext:
        """Return a client's context that trusts the server's CA."""
        return ssl.create_default_context(cafile=str(self.authority))

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """Open a connection to the review port."""
        context = self.client_context()
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


@asynccontextmanager
async def serve(directory: Path, *more: str) -> AsyncIterator[Served]:
    """Run the command until the block is left."""
    arguments = command(directory, *more)
    process = await asyncio.create_subprocess_exec(*arguments, stdout=PIPE, env=environment(), limit=1 << 20)
    try:
        waiting = Served(process, "127.0.0.1", 0, 0, directory / "ca.crt")
        line = await waiting.line("serving")
        yield Served(process, line["listen"][0], line["listen"][1], line["metrics"][1], directory / "ca.crt")
    finally:
        if process.returncode is None:
            process.kill()
        # The rest of the log, so that the pipe is at its end and closed.
        await process.communicate()

"""The webhook's own handler, asked in two ways: over a connection in memory, and over TLS on loopback.

In memory everything runs but the sockets and TLS: aiohttp's parser reads the bytes of a request, the handler decodes,
decides, logs and counts, and the bytes that it writes are the answer.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import orjson
from aiohttp import web

from podberth.admission.notices import notices
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest
from podberth.admission.snapshot import Snapshot
from podberth.port.byte_budget import MemoryBudget
from podberth.port.slots import Places
from podberth.server.handler import ReviewHandler
from podberth.server.listen import ReviewPort, StampedConnection
from podberth.server.port_tls import PortTls, read_pair
from podberth.server.self_signed import ensure
from podberth.server.state import Deciders, ServingState
from podberth.settings import Address
from podberth.telemetry.line_writer import LineWriter
from podberth.telemetry.log import LibraryHandler, Log
from podberth.telemetry.metrics import Metrics
from podberth.telemetry.reviews import ReviewRecorder

_NAMES: Final = ("localhost",)
# The longest that the handler takes from a client: a fuzz on a busy machine must not be refused for being late.
_QUERY: Final = "?timeout=30s"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    content: bytes


class Faults(LineWriter):
    """The server's log, of which only what is wrong is kept."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self.dropped = 0
        self.seen: list[str] = []

    def write(self, line: bytes) -> None:
        """Keep a line of a fault; a tenant's text may hold the word, too."""
        if b"error" in line:
            fields = orjson.loads(line)
            if fields["level"] == "error" or "traceback" in fields:
                self.seen.append(str(fields.get("traceback") or fields))

    def close(self, timeout_seconds: float = 0.0) -> None:
        """Nothing is open."""

    def taken(self) -> list[str]:
        """Return what was seen since the last call."""
        found, self.seen = self.seen, []
        return found


class _MemoryTransport(asyncio.Transport):
    """What aiohttp writes to; its answers are handed on one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: asyncio.Future[Answer] | None = None
        self._written = bytearray()
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._written += data
        head, end, content = bytes(self._written).partition(b"\r\n\r\n")
        if not end or self.answer is None or self.answer.done():
            return
        lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        if len(content) >= int(lengths[0].partition(b":")[2]):
            self._written.clear()
            self.answer.set_result(Answer(int(head.split(b" ", 2)[1]), content))

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(Answer(0, b"the connection was closed without an answer"))

    abort = close

    def pause_reading(self) -> None:
        """Everything has been read already."""

    resume_reading = pause_reading


class MemoryPort:
    """One connection after the other, in memory."""

    def __init__(self, handler: ReviewHandler, budget: MemoryBudget) -> None:
        """Nothing is open yet."""
        self._server = web.Server(handler)
        self._places = Places(budget)
        self._connection: StampedConnection | None = None
        self._transport = _MemoryTransport()

    async def ask(self, path: str, body: bytes) -> Answer:
        """Send a review and return the answer; status 0: there was none."""
        if self._connection is None or self._transport.is_closing():
            self.close()
            self._transport = _MemoryTransport()
            loop = asyncio.get_running_loop()
            self._connection = StampedConnection(self._server, places=self._places, loop=loop)
            self._connection.connection_made(self._transport)
        self._transport.answer = asyncio.get_running_loop().create_future()
        self._connection.data_received(_request(path, body))
        answer = await self._transport.answer
        await asyncio.sleep(0)  # what is recorded behind the answer
        return answer

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.connection_lost(None)
            self._connection = None


class TlsPort:
    """One connection after the other, over TLS on loopback."""

    def __init__(self, address: Address, context: ssl.SSLContext) -> None:
        """Nothing is open yet."""
        self._address = address
        self._context = context
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, body: bytes) -> Answer:
        """Send a review and return the answer; status 0: there was none."""
        reader, writer = self._streams or await asyncio.open_connection(
            self._address.host, self._address.port, ssl=self._context, server_hostname=_NAMES[0]
        )
        self._streams = reader, writer
        try:
            writer.write(_request(path, body))
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").lower()
            length = head.partition("content-length:")[2].partition("\r\n")[0]
            content = await reader.readexactly(int(length))
        except (OSError, asyncio.IncompleteReadError) as error:
            await self.close()
            return Answer(0, f"no answer: {error!r}".encode())
        if "connection: close" in head:
            await self.close()
        return Answer(int(head.split(" ", 2)[1]), content)

    async def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def _request(path: str, body: bytes) -> bytes:
    head = f"POST {path}{_QUERY} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass(frozen=True, slots=True)
class Served:
    """A handler that answers from one snapshot."""

    memory: MemoryPort
    tls: TlsPort
    faults: Faults
    budget: MemoryBudget


@asynccontextmanager
async def served(snapshot: Snapshot, deciders: Deciders) -> AsyncIterator[Served]:
    """Serve a snapshot."""
    faults = Faults()
    budget = MemoryBudget()
    state = ServingState(snapshot=snapshot, certificate=True, listening=True)
    metrics = Metrics(deciders, lines_dropped=lambda: 0, in_flight=lambda: state.in_flight)
    # Without a cluster nobody reads Events; their texts are computed all the same.
    recorder = ReviewRecorder(metrics, Log(faults), {"/validate": _noticed})
    handler = ReviewHandler(deciders, state, recorder, budget)
    library = LibraryHandler(Log(faults))
    logging.getLogger().addHandler(library)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.seen.append(_fault(context)))
    memory = MemoryPort(handler, budget)
    try:
        with TemporaryDirectory(prefix="podberth-fuzz-") as folder:
            async with _over_tls(handler, budget, Path(folder)) as tls:
                yield Served(memory, tls, faults, budget)
                await tls.close()
                memory.close()
    finally:
        logging.getLogger().removeHandler(library)


@asynccontextmanager
async def _over_tls(handler: ReviewHandler, budget: MemoryBudget, folder: Path) -> AsyncIterator[TlsPort]:
    files, _ = ensure(folder, _NAMES, datetime.now(UTC))
    tls = PortTls(ask_clients=False)
    _, certificate, key = read_pair(files)
    tls.show(certificate, key, str(files.certificate))
    port = ReviewPort(handler, tls.context, budget)
    address = port.start(Address("127.0.0.1", 0))
    try:
        yield TlsPort(address, ssl.create_default_context(cafile=str(folder / "ca.crt")))
    finally:
        await port.stop()


def _noticed(request: AdmissionRequest, outcome: Outcome) -> None:
    notices(request, outcome)


def _fault(context: Mapping[str, Any]) -> str:
    return f"{context.get('message')}: {cast('object', context.get('exception'))!r}"

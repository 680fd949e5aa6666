"""A review port for tests, over real TLS on loopback, with a decider of the test; and clients for it."""

import asyncio
import json
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import uvloop

from builders import gpu_pod, review
from podberth.admission import response
from podberth.admission.outcome import Decision, Outcome
from podberth.admission.review import AdmissionRequest
from podberth.admission.snapshot import Snapshot
from podberth.port.byte_budget import MemoryBudget
from podberth.server.handler import ReviewHandler
from podberth.server.listen import ReviewPort
from podberth.server.port_tls import CertificateFiles, PortTls, read_pair
from podberth.server.self_signed import ensure
from podberth.server.state import Decider, Deciders, ServingState
from podberth.settings import Address
from podberth.telemetry.line_writer import LineWriter
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import Metrics
from podberth.telemetry.reviews import ReviewRecorder
from podberth.telemetry.traces import ReviewTracer
from snapshots import snapshot

PATHS = ("/mutate", "/validate", "/validate-workload")
NAMES = ("localhost", "127.0.0.1")
_PATIENCE_SECONDS = 60.0
Result = TypeVar("Result")


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run an async test on the loop that the server runs on, with a limit of time."""

    async def bounded() -> None:
        async with asyncio.timeout(2 * _PATIENCE_SECONDS):
            await body()

    uvloop.run(bounded())


async def until_reached(what: str, reached: Callable[[], object], seen: Callable[[], object]) -> None:
    """Poll until it is true; on a timeout the error has what is ``seen``."""

    async def ask() -> bool:
        return bool(reached())

    try:
        await until(what, ask)
    except AssertionError as error:
        raise AssertionError(f"{error}; {seen()}") from error


def write_kubeconfig(directory: Path, url: str, user: Mapping[str, str], authority: Path | None = None) -> Path:
    """Write a kubeconfig that leads to a server, for a user with these credentials."""
    trusted = {"certificate-authority": str(authority)} if authority else {}
    document = {
        "clusters": [{"name": "c", "cluster": {"server": url, **trusted}}],
        "users": [{"name": "u", "user": dict(user)}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = directory / "kubeconfig"
    path.write_text(json.dumps(document))
    return path


async def until(what: str, ask: Callable[[], Awaitable[Result | None]]) -> Result:
    """Poll until the answer is not None; the one place where tests wait."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        answer = await ask()
        if answer:
            return answer
        await asyncio.sleep(0.01)
    raise AssertionError(f"waited {_PATIENCE_SECONDS} s in vain: {what}")


def admit(request: AdmissionRequest, _: Snapshot) -> Outcome:
    """Decide nothing, as fast as possible; one policy is named."""
    return Outcome(
        response=response.allowed(request.uid),
        verdict="allowed",
        decisions=(Decision("nothing", "skip", ""),),
        patch=[],
    )


def body(uid: str = "u-1", **fields: Any) -> bytes:
    """Return a review's bytes."""
    return json.dumps(review(gpu_pod(name="train"), uid=uid, **fields)).encode()


def post(content: bytes, path: str = "/mutate", headers: Mapping[str, str] | None = None) -> bytes:
    """Return the bytes of a request; a header given as "" is left out."""
    lines = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode("utf-8", "surrogateescape") + content


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    """Headers by lower-case name."""
    content: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The body as JSON."""
        return cast("dict[str, Any]", json.loads(self.content))

    @property
    def uid(self) -> str:
        """The uid that an AdmissionReview answers."""
        return str(self.document["response"]["uid"])

    @property
    def closes(self) -> bool:
        """Whether the server said that it would close."""
        return self.headers.get("connection") == "close"


class Connection:
    """One TLS connection: the test decides what is sent, and when."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> Answer:
        """Read one answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        content = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(head[0].split(" ")[1]), headers, content)

    async def ask(self, data: bytes) -> Answer:
        """Send a request and read its answer."""
        await self.send(data)
        return await self.answer()

    @property
    def certificate(self) -> bytes:
        """The certificate that the server showed, DER."""
        tls = self.writer.get_extra_info("ssl_object")
        return cast("bytes", tls.getpeercert(binary_form=True))

    async def close(self) -> None:
        """Close."""
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except (ConnectionError, ssl.SSLError):
            return


class CapturedLines(LineWriter):
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.dropped = 0
        self.lines: list[dict[str, Any]] = []

    def write(self, line: bytes) -> None:
        self.lines.append(json.loads(line))

    def close(self, timeout_seconds: float = 0.0) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A running review port."""

    address: Address
    state: ServingState
    metrics: Metrics
    log: CapturedLines
    tls: PortTls
    files: CertificateFiles
    authority: Path
    port: ReviewPort

    def client_context(self, *, verify: bool = True) -> ssl.SSLContext:
        """Return a client's context that trusts the server's CA."""
        context = ssl.create_default_context(cafile=str(self.authority) if verify else None)
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    @asynccontextmanager
    async def connect(self, *, verify: bool = True) -> AsyncIterator[Connection]:
        """Open a connection."""
        reader, writer = await asyncio.open_connection(
            self.address.host, self.address.port, ssl=self.client_context(verify=verify), server_hostname="localhost"
        )
        connection = Connection(reader, writer)
        try:
            yield connection
        finally:
            await connection.close()

    async def ask(self, data: bytes) -> Answer:
        """Ask on a new connection."""
        async with self.connect() as connection:
            return await connection.ask(data)

    def reviews(self) -> list[dict[str, Any]]:
        """Return the log's lines of reviews."""
        return [line for line in self.log.lines if line["msg"] == "review"]


@cache
def _empty() -> Snapshot:
    """Return a snapshot without policies; the deciders of most tests never look into it."""
    return snapshot()


@asynccontextmanager
async def serving(
    directory: Path,
    decider: Decider | Deciders = admit,
    *,
    budget: MemoryBudget | None = None,
    clients: str | None = None,
    tracer: ReviewTracer | None = None,
) -> AsyncIterator[Serving]:
    """Run a review port; its certificate is in ``directory``. ``clients``: the required name in client certificates.

    A single ``decider`` is used for all PATHS.
    """
    deciders = dict.fromkeys(PATHS, decider) if callable(decider) else decider
    files, _ = ensure(directory, NAMES, datetime.now(UTC))
    tls = PortTls(ask_clients=clients is not None)
    _, certificate, key = read_pair(files)
    tls.show(certificate, key, str(files.certificate))
    state = ServingState(snapshot=_empty(), certificate=True, listening=True)
    lines = CapturedLines()
    metrics = Metrics(deciders, lines_dropped=lambda: lines.dropped, in_flight=lambda: state.in_flight)
    budget = budget or MemoryBudget()
    handler = ReviewHandler(deciders, state, ReviewRecorder(metrics, Log(lines)), budget, tracer)
    port = ReviewPort(handler, tls.context, budget, clients)
    address = port.start(Address("127.0.0.1", 0))
    try:
        yield Serving(address, state, metrics, lines, tls, files, directory / "ca.crt", port)
    finally:
        await port.stop()


def environment() -> dict[str, str]:
    """Return the environment of a `podberth` that tests start."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2] / "webhook")}

"""An API server that follows a test's script, request by request, over real HTTP on loopback."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from aiohttp import web

from integration.serving import write_kubeconfig
from podberth.topology.heartbeats import WatchClock

Step: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def thing(name: str, version: int = 1) -> dict[str, Any]:
    """Return an object."""
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def event(verb: str, name: str, version: int) -> bytes:
    """Return a line of a watch."""
    return json.dumps({"type": verb, "object": thing(name, version)}).encode() + b"\n"


def page(names: Sequence[str], version: int, token: str = "") -> Step:
    """Answer with a part of a list."""
    body = {"metadata": {"resourceVersion": str(version), "continue": token}, "items": [thing(n) for n in names]}

    async def step(_: web.Request) -> web.StreamResponse:
        return web.json_response(body)

    return step


def status(code: int, headers: Mapping[str, str] | None = None, **fields: Any) -> Step:
    """Answer with a Status."""

    async def step(_: web.Request) -> web.StreamResponse:
        return web.json_response({"kind": "Status", "code": code, **fields}, status=code, headers=headers)

    return step


def stream(*lines: bytes, then: str = "hang") -> Step:
    """Answer with lines; then `end` politely, `cut` the connection, or `hang`."""

    async def step(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for line in lines:
            await response.write(line)
        if then == "cut":
            assert request.transport is not None
            request.transport.abort()
        elif then == "hang":
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return response

    return step


@dataclass(slots=True)
class Scripted:
    """The received requests, and the next answers; the last step is repeated."""

    steps: list[Step]
    directory: Path
    asked: list[tuple[float, Mapping[str, str], str]] = field(default_factory=list)
    """Time, query and credentials of each request."""
    url: str = ""

    @property
    def queries(self) -> list[dict[str, str]]:
        """The queries, without parameters that differ from run to run."""
        dull = {"timeoutSeconds", "allowWatchBookmarks", "limit"}
        return [{key: value for key, value in query.items() if key not in dull} for _, query, _ in self.asked]

    @property
    def token_file(self) -> Path:
        """The token file that the kubeconfig names."""
        return self.directory / "token"

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig that leads here."""
        return write_kubeconfig(self.directory, self.url, {"tokenFile": "token"})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer with the next step."""
        self.asked.append((time.monotonic(), dict(request.query), request.headers.get("Authorization", "")))
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        return await step(request)


@asynccontextmanager
async def scripted(directory: Path, *steps: Step) -> AsyncIterator[Scripted]:
    """Serve on 127.0.0.1."""
    server = Scripted(list(steps), directory)
    server.token_file.write_text("first\n")
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = "http://{}:{}".format(*runner.addresses[0])
    try:
        yield server
    finally:
        await runner.cleanup()


class Sight(WatchClock):
    """A clock that remembers when it was stopped and started."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def lose(self, at: float) -> None:
        self.calls.append("lost")
        assert at > 0

    def regain(self, at: float) -> None:
        self.calls.append("regained")
        assert at > 0


@dataclass(slots=True)
class Recorder:
    """A sink that remembers."""

    objects: dict[str, str] = field(default_factory=dict)
    received: list[str] = field(default_factory=list)
    sight: Sight = field(default_factory=Sight)

    def put(self, name: str, document: dict[str, Any]) -> None:
        self.objects[name] = document["metadata"]["resourceVersion"]
        self.received.append(f"put {name}")

    def drop(self, name: str) -> None:
        del self.objects[name]
        self.received.append(f"drop {name}")

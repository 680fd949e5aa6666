"""An API server that keeps Events, over real HTTP on loopback: versions, conflicts and requested faults."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from integration.serving import write_kubeconfig

Document = dict[str, Any]


@dataclass(slots=True)
class EventServer:
    """Its objects by path, and the requests that it received."""

    directory: Path
    events: dict[str, Document] = field(default_factory=dict)
    asked: list[tuple[str, str, Document]] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    """The statuses of the next answers; 0: the connection is cut."""
    gone: frozenset[str] = frozenset()
    """Namespaces that are being deleted."""
    sick: frozenset[str] = frozenset()
    """Namespaces in which a webhook fails."""
    hangs: bool = False
    url: str = ""
    _version: int = 0

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig that leads here."""
        return write_kubeconfig(self.directory, self.url, {"token": "t"})

    def rivals_write(self, path: str, count: int) -> None:
        """Let another replica add to the count of an Event."""
        known = self.events[path]
        before = known.get("series", {}).get("count", 1)
        self._keep(path, {**known, "series": {"count": before + count, "lastObservedTime": "2026-01-01T00:00:00.0Z"}})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Act as the API server does."""
        body: Document = await request.json()
        self.asked.append((request.method, request.path, body))
        if self.hangs:
            await asyncio.Event().wait()
        if self.faults:
            fault = self.faults.pop(0)
            if not fault:
                assert request.transport is not None
                request.transport.abort()
            return _status(fault or 500)
        if request.path.split("/")[5] in self.gone:
            return _status(403)
        if request.path.split("/")[5] in self.sick:
            return _status(500)
        return self._post(request.path, body) if request.method == "POST" else self._patch(request.path, body)

    def _post(self, collection: str, body: Document) -> web.StreamResponse:
        path = f"{collection}/{body['metadata']['name']}"
        if path in self.events:
            return _status(409)
        return web.json_response(self._keep(path, body), status=201)

    def _patch(self, path: str, body: Document) -> web.StreamResponse:
        known = self.events.get(path)
        if known is None:
            return _status(404)
        version = body.get("metadata", {}).get("resourceVersion", known["metadata"]["resourceVersion"])
        if version != known["metadata"]["resourceVersion"]:
            return _status(409)
        return web.json_response(self._keep(path, {**known, **body, "metadata": known["metadata"]}) if body else known)

    def _keep(self, path: str, body: Document) -> Document:
        self._version += 1
        kept = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        self.events[path] = kept
        return kept


def _status(code: int) -> web.StreamResponse:
    return web.json_response({"kind": "Status", "code": code, "message": "as the test wants it"}, status=code)


@asynccontextmanager
async def event_server(directory: Path) -> AsyncIterator[EventServer]:
    """Serve on 127.0.0.1."""
    server = EventServer(directory)
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

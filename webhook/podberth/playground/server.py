"""Serves the page of the playground over HTTP, to the user who has its address.

The address has a token, which every request must state. Browsers of other pages get nothing: the Host must be an
address and not a name (DNS rebinding), a request with content must come from the page itself, and the answers forbid
the browser to load anything from elsewhere.
"""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web

from ..errors import PodberthError, UsageError
from ..settings import Address
from .live import LiveCluster
from .session import Session
from .worker import KINDS, NoAnswerError, Worker

MAX_BODY_BYTES: Final = 8 * 2**20
"""The most bytes of a request: three texts, with room for escapes."""
_TOKEN_BYTES: Final = 24
_FILES: Final = {
    "": ("index.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"),
    "editor.js": ("editor.js", "text/javascript"),
    "editor.LICENSES.txt": ("editor.LICENSES.txt", "text/plain"),
}
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Playground:
    """The page's server. ``start`` must be called before ``address`` is read, inside a running event loop."""

    session: Session
    worker: Worker = field(default_factory=Worker)
    live: LiveCluster | None = None
    """The cluster that the page follows; None: only the session's text."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(_TOKEN_BYTES))
    url: str = ""
    """The address of the page, with the token; empty before ``start``."""
    _runner: web.AppRunner | None = None

    async def start(self, address: Address) -> None:
        """Listen at an address; port 0 means any free port.

        Raises:
            UsageError: the address cannot be used.
        """
        # A page that no longer waits for an answer ends it.
        application = self._application()
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
        await runner.setup()
        try:
            await web.TCPSite(runner, address.host, address.port).start()
        except OSError as error:
            await runner.cleanup()
            raise UsageError(f"--address: {address.host}:{address.port}: {error.strerror or error}") from error
        self._runner = runner
        await self.worker.warm()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/{self.token}/"

    async def stop(self) -> None:
        """Stop listening, and end the process of the worker."""
        if self._runner is not None:
            await self._runner.cleanup()
        await self.worker.close()

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY_BYTES)
        application.router.add_get("/{token}/session", self._session)
        application.router.add_get("/{token}/live", self._live)
        application.router.add_get("/{token}/{file}", _file)
        application.router.add_get("/{token}/", _file)
        application.router.add_post("/{token}/{kind}", self._ask)
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer only requests of the page itself, and without details of podberth in errors."""
        try:
            response = await handler(request) if self._is_allowed(request) else web.Response(status=403, text="403")
        except web.HTTPException as error:
            response = web.Response(status=error.status, text=str(error.status))
        except web.RequestPayloadError:
            response = web.Response(status=400, text="400")
        response.headers.update(HEADERS)
        return response

    def _is_allowed(self, request: web.Request) -> bool:
        token = request.path.removeprefix("/").partition("/")[0].encode(errors="replace")
        if not secrets.compare_digest(token, self.token.encode()) or not _is_address(request.host):
            return False
        return request.method == "GET" or request.headers.get("Origin") == f"http://{request.host}"

    async def _session(self, _: web.Request) -> web.Response:
        return web.json_response({**self.session.as_json(), "live": self.live is not None})

    async def _live(self, _: web.Request) -> web.Response:
        if self.live is None:
            raise web.HTTPNotFound
        try:
            return web.json_response({"text": await self.live.text()})
        except PodberthError as error:
            return web.json_response({"message": str(error)}, status=502)

    async def _ask(self, request: web.Request) -> web.Response:
        kind = request.match_info["kind"]
        if kind not in KINDS:
            raise web.HTTPNotFound
        try:
            if request.content_type != "application/json":
                raise NoAnswerError(415, "got no JSON, want application/json")  # noqa: TRY301 - answered as the others
            answer = await self.worker.ask(kind, _object(await request.read()))
        except NoAnswerError as error:
            return web.json_response({"message": str(error)}, status=error.status)
        return web.Response(body=answer, content_type="application/json")


def _object(text: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoAnswerError(400, "got no JSON, want an object") from error
    if not isinstance(document, dict):
        raise NoAnswerError(400, "got no object, want one")
    return document


def _is_address(host: str) -> bool:
    """Return whether a Host is ``localhost`` or an IP address; another site's name may lead here, too."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ip_address(name))
    except ValueError:
        return False


async def _file(request: web.Request) -> web.Response:
    name = request.match_info.get("file", "")
    if name not in _FILES:
        raise web.HTTPNotFound
    file, kind = _FILES[name]
    body = await asyncio.to_thread(resources.files(__package__).joinpath("static", file).read_bytes)
    return web.Response(body=body, content_type=kind, charset="utf-8")

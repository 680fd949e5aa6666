"""The HTTP port for probes and metrics: /livez, /readyz and /metrics, for the kubelet and Prometheus.

The port takes no reviews.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter, thread_time

from aiohttp import hdrs, web

from .port.answer import WholeAnswer
from .port.connection import BoundedConnection
from .port.listener import Listener
from .port.slots import Places
from .telemetry.metrics import CONTENT_TYPE

# The kubelet opens a connection for each probe, Prometheus keeps one; strangers displace each other.
_MOST_CONNECTIONS = 64
# Longer than the time between two scrapes, a minute by default (global.scrape_interval).
_KEEPALIVE_SECONDS = 75.0

# How long no page of metrics is made after one, as a multiple of the time that it took. A page takes 5 ms of the loop
# that answers reviews, and 60 callers that ask without end took all of it.
_REST = 9


class SharedPage:
    """The content of /metrics, shared by all clients.

    The computation takes at most a tenth of the event loop's time, however many clients send a request. All waiting
    clients get the same content. The content is computed after the last waiting client has sent its request, so nobody
    gets old content.
    """

    def __init__(self, make: Callable[[], bytes]) -> None:
        """Create the page. ``make`` returns the content, and is called when a client first asks for the page."""
        self._make = make
        self._coming: asyncio.Task[bytes] | None = None
        """The task that will compute the next page, until the computation begins."""
        self._not_before = 0.0

    async def made(self) -> bytes:
        """Wait for the next computation of the page, and return the content of the page."""
        if self._coming is None:
            self._coming = asyncio.create_task(self._next())
        return await asyncio.shield(self._coming)  # a caller that leaves takes it from nobody

    async def _next(self) -> bytes:
        await asyncio.sleep(max(self._not_before - perf_counter(), 0))
        self._coming = None
        began = thread_time()
        try:
            return self._make()
        finally:
            self._not_before = perf_counter() + _REST * (thread_time() - began)


class ProbePort(Listener):
    """The HTTP server for probes and metrics. The server listens from the call of ``start`` to the call of ``stop``."""

    flag = "--metrics-listen"

    def __init__(self, unready: Callable[[], Sequence[str]], page: Callable[[], bytes]) -> None:
        """Create the server; call ``start`` to make the server listen. The caller must be inside a running event loop.

        Args:
            unready: returns the reasons why the process is not ready; empty means ready.
            page: returns the content of /metrics.
        """
        self._unready = unready
        self._page = SharedPage(page)
        self._pages = {"/livez": self._livez, "/readyz": self._readyz, "/metrics": self._metrics}
        connection = partial(BoundedConnection, keepalive_timeout=_KEEPALIVE_SECONDS)
        super().__init__(self._answer, connection, Places(most=_MOST_CONNECTIONS))

    async def _livez(self) -> WholeAnswer:
        # It is enough that the loop answers: a restart fixes neither policies nor certificates.
        return WholeAnswer(200, b"ok\n")

    async def _readyz(self) -> WholeAnswer:
        reasons = self._unready()
        if not reasons:
            return WholeAnswer(200, b"ok\n")
        body = json.dumps({"unready": list(reasons)}) + "\n"
        return WholeAnswer(503, body.encode(), content_type=b"application/json")

    async def _metrics(self) -> WholeAnswer:
        return WholeAnswer(200, await self._page.made(), content_type=CONTENT_TYPE.encode())

    async def _answer(self, request: web.BaseRequest) -> WholeAnswer:
        page = self._pages.get(request.path)
        if page is None:
            return WholeAnswer(404, b"want one of %b\n" % ", ".join(self._pages).encode(), close=True)
        if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
            return WholeAnswer(400, b"want GET\n", close=True)
        return await page()

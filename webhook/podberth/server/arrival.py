"""When a request arrived, and from whom.

It arrived earlier than its handler begins, for other reviews may be decided in between.

The loop reads from all connections that have something to read before it runs what follows from it, so the time is
taken where bytes come in.
"""

import asyncio
from time import perf_counter
from typing import Any

from aiohttp import web

from .port_tls import names_of


class StampedConnection(web.RequestHandler):
    """A connection that knows when it was last read from, in seconds of ``perf_counter``, and whose it is not."""

    __slots__ = ("client_name", "read_at", "stranger")

    def __init__(self, *arguments: Any, client_name: str | None = None, **options: Any) -> None:
        """Expect a client of this name; None: anybody whom TLS has let in."""
        super().__init__(*arguments, **options)
        self.client_name = client_name
        self.stranger = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Look at the client's certificate once, and not for every request."""
        super().connection_made(transport)
        if self.client_name is not None:
            names = names_of(transport.get_extra_info("peercert") or {})
            if self.client_name not in names:
                self.stranger = ", ".join(sorted(names)) or "nobody"

    def data_received(self, data: bytes) -> None:
        """Take the time, then go on as aiohttp does."""
        self.read_at = perf_counter()
        super().data_received(data)


def stranger(request: web.BaseRequest) -> str:
    """Return as whom a client has come that may not ask; "" if it may."""
    connection = request.protocol
    return connection.stranger if isinstance(connection, StampedConnection) else ""


def arrived(request: web.BaseRequest) -> float:
    """Return when a request arrived, asked as the first thing of its handler; now, on a connection made elsewhere."""
    connection = request.protocol
    return connection.read_at if isinstance(connection, StampedConnection) else perf_counter()

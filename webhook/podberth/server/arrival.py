"""The arrival time of a request, and its client.

A request arrives before its handler begins, because other reviews may be decided in between.

The loop first reads from all readable connections and then runs their handlers, so the time is taken when bytes are
read.
"""

import asyncio
from time import perf_counter
from typing import Any

from aiohttp import web

from ..port.connection import BoundedConnection
from .port_tls import names_of


class StampedConnection(BoundedConnection):
    """A connection with the time of its last read, in seconds of ``perf_counter``, and the name of a wrong client."""

    __slots__ = ("client_name", "read_at", "stranger")

    def __init__(self, *arguments: Any, client_name: str | None = None, **options: Any) -> None:
        """Expect a client of this name; None: any client that TLS has accepted."""
        super().__init__(*arguments, **options)
        self.client_name = client_name
        self.stranger = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Check the client's certificate once, and not for every request."""
        super().connection_made(transport)
        if self.client_name is not None:
            names = names_of(transport.get_extra_info("peercert") or {})
            if self.client_name in names:
                self.prove()
            else:
                self.stranger = ", ".join(sorted(names)) or "nobody"

    def data_received(self, data: bytes) -> None:
        """Record the time, then continue."""
        self.read_at = perf_counter()
        super().data_received(data)


def connection_of(request: web.BaseRequest) -> StampedConnection:
    """Return the connection on which a request came to the review port."""
    connection = request.protocol
    assert isinstance(connection, StampedConnection)  # noqa: S101 - the port makes no others
    return connection

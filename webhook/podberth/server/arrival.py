"""When a request arrived, and from whom.

It arrived earlier than its handler begins, for other reviews may be decided in between.

The loop reads from all connections that have something to read before it runs what follows from it, so the time is
taken where bytes come in.
"""

import asyncio
from time import perf_counter
from typing import Any

from aiohttp import web

from ..port.connection import BoundedConnection
from .port_tls import names_of


class StampedConnection(BoundedConnection):
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
            if self.client_name in names:
                self.prove()
            else:
                self.stranger = ", ".join(sorted(names)) or "nobody"

    def data_received(self, data: bytes) -> None:
        """Take the time, then go on."""
        self.read_at = perf_counter()
        super().data_received(data)


def connection_of(request: web.BaseRequest) -> StampedConnection:
    """Return the connection on which a request came to the review port."""
    connection = request.protocol
    assert isinstance(connection, StampedConnection)  # noqa: S101 - the port makes no others
    return connection

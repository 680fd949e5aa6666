"""The TLS port that receives reviews, and the connections to the port."""

import asyncio
import ssl
from functools import partial
from time import perf_counter
from typing import Any

from aiohttp import web

from ..port.byte_budget import MemoryBudget
from ..port.connection import BoundedConnection
from ..port.listener import Handler, Listener
from ..port.slots import Places
from .port_tls import names_of

# The apiserver keeps an idle connection for 90 s (net/http IdleConnTimeout, apimachinery util/net/http.go). The client
# must close first: if it writes while podberth closes, it sees a reset.
KEEPALIVE_SECONDS = 120.0
# How long the rest of an unread body is received after the answer, so that the client sees the answer instead of a
# reset.
_LINGER_SECONDS = 2.0
# How long reviews in flight may take to finish: timeoutSeconds is 30 at most.
FINISH_SECONDS = 30.0


class ReviewPort(Listener):
    """The TLS port that receives reviews. ``start`` must be called before ``stop``."""

    flag = "--listen"
    # The answers are in the kernel's buffer at once, unless a client does not read.
    write_seconds = 2.0

    def __init__(
        self, handler: Handler, context: ssl.SSLContext, budget: MemoryBudget, client_name: str | None = None
    ) -> None:
        """Create the port; the port listens after ``start``. The caller must be inside a running event loop.

        ``client_name`` is the name that clients' certificates must have; None accepts every client.
        """
        connection = partial(
            StampedConnection,
            keepalive_timeout=KEEPALIVE_SECONDS,
            lingering_time=_LINGER_SECONDS,
            client_name=client_name,
        )
        super().__init__(handler, connection, Places(budget), context)


class StampedConnection(BoundedConnection):
    """A connection that records the time of its last read, and whether its client's certificate has the required name.

    If the certificate does not have the name ``client_name``, ``stranger`` has the names in the certificate; else it is
    empty.

    The time is in seconds of ``perf_counter``. The event loop first reads from all readable connections, and then calls
    the handlers one by one. So a request may have waited for other reviews before its handler begins, and the time of
    the read is taken as the time of arrival.
    """

    __slots__ = ("client_name", "read_at", "stranger")

    def __init__(self, *arguments: Any, client_name: str | None = None, **options: Any) -> None:
        """Create a connection whose client must have the name ``client_name``; None: any client that TLS accepts."""
        super().__init__(*arguments, **options)
        self.client_name = client_name
        self.stranger = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to read requests, and check the name in the client's certificate, once for the whole connection."""
        super().connection_made(transport)
        if self.client_name is not None:
            names = names_of(transport.get_extra_info("peercert") or {})
            if self.client_name in names:
                self.prove()
            else:
                self.stranger = ", ".join(sorted(names)) or "nobody"

    def data_received(self, data: bytes) -> None:
        """Record the time at which the bytes are read, then pass them to the HTTP parser."""
        self.read_at = perf_counter()
        super().data_received(data)


def connection_of(request: web.BaseRequest) -> StampedConnection:
    """Return the connection on which a request came to the review port."""
    connection = request.protocol
    assert isinstance(connection, StampedConnection)  # noqa: S101 - the port makes no others
    return connection

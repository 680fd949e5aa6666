"""Opens and closes the port of reviews."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from ..errors import UsageError
from ..settings import Address
from .arrival import StampedConnection

# The apiserver keeps an idle connection for 90 s (net/http IdleConnTimeout, apimachinery util/net/http.go). Whoever
# closes first must be the client: one that writes while we close sees a reset. It also bounds how long headers may
# dribble in.
KEEPALIVE_SECONDS = 120.0
# The apiserver's own limit for a handshake (apimachinery util/net/http.go, TLSHandshakeTimeout).
HANDSHAKE_SECONDS = 10.0
# After an answer to a body that was not read: how long the rest is taken in, so that the client sees the answer and no
# reset.
_LINGER_SECONDS = 2.0
# Linux' own bound since 5.4 (net.core.somaxconn); aiohttp's 128 is a burst of as many apiserver connections.
_BACKLOG = 4096
# How long reviews in flight may take to finish: timeoutSeconds is 30 at most.
FINISH_SECONDS = 30.0
# How long answers may then take to be written; they are in the kernel's buffer at once, unless nobody reads.
_WRITE_SECONDS = 2.0

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class ReviewPort:
    """The TLS port. ``start`` before ``stop``."""

    def __init__(self, handler: Handler, context: ssl.SSLContext, client_name: str | None = None) -> None:
        """Nothing listens yet. Must be made where a loop runs. ``client_name``: see ``StampedConnection``."""
        self._context = context
        # web.Server and not web.Application: no routes, middlewares and signals, which are 6 of 67 us a review.
        self._web = web.Server(handler)
        self._connection = partial(
            StampedConnection,
            self._web,
            loop=asyncio.get_running_loop(),
            access_log=None,  # what turns it off, says web.RequestHandler
            keepalive_timeout=KEEPALIVE_SECONDS,
            lingering_time=_LINGER_SECONDS,
            auto_decompress=False,
            client_name=client_name,
        )
        self._sockets: asyncio.Server | None = None

    async def start(self, address: Address) -> Address:
        """Listen; return the address, the port filled in.

        Raises:
            UsageError: the address cannot be had.
        """
        loop = asyncio.get_running_loop()
        try:
            self._sockets = await loop.create_server(
                self._connection,
                address.host or None,
                address.port,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                backlog=_BACKLOG,
            )
        except OSError as error:
            raise UsageError(f"--listen: got {address.host}:{address.port}, which cannot be had: {error}") from error
        host, port = self._sockets.sockets[0].getsockname()[:2]
        return Address(host, port)

    def refuse(self) -> None:
        """Accept no more connections; the ones that are open go on."""
        if self._sockets is not None:
            self._sockets.close()
            self._sockets = None

    async def stop(self) -> None:
        """Close every connection, those with an answer under way when it is written."""
        self.refuse()
        self._web.pre_shutdown()
        await self._web.shutdown(_WRITE_SECONDS)

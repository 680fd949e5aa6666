"""Accepts connections before the TLS handshake, as long as the limit of open connections is not reached.

Beyond the limit, a connection waits in the kernel's queue.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ClassVar, TypeAlias

from aiohttp import web

from ..errors import UsageError
from ..settings import Address
from .connection import BoundedConnection
from .slots import Places

# The API server's own limit for a handshake (apimachinery util/net/http.go, TLSHandshakeTimeout).
HANDSHAKE_SECONDS = 10.0
# How long a client may take to close TLS properly; uvloop's own limit is 30 s, while the connection keeps its memory.
_GOODBYE_SECONDS = 2.0
# Linux' own bound since 5.4 (net.core.somaxconn). aiohttp's default of 128 may be too few for a burst of the apiserver.
_BACKLOG = 4096
# The kernel's receive buffer of one connection; the kernel doubles this number. By default a buffer may grow to 6 MiB
# (tcp_rmem), and it counts against the container's memory limit, too.
_KERNEL_BYTES = 64 * 1024
# The most connections that are accepted in one turn of the event loop, so that a flood of them does not delay others.
_ACCEPTED_AT_ONCE = 64
# The wait before the next try to accept when no place or no file descriptor is free: less than slots.GRACE_SECONDS.
_PAUSE_SECONDS = 0.1
_NO_SUCH_FAMILY = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})


Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
_Handshake: TypeAlias = "asyncio.Task[tuple[asyncio.Transport, asyncio.BaseProtocol]]"


class Listener:
    """Listens on one address. ``start`` must be called before ``stop``, inside a running event loop."""

    flag: ClassVar[str]
    """The flag that gives the address, for messages."""
    write_seconds: ClassVar[float] = 0.0
    """How long the last answers may take to be written."""

    def __init__(
        self,
        handler: Handler,
        connection: Callable[..., BoundedConnection],
        places: Places,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """Create the listener, which accepts connections as long as ``places``, the limit of open connections, permits.

        ``handler`` answers each request, and ``connection`` returns the object for a new connection. ``context`` is
        None for plain HTTP.
        """
        self.places = places
        self._context = context
        self._loop = asyncio.get_running_loop()
        # web.Server and not web.Application: no routes, middlewares and signals, which take 6 of 67 us a review.
        self._web = web.Server(handler)
        self._make = partial(connection, self._web, places=places, loop=self._loop)
        self._socket: socket.socket | None = None
        self._again: asyncio.TimerHandle | None = None
        self._waiting: socket.socket | None = None
        """A socket of a client that was accepted and waits for a free place."""
        self._handshakes: set[_Handshake] = set()

    def start(self, address: Address) -> Address:
        """Start to listen, and return the address with the port number that is in use.

        Raises:
            UsageError: the process cannot listen on the address, which the user gave with ``flag``.
        """
        try:
            self._socket = _listening(address)
        except OSError as error:
            where = f"{address.host}:{address.port}"
            raise UsageError(f"{self.flag}: got {where}, which cannot be used: {error}") from error
        self._socket.setblocking(False)  # noqa: FBT003 - as it is called
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _KERNEL_BYTES)
        self._look()
        host, port = self._socket.getsockname()[:2]
        return Address(host, port)

    def refuse(self) -> None:
        """Accept no more connections; open connections continue."""
        if self._again is not None:
            self._again.cancel()
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        if self._waiting is not None:
            self._waiting.close()
            self._waiting = None

    async def stop(self) -> None:
        """Close every connection. A connection with an answer in progress is closed after the answer."""
        self.refuse()
        for task in self._handshakes:
            task.cancel()
        await asyncio.gather(*self._handshakes, return_exceptions=True)
        self._web.pre_shutdown()
        await self._web.shutdown(self.write_seconds)

    def _look(self) -> None:
        """Ask the event loop to call ``_accept`` when a client connects."""
        self._again = None
        if self._socket is not None:
            self._loop.add_reader(self._socket, self._accept)
            if self._waiting is not None:
                self._accept()

    def _pause(self) -> None:
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._again = self._loop.call_later(_PAUSE_SECONDS, self._look)

    def _accept(self) -> None:
        """Accept the clients in the kernel's queue, as long as the limit of open connections is not reached."""
        assert self._socket is not None  # noqa: S101 - a closed listener has no reader
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted = self._waiting or self._socket.accept()[0]
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no descriptor is left
                self._pause()
                return
            connection = self._make()
            if not self.places.enter(connection, self._loop.time()):
                self._waiting = accepted
                self._pause()
                return
            self._waiting = None
            self._begin(accepted, connection)

    def _begin(self, accepted: socket.socket, connection: BoundedConnection) -> None:
        accepted.setblocking(False)  # noqa: FBT003 - as it is called
        options: dict[str, Any] = {}
        if self._context is not None:
            options = {"ssl_handshake_timeout": HANDSHAKE_SECONDS, "ssl_shutdown_timeout": _GOODBYE_SECONDS}
        shaking = self._loop.connect_accepted_socket(lambda: connection, accepted, ssl=self._context, **options)
        connection.shaking = task = self._loop.create_task(shaking)
        self._handshakes.add(task)
        task.add_done_callback(partial(self._begun, accepted, connection))

    def _begun(self, accepted: socket.socket, connection: BoundedConnection, task: _Handshake) -> None:
        """Clean up after a connection whose start or TLS handshake failed; do nothing after a success."""
        self._handshakes.discard(task)
        connection.shaking = None
        if task.cancelled() or (fault := task.exception()) is not None:
            self.places.leave(connection)
            accepted.close()
            # Every fault of TLS and of the network is an OSError, and anybody may cause one.
            if not task.cancelled() and not isinstance(fault, OSError):
                self._loop.call_exception_handler({"message": "a connection could not begin", "exception": fault})


def _listening(address: Address) -> socket.socket:
    """Return a listening socket for the address.

    Without a host, the socket listens on every interface, with IPv4 and IPv6 if the kernel has both.
    """
    if not address.host and socket.has_dualstack_ipv6():
        try:
            return socket.create_server(
                ("", address.port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG
            )
        except OSError as error:  # a kernel with IPv6 that has no IPv6 address
            if error.errno not in _NO_SUCH_FAMILY:
                raise
    [(family, *_), *_] = socket.getaddrinfo(
        address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)

"""When a request arrived, which is earlier than when its handler begins: other reviews may be decided in between.

The loop reads from all connections that have something to read before it runs what follows from it, so the time is
taken where bytes come in.
"""

from time import perf_counter

from aiohttp import web


class StampedConnection(web.RequestHandler):
    """A connection that knows when it was last read from, in seconds of ``perf_counter``."""

    __slots__ = ("read_at",)

    def data_received(self, data: bytes) -> None:
        """Take the time, then go on as aiohttp does."""
        self.read_at = perf_counter()
        super().data_received(data)


def arrived(request: web.BaseRequest) -> float:
    """Return when a request arrived, asked as the first thing of its handler; now, on a connection made elsewhere."""
    connection = request.protocol
    return connection.read_at if isinstance(connection, StampedConnection) else perf_counter()

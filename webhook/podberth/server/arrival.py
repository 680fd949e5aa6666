"""When a request arrived, which is earlier than when its handler begins: other reviews may be decided in between.

aiohttp makes the requests of all connections that had something to read, and then runs their handlers one by one.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage

_Task = asyncio.Task[None]
Factory = Callable[[RawRequestMessage, StreamReader, web.RequestHandler, AbstractStreamWriter, _Task], web.BaseRequest]


class StampedRequest(web.BaseRequest):
    """A request that knows when it arrived, in seconds of ``perf_counter``."""

    ATTRS = web.BaseRequest.ATTRS | {"arrived"}
    arrived: float


def factory() -> Factory:
    """Return what makes requests for ``web.Server``, for the running loop."""
    loop = asyncio.get_running_loop()

    def make(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: _Task,
    ) -> StampedRequest:
        request = StampedRequest(message, payload, protocol, writer, task, loop)
        request.arrived = perf_counter()
        return request

    return make


def arrived(request: web.BaseRequest) -> float:
    """Return when a request arrived; now, for one that was made elsewhere."""
    return request.arrived if isinstance(request, StampedRequest) else perf_counter()

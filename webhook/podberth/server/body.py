"""Reads request bodies within limits of size, time and memory."""

import asyncio
from time import perf_counter

from aiohttp import hdrs, web

from ..errors import ReviewError
from ..port.byte_budget import Hold

# As in controller-runtime (PR 2598): the apiserver accepts objects of 3 MiB, and an UPDATE carries two.
MAX_BODY_BYTES = 7 * 1024 * 1024

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


async def read_body(request: web.BaseRequest, deadline: float, hold: Hold) -> bytes:
    """Read and return the body of a request.

    ``deadline`` is a time of ``perf_counter``, in seconds. ``hold`` is the request's share of the memory budget: a body
    that arrives in several parts is charged to it.

    Raises:
        ReviewError: the body is too large, too slow or incomplete, or there is no memory for it now.
    """
    length = request.content_length
    if length is not None and length > MAX_BODY_BYTES:
        raise _too_large(f"Content-Length {length}")
    stream = request.content
    if stream.is_eof():
        # A review mostly arrives in one piece with its headers: then it needs no timer and no second copy.
        try:
            body = stream.read_nowait()
        except web.RequestPayloadError as error:
            raise _broken(error) from error
        if len(body) > MAX_BODY_BYTES:
            raise _too_large(f"{len(body)} bytes")
        return body
    try:
        async with asyncio.timeout(deadline - perf_counter()):
            return await _read_parts(request, hold)
    except TimeoutError as error:
        raise ReviewError(408, "body: incomplete when the review's time was over") from error
    except (web.RequestPayloadError, ConnectionError) as error:
        raise _broken(error) from error


async def _read_parts(request: web.BaseRequest, hold: Hold) -> bytes:
    if hdrs.EXPECT in request.headers:
        await request.writer.write(_CONTINUE)
    parts: list[bytes] = []
    size = 0
    stream = request.content
    while not stream.at_eof():
        part = await stream.readany()
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise _too_large(f"{size} bytes and more")
        keep_body(hold, size)
    return b"".join(parts)


def keep_body(hold: Hold, size: int) -> None:
    """Charge the ``size`` bytes of a body, kept while other requests are served, to the memory budget (``hold``).

    Raises:
        ReviewError: there is no memory for the body now.
    """
    if not hold.take_body(size):
        raise ReviewError(503, "body: too many large bodies at once; try again")


def _too_large(got: str) -> ReviewError:
    return ReviewError(413, f"body: got {got}, want {MAX_BODY_BYTES} bytes at most")


def _broken(error: Exception) -> ReviewError:
    return ReviewError(400, f"body: broken off: {error}"[:200])

"""Reads the bodies of requests within limits of size, time and memory."""

import asyncio
from dataclasses import dataclass
from time import perf_counter

from aiohttp import hdrs, web

from ..errors import ReviewError
from ..kube.review_limits import MAX_TEXT_BYTES
from ..port.byte_budget import Hold

# The API server writes <, > and & with six bytes each (encoding/json, HTMLEscape), so two objects of 3 MiB may take 36.
MOST_READ_BYTES = 40 * 1024 * 1024
# Room for the fields before a review's objects, with the thousand groups of a user, and for the fields after them.
HEAD_BYTES = 256 * 1024
TAIL_BYTES = 4 * 1024

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request."""

    text: bytes
    """The whole body; only the first HEAD_BYTES and the last TAIL_BYTES of a body above MAX_TEXT_BYTES."""
    size: int
    """The length of the whole body in bytes."""


async def read_body(request: web.BaseRequest, deadline: float, hold: Hold) -> Body:
    """Read and return the body of a request.

    The API server announces the length of each body. If the length is above MAX_TEXT_BYTES, only the beginning and the
    end of the body are kept. They have the fields of the review besides its objects, so podberth can decide that the
    objects are too large. An HTTP error would be wrong: with failurePolicy Ignore, the API server would admit the pod
    without a decision.

    ``deadline`` is a time of ``perf_counter``, in seconds. ``hold`` is the part of the memory budget that the request
    uses. A body that arrives in several parts is charged to ``hold``, because it is kept while other requests are
    served. A body that arrives in one part is not charged here.

    Raises:
        ReviewError: the body is too large, too slow or incomplete, or there is no memory for the body now.
    """
    length = request.content_length
    if length is not None and length > MOST_READ_BYTES:
        raise _too_large(f"Content-Length {length}", MOST_READ_BYTES)
    stream = request.content
    if stream.is_eof():
        # A review mostly arrives in one piece with its headers: then it needs no timer and no second copy.
        try:
            body = stream.read_nowait()
        except web.RequestPayloadError as error:
            raise _broken(error) from error
        if len(body) > MAX_TEXT_BYTES:
            raise _too_large(f"{len(body)} bytes")
        return Body(body, len(body))
    try:
        async with asyncio.timeout(deadline - perf_counter()):
            if hdrs.EXPECT in request.headers:
                await request.writer.write(_CONTINUE)
            if length is not None and length > MAX_TEXT_BYTES:
                return Body(await _read_ends(request, hold), length)
            body = await _read_parts(request, hold)
            return Body(body, len(body))
    except TimeoutError as error:
        raise ReviewError(408, "body: incomplete when the review's time was over") from error
    except (web.RequestPayloadError, ConnectionError) as error:
        raise _broken(error) from error


async def _read_ends(request: web.BaseRequest, hold: Hold) -> bytes:
    keep_body(hold, HEAD_BYTES + TAIL_BYTES)
    head, tail = bytearray(), b""
    stream = request.content
    while not stream.at_eof():
        part = await stream.readany()
        head += part[: HEAD_BYTES - len(head)]
        tail = (tail + part)[-TAIL_BYTES:]
    return bytes(head) + tail


async def _read_parts(request: web.BaseRequest, hold: Hold) -> bytes:
    parts: list[bytes] = []
    size = 0
    stream = request.content
    while not stream.at_eof():
        part = await stream.readany()
        parts.append(part)
        size += len(part)
        if size > MAX_TEXT_BYTES:
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


def _too_large(got: str, most: int = MAX_TEXT_BYTES) -> ReviewError:
    return ReviewError(413, f"body: got {got}, want {most} bytes at most")


def _broken(error: Exception) -> ReviewError:
    return ReviewError(400, f"body: broken off: {error}"[:200])

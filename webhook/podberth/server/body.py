"""Reads request bodies: no larger than they may be, no longer than the caller waits, and never all of them at once."""

import asyncio
from time import perf_counter

from aiohttp import hdrs, web

from ..errors import ReviewError

# What the peers take (controller-runtime PR 2598): the apiserver accepts objects of 3 MiB, and an UPDATE carries two.
MAX_BODY_BYTES = 7 * 1024 * 1024
# Bodies that arrive in parts, of all connections together: nine of the largest. Without a bound, a hundred connections
# that anybody on the pod network may open would hold 700 MiB (CVE-2026-44247 was an admission server out of
# memory).
MAX_PARTIAL_BYTES = 64 * 1024 * 1024

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class BodyReader:
    """Reads the bodies of one server."""

    def __init__(self, *, max_bytes: int = MAX_BODY_BYTES, max_partial_bytes: int = MAX_PARTIAL_BYTES) -> None:
        """Bound one body, and all that are incomplete."""
        self.max_bytes = max_bytes
        self._max_partial = max_partial_bytes
        self._partial = 0

    async def read(self, request: web.BaseRequest, deadline: float) -> bytes:
        """Return the body; ``deadline`` is a time of ``perf_counter``.

        Raises:
            ReviewError: it is too large, too slow, broken off, or there is no room for it now.
        """
        length = request.content_length
        if length is not None and length > self.max_bytes:
            raise self._too_large(f"Content-Length {length}")
        stream = request.content
        if stream.is_eof():
            # A review mostly arrives in one piece with its headers: no timer, no second copy.
            try:
                body = stream.read_nowait()
            except web.RequestPayloadError as error:
                raise _broken(error) from error
            if len(body) > self.max_bytes:
                raise self._too_large(f"{len(body)} bytes")
            return body
        try:
            async with asyncio.timeout(deadline - perf_counter()):
                return await self._read_parts(request)
        except TimeoutError as error:
            raise ReviewError(408, "body: incomplete when the review's time was over") from error
        except (web.RequestPayloadError, ConnectionError) as error:
            raise _broken(error) from error

    async def _read_parts(self, request: web.BaseRequest) -> bytes:
        if hdrs.EXPECT in request.headers:
            await request.writer.write(_CONTINUE)
        parts: list[bytes] = []
        size = 0
        stream = request.content
        try:
            while not stream.at_eof():
                part = await stream.readany()
                parts.append(part)
                size += len(part)
                self._partial += len(part)
                if size > self.max_bytes:
                    raise self._too_large(f"{size} bytes and more")
                if self._partial > self._max_partial:
                    raise ReviewError(503, "body: too many large bodies at once; try again")
        finally:
            self._partial -= size
        return b"".join(parts)

    def _too_large(self, got: str) -> ReviewError:
        return ReviewError(413, f"body: got {got}, want {self.max_bytes} bytes at most")


def _broken(error: Exception) -> ReviewError:
    return ReviewError(400, f"body: broken off: {error}"[:200])

"""Short HTTP answers that are written at once and have no Server header.

aiohttp's own Response is not used because it always has a Server header. The gain in speed is small: a request and its
answer take 59 us of CPU instead of 72, and a decision takes some hundreds. Of a response, aiohttp uses only
``prepare``, ``write_eof`` and ``keep_alive``.
"""

from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from time import time

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

RETRY_AFTER_SECONDS = 1
"""The number of seconds after which a client repeats a refused request (Retry-After header).

client-go, and so the API server, follows the header (rest/with_retry.go), within the webhook's timeout.
"""
_KEEP = b"\r\n\r\n"
_CLOSE = b"\r\nConnection: close\r\n\r\n"
_MORE = {
    HTTPStatus.METHOD_NOT_ALLOWED: b"\r\nAllow: POST",
    HTTPStatus.SERVICE_UNAVAILABLE: b"\r\nRetry-After: %d" % RETRY_AFTER_SECONDS,
}


class WholeAnswer(web.StreamResponse):
    """A response whose complete body is known when the response is created."""

    def __init__(self, status: int, body: bytes, *, content_type: bytes = b"text/plain", close: bool = False) -> None:
        """Create an answer with ``body``; with ``close``, the connection is closed after the answer."""
        super().__init__(status=status)
        self._bytes = body
        self._type = content_type
        self._ends = close

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Write the whole answer (only the head for HEAD), and wait if the caller does not read. Return None."""
        if not request.keep_alive or request.version < (1, 1):
            self._ends = True
        head = _head(self.status, self._type, len(self._bytes), close=self._ends)
        # RFC 9110, 9.3.2: the answer to HEAD has the headers of a body, and no body
        await request.writer.write(head if request.method == "HEAD" else head + self._bytes)
        if request.protocol.writing_paused:
            # Otherwise the answers to a caller that asks again and again and reads nothing would pile up here.
            await request.writer.drain()
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing, because the method ``prepare`` has written the whole answer."""

    @property
    def keep_alive(self) -> bool | None:
        """Whether the connection may carry another request after the answer."""
        return not self._ends


def farewell(status: int, text: str) -> bytes:
    """Return the bytes of the answer to a caller whose request is incomplete.

    The connection is closed after the answer.
    """
    body = text.encode()
    return _head(status, b"text/plain", len(body), close=True) + body


@lru_cache(1)
def _date(second: int) -> bytes:
    """Return the value of the Date header (RFC 9110, 6.6.1) for a time in seconds since 1970."""
    return formatdate(second, usegmt=True).encode("ascii")


def _head(status: int, content_type: bytes, length: int, *, close: bool) -> bytes:
    return _STARTS[status] % (content_type, _date(int(time())), length) + (_CLOSE if close else _KEEP)


def _start(status: HTTPStatus) -> bytes:
    line = f"HTTP/1.1 {status.value} {status.phrase}".encode("ascii")
    return line + _MORE.get(status, b"") + b"\r\nContent-Type: %b\r\nDate: %b\r\nContent-Length: %d"


_STARTS = {status.value: _start(status) for status in HTTPStatus}

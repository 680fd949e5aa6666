"""A caller's HTTP connection: request heads are limited in bytes and time, and error answers name no software.

aiohttp limits the length and the number of headers, but these limits allow a head of a megabyte. aiohttp has no time
limit for an incomplete head.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web
from aiohttp.streams import StreamReader

from .answer import WholeAnswer, farewell
from .slots import Places

# The API server sends ten headers of some 40 bytes, and one of 2 KiB if it has a token for the webhook.
MAX_HEAD_BYTES: Final = 16 * 1024
# A head is one packet or a few. If it has not arrived after some round trips, the caller does not intend to send it.
HEAD_SECONDS: Final = 5.0
# How long an answer may wait to be read: as long as the API server waits for an answer by default.
UNREAD_SECONDS: Final = 10.0
# aiohttp stops reading a body when twice as many of its bytes wait to be taken. Its default is 256 KiB.
READ_BUFFER_BYTES: Final = 64 * 1024
# The most chunks of a body that may wait to be taken; chunks of 512 bytes fill that buffer twice. A chunk of any size
# takes some 3 us, and all waiting chunks are taken in one turn of the event loop.
MOST_CHUNKS: Final = 256
_END_OF_HEAD: Final = b"\r\n\r\n"


class BoundedConnection(web.RequestHandler):
    """A caller's connection, which counts against the limit of open connections until it is lost."""

    __slots__ = ("_body", "_head_bytes", "_head_timer", "_places", "_unread_timer", "proven", "shaking")

    def __init__(self, manager: web.Server, *, places: Places, **options: Any) -> None:
        super().__init__(
            manager,
            access_log=None,  # type: ignore[arg-type] # turns it off, by the documentation of web.RequestHandler
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=False,
            **options,
        )
        self.proven = False
        """Whether the caller is known to be a legitimate client of the port."""
        self._places = places
        self.shaking: asyncio.Task[Any] | None = None
        """The task of the TLS handshake, while the handshake is in progress; else None."""
        self._body: StreamReader | None = None
        """The body of the last request with a complete head, while parts of the body are still missing."""
        self._head_bytes = 0
        """The number of bytes received of an incomplete head."""
        self._head_timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None

    def prove(self) -> None:
        """Note that the caller is a legitimate client of the port.

        The connection is then not closed for a new connection.
        """
        if not self.proven:
            self.proven = True
            self._places.prove(self)

    def displace(self) -> None:
        """Close the connection, because the number of connections is limited and a new connection was accepted.

        If a request has begun, the caller first gets the answer 503.
        """
        if self.shaking is not None:
            self.shaking.cancel()
        if self._request_in_progress or self._head_bytes:
            self._leave(503, "too many connections; try again")
        else:
            self.force_close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to read requests: the TLS handshake is finished."""
        super().connection_made(transport)
        self._places.settle(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Record that the connection has ended, so that another connection can be accepted."""
        self._places.leave(self)
        self._head_ended()
        self._answers_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass received bytes to aiohttp, then apply the limits to an incomplete head of a request."""
        requests, body = self._request_count, self._body
        before = 0 if body is None else body.total_bytes
        super().data_received(data)
        rest = 0
        if self._request_count > requests and self._messages:
            single = body is None and self._request_count == requests + 1
            body = self._messages[-1][1]
            if body.is_eof():
                rest = _behind_requests(data, body, single=single)
                body = None
        elif body is None:
            self._dribbled(len(data))
            return
        elif body.is_eof():
            rest = _behind_body(data, body, before)
            body = None
        self._body = body
        if body is not None and len(body._http_chunk_splits or ()) > MOST_CHUNKS:  # noqa: SLF001 - aiohttp's only count
            self._leave(400, "want chunks of 512 bytes or more")
        elif rest or self._head_bytes:
            self._begun(rest)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer; if the caller has already sent another request, serve other connections before that request.

        Since Python 3.12, aiohttp begins the next request at once. Thousands of pipelined requests were then handled in
        one turn of the event loop, and 200 such connections kept the API server's reviews waiting for more than ten
        seconds.
        """
        finished = await super().finish_response(request, resp, start_time)
        if self._messages:
            await asyncio.sleep(0)
        return finished

    def pause_writing(self) -> None:
        """Start the timer that closes the connection if the caller does not read the answers."""
        super().pause_writing()
        if self.transport is not None:
            self._unread_timer = self._loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer of ``pause_writing``, because the caller reads again."""
        self._answers_read()
        super().resume_writing()

    def _answers_read(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the answer to a request that is not valid HTTP, or in whose handling a bug occurred.

        A bug is logged. An invalid request is not logged, because any client may send an invalid request.

        Raises:
            ConnectionError: an answer has been sent already.
        """
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log_exception("a request could not be answered", exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has been sent already")
        return WholeAnswer(status, (message or "").encode("utf-8", "replace")[:200], close=True)

    def _begun(self, size: int) -> None:
        """Start to count the bytes of an incomplete request head, of which ``size`` bytes have arrived."""
        self._head_ended()
        if size > MAX_HEAD_BYTES:
            self.close()  # after the answer to the earlier requests
        elif size > 0:
            self._dribbled(size)

    def _dribbled(self, size: int) -> None:
        """Count ``size`` more bytes of an incomplete request head, and apply the limits of size and time for a head."""
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            self._leave(431, f"want headers of {MAX_HEAD_BYTES} bytes at most")
        elif self._head_bytes and self._head_timer is None:
            self._head_timer = self._loop.call_later(HEAD_SECONDS, self._late)

    def _head_ended(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _late(self) -> None:
        self._head_timer = None
        if self._request_in_progress or self._messages:
            self._head_timer = self._loop.call_later(HEAD_SECONDS, self._late)  # the earlier requests come first
        else:
            self._leave(408, f"want the headers within {HEAD_SECONDS:.0f} s")

    def _leave(self, status: int, text: str) -> None:
        """Send an answer with the given status and text to the caller, and close the connection."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(farewell(status, text))
        self.force_close()


def _behind_requests(data: bytes, body: StreamReader, *, single: bool) -> int:
    """Return how many bytes of ``data`` may belong to an incomplete request head, after the complete requests.

    If ``single``, ``data`` has only one complete request, and begins with it. The result is then the number of bytes
    behind this request, whose body is ``body``. Otherwise, the result is the number of bytes behind the last request
    head that is complete, even if some of these bytes belong to a body.
    """
    if single and (head := data.find(_END_OF_HEAD)) >= 0:
        return max(len(data) - head - len(_END_OF_HEAD) - body.total_bytes, 0)
    return len(data) - data.rfind(_END_OF_HEAD) - len(_END_OF_HEAD)


def _behind_body(data: bytes, body: StreamReader, before: int) -> int:
    """Return an upper limit for the bytes of an incomplete request head after a complete body in ``data``.

    ``before`` is the number of bytes of the body that arrived before ``data``.
    """
    # A chunked body ends with the same bytes as a head, and its last line may arrive alone.
    if data.endswith(_END_OF_HEAD) or not data.strip(b"\r\n"):
        return 0
    return len(data) - (body.total_bytes - before)

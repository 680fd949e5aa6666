"""A caller's connection: the heads of its requests are bounded in bytes and in time, and its errors name no software.

aiohttp bounds a header's length and how many there are, which together is a megabyte, and has no time for a head that
has begun.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web
from aiohttp.streams import StreamReader

from .answer import WholeAnswer, farewell
from .places import Places

# The API server sends ten headers of some 40 bytes, and one of 2 KiB where it has a token for the webhook.
MAX_HEAD_BYTES: Final = 16 * 1024
# A head is one packet or a few: it is here within some round trips, or nobody means to send it.
HEAD_SECONDS: Final = 5.0
# How long an answer may wait to be read: as long as the API server waits for an answer by default.
UNREAD_SECONDS: Final = 10.0
# What is read of a body before somebody takes it, and as much again; aiohttp's own is 256 KiB.
READ_BUFFER_BYTES: Final = 64 * 1024
_END_OF_HEAD: Final = b"\r\n\r\n"


class BoundedConnection(web.RequestHandler):
    """A connection that has a place, from when it is accepted until it is lost."""

    __slots__ = ("_body", "_head_bytes", "_head_timer", "_places", "_unread_timer", "proven", "shaking")

    def __init__(self, manager: web.Server, *, places: Places, **options: Any) -> None:
        """Be nobody's yet."""
        super().__init__(
            manager,
            access_log=None,  # type: ignore[arg-type] # what turns it off, says web.RequestHandler
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=False,
            **options,
        )
        self.proven = False
        """Whether it is known to be one of those that the port is for."""
        self._places = places
        self.shaking: asyncio.Task[Any] | None = None
        """The handshake, while it is under way."""
        self._body: StreamReader | None = None
        """Of the last request whose head has ended, while more of it is to come."""
        self._head_bytes = 0
        """How much is here of a head that has not ended."""
        self._head_timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None

    def prove(self) -> None:
        """Take note that this is one of those that the port is for."""
        if not self.proven:
            self.proven = True
            self._places.prove(self)

    def displace(self) -> None:
        """Give the place to somebody else."""
        if self.shaking is not None:
            self.shaking.cancel()
        if self._request_in_progress or self._head_bytes:
            self._leave(503, "too many connections; try again")
        else:
            self.force_close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to read: the handshake is done."""
        super().connection_made(transport)
        self._places.settle(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Give the place back."""
        self._places.leave(self)
        self._head_ended()
        self._answers_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Let aiohttp read, and see whether a head has begun that does not end."""
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
        if rest or self._head_bytes:
            self._begun(rest)

    def pause_writing(self) -> None:
        """Bound how long the caller may leave answers unread."""
        super().pause_writing()
        if self.transport is not None:
            self._unread_timer = self._loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it reads."""
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
        """Answer what is no HTTP, and say nothing of it: anybody may send it."""
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log_exception("a request could not be answered", exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has been sent already")
        return WholeAnswer(status, (message or "").encode("utf-8", "replace")[:200], close=True)

    def _begun(self, size: int) -> None:
        """Take note of how much of another head stands behind what has ended."""
        self._head_ended()
        if size > MAX_HEAD_BYTES:
            self.close()  # behind the answer to what has been asked
        elif size > 0:
            self._dribbled(size)

    def _dribbled(self, size: int) -> None:
        """Take note of more of a head that has not ended."""
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
            self._head_timer = self._loop.call_later(HEAD_SECONDS, self._late)  # first what was asked before
        else:
            self._leave(408, f"want the headers within {HEAD_SECONDS:.0f} s")

    def _leave(self, status: int, text: str) -> None:
        """Say why, and end."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(farewell(status, text))
        self.force_close()


def _behind_requests(data: bytes, body: StreamReader, *, single: bool) -> int:
    """Return how many bytes at most of another head stand behind the requests that ``data`` has completed the heads of.

    ``body`` is the last one's, and whole. ``single``: there is one request, and nothing of a body before it.
    """
    if single and (head := data.find(_END_OF_HEAD)) >= 0:
        return max(len(data) - head - len(_END_OF_HEAD) - body.total_bytes, 0)
    return len(data) - data.rfind(_END_OF_HEAD) - len(_END_OF_HEAD)


def _behind_body(data: bytes, body: StreamReader, before: int) -> int:
    """Return how many bytes at most of another head stand behind a body that has ended.

    ``before`` is how many bytes of the body were here before.
    """
    # A body in chunks ends like a head, of which the last line may come alone.
    if data.endswith(_END_OF_HEAD) or not data.strip(b"\r\n"):
        return 0
    return len(data) - (body.total_bytes - before)

"""What a connection does besides reading and writing: it lets others have their turn."""

import asyncio
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from podberth.port.connection import BoundedConnection
from podberth.port.slots import Places


class _Request:
    def _finish(self) -> None:
        """Nothing is open."""


class _Answer(web.StreamResponse):
    """An answer that is written without waiting, as those of podberth are."""

    async def prepare(self, _: web.BaseRequest) -> AbstractStreamWriter | None:
        """Write nothing."""
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Write nothing."""


@pytest.mark.parametrize("queued", [0, 1])
def test_between_two_pipelined_requests_of_one_caller_all_others_have_a_turn(queued: int) -> None:
    async def test() -> None:
        async def handler(_: web.BaseRequest) -> web.StreamResponse:
            raise NotImplementedError

        loop = asyncio.get_running_loop()
        connection = BoundedConnection(web.Server(handler), places=Places(), loop=loop)
        connection._messages.extend(cast("Any", [None] * queued))
        turns: list[str] = []
        loop.call_soon(turns.append, "another connection")
        await connection.finish_response(cast("web.BaseRequest", _Request()), _Answer(), None)
        assert turns == ["another connection"] * queued

    asyncio.run(test())

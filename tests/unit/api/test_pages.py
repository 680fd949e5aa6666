"""Lists are read page by page, and a page has no more bytes than a replica has room for."""

import asyncio
import json
from typing import Any

import pytest

from podberth.api.protocol import LARGEST_OBJECT_BYTES, LARGEST_PAGE_BYTES, NAMESPACE_PARAMS, AnswerLimits
from podberth.api.reflector import pages
from podberth.errors import TooLongError


class Listing:
    """A client that lists objects of one size, and refuses a page that is too long."""

    def __init__(self, count: int, size: int) -> None:
        self._count, self._size = count, size
        self.asked: list[int] = []

    async def get(self, _: object, query: dict[str, str], limits: AnswerLimits) -> bytes:
        size, start = int(query["limit"]), int(query.get("continue", 0))
        self.asked.append(size)
        end = min(start + size, self._count)
        if (end - start) * self._size > limits.most_bytes:
            raise TooLongError("garbled", "too long")
        items = [
            {"metadata": {"name": f"c{at}", "namespace": "vision", "resourceVersion": "1"}} for at in range(start, end)
        ]
        after = {"continue": str(end)} if end < self._count else {}
        return json.dumps({"metadata": {"resourceVersion": "1", **after}, "items": items}).encode()


def listed(client: Any) -> list[str]:
    async def body() -> list[str]:
        limits = AnswerLimits(1.0, LARGEST_PAGE_BYTES)
        return [
            one.name async for page in pages(client, NAMESPACE_PARAMS, size=100, limits=limits) for one in page.items
        ]

    return asyncio.run(body())


def test_a_hundred_objects_as_large_as_etcd_takes_are_listed_in_small_pages() -> None:
    client = Listing(100, 9 * 1024 * 1024)
    assert listed(client) == [f"vision/c{at}" for at in range(100)]
    assert client.asked == [100, 12, *[1] * 100]


def test_ordinary_objects_are_listed_in_one_page() -> None:
    client = Listing(100, 11 * 1024)
    assert len(listed(client)) == 100
    assert client.asked == [100]


def test_one_object_beyond_the_limit_is_an_error() -> None:
    with pytest.raises(TooLongError):
        listed(Listing(1, LARGEST_PAGE_BYTES + 1))
    assert LARGEST_PAGE_BYTES >= 5 * LARGEST_OBJECT_BYTES  # with each byte written as six

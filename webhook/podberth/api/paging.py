"""A list of the API server, page by page."""

from collections.abc import AsyncIterator
from typing import Final, Protocol

from ..kube.api_path import ApiPath
from .protocol import Page, Resource, read_page

PAGE: Final = 500
"""client-go's pager takes as many (tools/pager, defaultPageSize)."""


class Asks(Protocol):
    """What of ``client.ClusterClient`` is needed here."""

    async def get(self, path: ApiPath, query: dict[str, str]) -> bytes:
        """Return the body of an answer."""
        ...


async def pages(client: Asks, resource: Resource, *, size: int = PAGE) -> AsyncIterator[Page]:
    """Yield the pages of a list; whoever has enough leaves, and a page says whether there is a next.

    Raises:
        ClusterError: one cannot be had; its ``reason`` is ``expired`` where the list took too long.
    """
    token = ""
    while True:
        asked = {**resource.selection, "limit": str(size), **({"continue": token} if token else {})}
        page = read_page(await client.get(resource.path, asked), f"list of {resource.name}")
        yield page
        token = page.next_page
        if not token:
            return

"""Reads a list of the API server page by page."""

from collections.abc import AsyncIterator
from typing import Final, Protocol

from ..kube.api_path import ApiPath
from .protocol import Page, Resource, read_page

PAGE: Final = 500
"""The page size of client-go's pager (tools/pager, defaultPageSize)."""


class Asks(Protocol):
    """The part of ``client.ClusterClient`` that is needed here."""

    async def get(self, path: ApiPath, query: dict[str, str]) -> bytes:
        """Return the body of an answer."""


async def pages(client: Asks, resource: Resource, *, size: int = PAGE) -> AsyncIterator[Page]:
    """Yield the pages of a list; a caller that needs no more stops, and each page says whether there is a next one.

    Raises:
        ClusterError: a page cannot be read; its ``reason`` is ``expired`` if the list took too long.
    """
    token = ""
    while True:
        asked = {**resource.selection, "limit": str(size), **({"continue": token} if token else {})}
        body = await client.get(resource.path, asked)
        page = read_page(body, f"list of {resource.name}", of_all_namespaces=resource.of_all_namespaces)
        yield page
        token = page.next_page
        if not token:
            return

"""The page of ``podberth playground`` in a browser, for tests that look at it."""

import asyncio
from collections.abc import Awaitable, Callable

from browser import Page, browsing
from podberth.playground.live import LiveCluster
from podberth.playground.server import Playground
from podberth.playground.session import Session
from podberth.settings import Address

ANSWERED = "document.querySelector('#state').textContent.startsWith('answered')"
Look = Callable[[Page, Playground], Awaitable[None]]


def browse(
    address: str,
    look: Look,
    *,
    session: Session | None = None,
    live: LiveCluster | None = None,
    width: int = 1280,
    dark: bool = False,
) -> None:
    async def body() -> None:
        playground = Playground(session or Session(), live=live)
        await playground.start(Address("127.0.0.1", 0))
        try:
            async with browsing(address) as page:
                await page.open(playground.url, width=width, dark=dark)
                await page.until(ANSWERED)
                await look(page, playground)
        finally:
            await playground.stop()

    asyncio.run(body())


async def focus(page: Page, editor: str, *, end: bool = False) -> None:
    """Put the cursor at the start of an editor's text, or at its end."""
    await page.ask(f"document.querySelector('#{editor}').shadowRoot.querySelector('.cm-content').focus()")
    await page.press("End" if end else "Home", control=True)

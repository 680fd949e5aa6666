"""The port of probes: callers who ask without end leave the event loop to reviews."""

import asyncio

from podberth.probes import SharedPage


def test_callers_that_wait_for_a_page_share_one_that_is_made_after_they_have_asked() -> None:
    async def test() -> None:
        made = 0

        def make() -> bytes:
            nonlocal made
            made += 1
            return b"%d" % made

        page = SharedPage(make)
        assert await page.made() == b"1"
        assert await asyncio.gather(*(page.made() for _ in range(100))) == [b"2"] * 100
        assert await page.made() == b"3"

    asyncio.run(test())


def test_a_caller_that_leaves_takes_the_page_from_nobody() -> None:
    async def test() -> None:
        page = SharedPage(lambda: b"page")
        leaves, stays = asyncio.create_task(page.made()), asyncio.create_task(page.made())
        await asyncio.sleep(0)
        leaves.cancel()
        assert await stays == b"page"

    asyncio.run(test())


def test_a_page_that_could_not_be_made_is_made_again() -> None:
    async def test() -> None:
        contents = iter([b"page"])
        broken = [ValueError("a bug")]

        def make() -> bytes:
            if broken:
                raise broken.pop()
            return next(contents)

        page = SharedPage(make)
        outcomes = [*await asyncio.gather(page.made(), return_exceptions=True), await page.made()]
        assert [str(each) for each in outcomes] == ["a bug", "b'page'"]

    asyncio.run(test())

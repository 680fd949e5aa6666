"""The pictures of ``podberth topology show`` in a real browser: legible, whole, and with text for screen readers."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Page, browsing, running
from podberth.cli.main import main
from topology_scenes import HOSTILE, LOST, as_list, cluster, holders, hostile

# For every text in a picture: its place, its content, and its contrast with the box behind it.
LOOK = """
(() => {
  const light = fill => {
    const [r, g, b] = fill.match(/[0-9.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const svg = document.querySelector('svg');
  const frame = svg.viewBox.baseVal;
  const boxes = [...svg.querySelectorAll('rect')].map(rect => [rect.getBBox(), getComputedStyle(rect).fill]);
  return [...svg.querySelectorAll('text')].map(text => {
    const at = text.getBBox();
    const x = at.x + at.width / 2, y = at.y + at.height / 2;
    const below = boxes.filter(([b]) => b.x <= x && x <= b.x + b.width && b.y <= y && y <= b.y + b.height).at(-1);
    const [one, other] = [light(getComputedStyle(text).fill), light(below[1])].sort((a, b) => b - a);
    return {said: text.textContent, x: at.x, y: at.y, width: at.width, height: at.height,
            within: at.x >= 0 && at.y >= 0 && at.x + at.width <= frame.width && at.y + at.height <= frame.height,
            fits: below[0].width >= at.width, contrast: (one + 0.05) / (other + 0.05)};
  });
})()
"""
NODES = ("", "h100-5", "mig", "large", "bare", "evil<b>&")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Return the pictures of every node, and of the cluster under the empty name, by name and format."""
    folder = tmp_path_factory.mktemp("pictures")
    snapshot = folder / "snapshot.json"
    snapshot.write_text(json.dumps(as_list([*cluster(), *hostile(), *holders()])))
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for number, name in enumerate(NODES):
            for form in ("svg", "html"):
                found[name, form] = folder / f"{number}.{form}"
                with found[name, form].open("w", encoding="utf-8") as stream:
                    patch.setattr("sys.stdout", stream)
                    arguments = ["topology", "show", *filter(None, [name]), "--topology", str(snapshot), "-o", form]
                    assert main(arguments) == 0
    return found


@pytest.fixture(scope="module")
def browser(chromium: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(chromium, tmp_path_factory.mktemp("browser")) as address:
        yield address


def browse(address: str, look: Callable[[Page], Awaitable[None]]) -> None:
    async def body() -> None:
        async with browsing(address) as page:
            await look(page)

    asyncio.run(body())


def overlapping(texts: list[Any]) -> list[tuple[str, str]]:
    """Return texts that overlap. Neighbouring lines may touch, so a pixel is allowed."""
    return [
        (one["said"], other["said"])
        for number, one in enumerate(texts)
        for other in texts[number + 1 :]
        if min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"]) > 1
        and min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"]) > 3
    ]


@pytest.mark.parametrize("form", ["svg", "html"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_is_within_legible_and_alone(
    browser: str, pages: dict[tuple[str, str], Path], form: str, *, dark: bool
) -> None:
    async def look(page: Page) -> None:
        for name in NODES:
            file = pages[name, form]
            await page.open(file, dark=dark)
            texts = await page.ask(LOOK)
            assert texts
            assert [text for text in texts if not (text["within"] and text["fits"])] == []
            assert [text for text in texts if text["contrast"] < 4.5] == []
            assert overlapping(texts) == []

    browse(browser, look)


def test_nothing_comes_from_elsewhere_and_nothing_runs(browser: str, pages: dict[tuple[str, str], Path]) -> None:
    async def look(page: Page) -> None:
        for file in pages.values():
            await page.open(file)
            assert page.requested == [file.as_uri()]
            assert page.said == []
            assert await page.ask("document.querySelectorAll('script, img, b, link, iframe').length") == 0

    browse(browser, look)


def test_hostile_names_are_read_as_they_are(browser: str, pages: dict[tuple[str, str], Path]) -> None:
    async def look(page: Page) -> None:
        await page.open(pages["evil<b>&", "html"])
        shown = await page.ask("document.querySelector('main').innerText")
        assert HOSTILE.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e") in shown
        assert "<img src=x onerror=alert(1)>&\"']]>" in shown
        assert await page.ask("document.title") == "Node evil<b>&: unhealthy GPU"

    browse(browser, look)


def test_a_page_describes_its_picture_in_words(browser: str, pages: dict[tuple[str, str], Path]) -> None:
    async def look(page: Page) -> None:
        await page.open(pages["h100-5", "html"])
        names = await page.names()
        assert ("heading", "Node h100-5: unhealthy GPU") in names
        assert [name for role, name in names if role == "image"] == ["Node h100-5: unhealthy GPU"]
        assert ("cell", LOST) in names
        assert ("cell", "default/train-2") in names
        assert {"GPUs", "offers", "held by", "taints", "links between GPUs"} <= {
            name for role, name in names if role == "heading"
        }
        await page.open(pages["", "html"])
        assert {("cell", "h100-3"), ("cell", "cordoned"), ("cell", LOST)} <= set(await page.names())

    browse(browser, look)


@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_is_no_wider_than_its_window(browser: str, pages: dict[tuple[str, str], Path], width: int) -> None:
    async def look(page: Page) -> None:
        for name in NODES:
            await page.open(pages[name, "html"], width=width)
            assert await page.ask("document.documentElement.scrollWidth") <= width
            # Wider content scrolls inside the page: letters stay legible, and heads of columns are not broken.
            assert await page.ask("document.querySelector('svg').getBoundingClientRect().width") >= 600
            heads = await page.ask("[...document.querySelectorAll('th')].map(head => head.offsetHeight)")
            assert max(heads) < 40

    browse(browser, look)

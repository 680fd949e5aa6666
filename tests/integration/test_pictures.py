"""The pictures of ``podberth topology show`` in a real browser: legible, whole, and with text for screen readers."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from bench import clusters
from demo import cluster_of_shapes

from browser import Page, browsing, compare_picture
from builders import gpu_pod
from podberth.cli.main import main
from podberth.wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
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
# For every text of a page outside its picture: its content, and its contrast with the page behind it.
READ = """
(() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll('h1, h2, p, a, th, td, summary, strong, span')].map(each => {
    const [one, other] = [light(getComputedStyle(each).color), paper].sort((a, b) => b - a);
    return [each.textContent, (one + 0.05) / (other + 0.05)];
  });
})()
"""
# The folds that can be seen: of a closed one, only its summary.
FOLDS = "[...document.querySelectorAll('summary')].filter(each => each.checkVisibility()).map(each => each.innerText)"
NODES = ("", "h100-5", "mig", "large", "bare", "evil<b>&")
MANY = "many nodes"
PHONE, LAPTOP, WALL = 390, 1280, 2560
PICTURE = Path(__file__).parents[2] / "docs" / "topology.png"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Return the pictures of every node, and of the cluster under the empty name, by name and format.

    Under ``MANY`` is the page of a cluster with more nodes than are unfolded at first.
    """
    folder = tmp_path_factory.mktemp("pictures")
    snapshot, many = folder / "snapshot.json", clusters.write(folder / "many.json", 66, 22)
    snapshot.write_text(json.dumps(as_list([*cluster(), *hostile(), *holders()])))
    found = {}
    for number, name in enumerate(NODES):
        for form in ("svg", "html"):
            found[name, form] = folder / f"{number}.{form}"
            show(found[name, form], *filter(None, [name]), "--topology", str(snapshot), "-o", form)
    found[MANY, "html"] = folder / "many.html"
    show(found[MANY, "html"], "--topology", str(many), "-o", "html")
    return found


def show(file: Path, *arguments: str) -> None:
    """Write what ``podberth topology show`` prints to a file."""
    with pytest.MonkeyPatch.context() as patch, file.open("w", encoding="utf-8") as stream:
        patch.setattr("sys.stdout", stream)
        assert main(["topology", "show", *arguments]) == 0


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


def test_the_page_of_a_cluster_has_a_heading_for_each_part_and_the_state_of_each_node_in_words(
    browser: str, pages: dict[tuple[str, str], Path]
) -> None:
    async def look(page: Page) -> None:
        await page.open(pages["", "html"])
        names = await page.names()
        headings = [name for role, name in names if role == "heading"]
        assert headings[:3] == ["GPU topology", "GPUs by model", "nodes by domain"]
        assert {"gangs on nodes", "unhealthy nodes", "unhealthy GPUs"} <= set(headings)
        assert {("link", name) for name in headings[1:]} <= set(names)
        assert {("region", "picture"), ("group", "GPUs by model"), ("group", "nodes of leaf-0")} <= set(names)
        assert {("cell", "default/train"), ("cell", "3 of 4"), ("cell", "MIG 1g.5gb MIG 2g.10gb MIG 3g.20gb")} & set(
            names
        )
        assert {("cell", "large"), ("cell", "healthy"), ("cell", "MIG reconfiguring")} <= set(names)

    browse(browser, look)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_of_a_page_is_legible(browser: str, pages: dict[tuple[str, str], Path], *, dark: bool) -> None:
    async def look(page: Page) -> None:
        for name in (*NODES, MANY):
            await page.open(pages[name, "html"], dark=dark)
            texts = await page.ask(READ)
            assert len(texts) > 10
            assert [each for each in texts if each[1] < 4.5] == []

    browse(browser, look)


def test_paper_is_white(browser: str, pages: dict[tuple[str, str], Path]) -> None:
    async def look(page: Page) -> None:
        await page.open(pages["", "html"], dark=True)
        background = "getComputedStyle(document.body).backgroundColor"
        paper = "getComputedStyle(document.querySelector('svg > rect')).fill"
        assert await page.ask(background) == await page.ask(paper) == "rgb(13, 17, 23)"
        dark = [{"name": "prefers-color-scheme", "value": "dark"}]
        await page.send("Emulation.setEmulatedMedia", media="print", features=dark)
        assert await page.ask(background) == await page.ask(paper) == "rgb(255, 255, 255)"

    browse(browser, look)


def test_the_keyboard_reaches_and_opens_each_fold(browser: str, pages: dict[tuple[str, str], Path]) -> None:
    async def look(page: Page) -> None:
        await page.open(pages[MANY, "html"])
        folds = await page.ask(FOLDS)
        assert folds[0].startswith("the cluster")
        assert folds[-1] == "2 more"
        reached = []
        for _ in range(await page.ask("document.querySelectorAll('a, summary, [tabindex]').length")):
            await page.press("Tab")
            if await page.ask("document.activeElement.tagName") == "SUMMARY":
                reached.append(await page.ask("document.activeElement.innerText"))
        assert reached[: len(folds)] == folds
        await page.ask("document.querySelector('details:not([open]) > summary').focus()")
        await page.press("Enter")
        await page.until("document.activeElement.parentElement.open")

    browse(browser, look)


@pytest.mark.parametrize("width", [PHONE, LAPTOP, WALL])
def test_a_page_is_no_wider_than_its_window(browser: str, pages: dict[tuple[str, str], Path], width: int) -> None:
    async def look(page: Page) -> None:
        for name in (*NODES, MANY):
            await page.open(pages[name, "html"], width=width)
            await page.ask("document.querySelectorAll('details').forEach(each => { each.open = true; })")
            assert await page.ask("document.documentElement.scrollWidth") <= width
            # Wider content scrolls inside the page: letters stay legible, and heads of columns are not broken.
            assert await page.ask("document.querySelector('svg').getBoundingClientRect().width") >= 600
            lines = "getComputedStyle(head).lineHeight.replace('px', '')"
            heads = await page.ask(f"[...document.querySelectorAll('th')].map(head => head.offsetHeight / {lines})")
            assert max(heads) < 2

    browse(browser, look)


def test_ten_thousand_nodes_make_a_small_page_that_a_phone_can_show(browser: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    show(file, "--topology", str(clusters.write(tmp_path / "large.json", 10_000, 100)), "-o", "html")
    assert file.stat().st_size < 2_000_000

    async def look(page: Page) -> None:
        await page.open(file, width=PHONE)
        assert await page.ask("document.documentElement.scrollWidth") <= PHONE
        # The first screenful has the summary in full, and its letters are not shrunk.
        place = "document.querySelector('header').getBoundingClientRect()"
        assert await page.ask(f"{place}.bottom < innerHeight && {place}.right <= innerWidth")
        assert "10,000 nodes" in await page.ask("document.querySelector('header').innerText")
        assert await page.ask("parseFloat(getComputedStyle(document.querySelector('header p')).fontSize)") >= 12

    browse(browser, look)


def test_a_wall_shows_tables_beside_the_picture_in_larger_letters(
    browser: str, pages: dict[tuple[str, str], Path]
) -> None:
    async def look(page: Page) -> None:
        places = "[...document.querySelectorAll('main > div')].map(each => each.getBoundingClientRect().x)"
        letters = "parseFloat(getComputedStyle(document.querySelector('td')).fontSize)"
        await page.open(pages["", "html"], width=LAPTOP)
        assert len(set(await page.ask(places))) == 1
        size = await page.ask(letters)
        await page.open(pages["", "html"], width=WALL)
        left, right = await page.ask(places)
        assert right - left > WALL / 3
        assert await page.ask(letters) > 1.2 * size

    browse(browser, look)


def test_a_page_that_is_loaded_again_follows_its_file(browser: str, tmp_path: Path) -> None:
    async def look(page: Page) -> None:
        file = tmp_path / "live.html"
        show(file, "--simulate", "l4-1:2", "-o", "html", "--refresh", "1")
        await page.open(file)
        assert "2 nodes" in await page.ask("document.querySelector('header').innerText")
        show(tmp_path / "next.html", "--simulate", "l4-1:3", "-o", "html", "--refresh", "1")
        (tmp_path / "next.html").replace(file)
        await page.until("document.querySelector('header')?.innerText.includes('3 nodes')")
        assert page.said == []

    browse(browser, look)


def test_the_picture_of_the_documentation_is_of_this_page(browser: str, tmp_path: Path) -> None:
    """The page is of the simulated cluster of the demonstrations, with a gang in two racks and pods on shared GPUs."""
    snapshot, file = tmp_path / "snapshot.json", tmp_path / "page.html"
    pods = [
        gpu_pod(
            8,
            name=f"train-{index}",
            nodeName=f"gpu-h100-{index:02}",
            labels={GANG_LABEL: "train"},
            annotations={GANG_SIZE_ANNOTATION: "8"},
        )
        for index in range(5, 13)
    ]
    pods += [
        gpu_pod(units, name=f"pod-{node}", nodeName=node, resource=resource)
        for node, units, resource in (
            ("gpu-gb200-1", 4, "nvidia.com/gpu"),
            ("gpu-l40s-1", 6, "nvidia.com/gpu"),
            ("gpu-a100-mig-1", 7, "nvidia.com/mig-1g.5gb"),
            ("gpu-t4-shared-2", 3, "nvidia.com/gpu"),
        )
    ]
    pods[-1]["metadata"]["namespace"] = "team-b"
    nodes = cluster_of_shapes.nodes()
    nodes = [
        {**node, "spec": {**node.get("spec", {}), "unschedulable": node["metadata"]["name"] == "gpu-h100-16"}}
        for node in nodes
    ]
    snapshot.write_text(json.dumps(as_list([*nodes, *cluster_of_shapes.topology(), *pods])))
    arguments = ("--topology", str(snapshot), "--at", "2026-01-31T12:00:00Z", "--cluster-name", "demo", "-o", "html")
    show(file, *arguments)

    async def look(page: Page) -> None:
        await page.open(file)
        assert "divided at" in await page.ask("document.querySelector('main').innerText")
        await compare_picture(page, PICTURE)

    browse(browser, look)

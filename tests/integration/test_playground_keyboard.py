"""The page of ``podberth playground`` in a real browser by the keyboard alone."""

import asyncio
import json
from pathlib import Path

import pytest

from browser import Page
from controlplane.wait import wait_for
from playground_page import browse
from podberth.playground.server import Playground
from podberth.playground.session import POLICY, Session, session_of

# CodeMirror ignores keys for a list of completions that it has only just shown (``interactionDelay``).
_LIST_MILLISECONDS = 75


def test_everything_is_reached_by_the_keyboard_alone(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        reached: list[str] = []
        for _unused in range(40):
            await page.press("Tab")
            reached.append(await page.ask("(document.activeElement.closest('[id]') ?? document.activeElement).id"))
        wanted = [
            "namespace",
            "save",
            "open",
            "link",
            "policy",
            "workload",
            "cluster",
            "diff",
            "trace",
            "copy",
            "tests",
        ]
        found = list(dict.fromkeys(each for each in reached if each in wanted))
        assert found == wanted
        await page.ask("document.querySelector('.goto').focus()")
        await page.press("Enter")
        await page.until("document.activeElement.classList.contains('editor')")

    browse(browser, look)


def test_a_session_is_written_completed_and_saved_by_keys_alone(browser: str, tmp_path: Path) -> None:
    typed = "needs a label"
    inside = "document.querySelector('#policy').shadowRoot"

    async def tab_to(page: Page, name: str, *, back: bool = False) -> None:
        for _unused in range(10):
            if await page.ask("document.activeElement.id") == name:
                return
            await page.press("Tab", shift=back)
        pytest.fail(f"Tab does not reach {name}")

    async def replace_found(page: Page, found: str, typed: str) -> None:
        """Search a text, and type another one over it."""
        await page.press("f", control=True)
        await page.until(f"{inside}.activeElement?.name === 'search'")
        await page.press("a", control=True)
        for key in found:
            await page.press(key)
        await page.press("Enter")
        await page.press("Escape")
        for key in typed:
            await page.press(key)

    async def look(page: Page, _: Playground) -> None:
        await page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        await tab_to(page, "policy")
        await replace_found(page, "wants the label team", typed)
        await page.until(f"document.querySelector('#results').innerText.includes('{typed}')")
        await replace_found(page, "perContainer > 1", "perC")
        await page.until(f"{inside}.querySelector('.cm-completionInfo')?.innerText.includes('container')")
        await page.until(f"performance.now() > {await page.ask('performance.now()')} + {_LIST_MILLISECONDS}")
        await page.press("Enter")
        for key in " > 2":
            await page.press(key)
        await page.until("document.querySelector('#trace').innerText.includes('gpu.perContainer > 2 = true')")
        await tab_to(page, "save", back=True)
        await page.press("Enter")
        saved = tmp_path / "playground.json"
        await asyncio.to_thread(wait_for, saved.exists, what="the saved file")
        edited = POLICY.replace("wants the label team", typed).replace("perContainer > 1", "perContainer > 2")
        assert session_of(json.loads(saved.read_text(encoding="utf-8"))) == Session(policy=edited)
        assert page.said == []

    browse(browser, look)

"""The page of ``podberth playground`` in a real browser: typing, errors, undo, colours and windows."""

import asyncio
import json
from pathlib import Path

import pytest

from browser import Page, compare_picture
from playground_page import ANSWERED, browse, focus
from podberth.errors import UsageError
from podberth.playground.live import LiveCluster
from podberth.playground.server import Playground
from podberth.playground.session import CLUSTER, POLICY, WORKLOAD, Session

PICTURE = Path(__file__).parents[2] / "docs" / "playground.png"
DENYING = POLICY.replace("validationActions: [Warn]", "validationActions: [Deny]")
# The page reads a live cluster every ten seconds.
_FOLLOWED_SECONDS = 11


class Changing(LiveCluster):
    """A cluster with one machine more each time that it is read."""

    machines = 0

    async def text(self) -> str:
        type(self).machines += 1
        return f"topology: [{{shape: hgx-h100-8, count: {self.machines}}}]\n"


async def open_file(page: Page, content: str) -> None:
    """Choose a file with this content for *Open session*."""
    await page.ask(
        "(() => { const given = new DataTransfer(), file = document.querySelector('#file');"
        f" given.items.add(new File([{json.dumps(content)}], 'session.json')); file.files = given.files;"
        " file.dispatchEvent(new Event('change')); })()"
    )


def test_the_example_is_answered_with_nothing_from_elsewhere(browser: str) -> None:
    async def look(page: Page, playground: Playground) -> None:
        shown = await page.ask("document.querySelector('#answer').innerText")
        assert "Pod/default/train: mutated" in shown
        assert "a pod with several GPUs wants the label team" in shown
        assert "+  tolerations:" in shown
        taints = "5 by taints (nvidia.com/gpu:NoSchedule, sku=gpu:NoSchedule)"
        assert f"before: 0 of 5 nodes fit, with the pod's own tolerations; left out: {taints}" in shown
        assert "after: 3 of 5 nodes fit; left out: 2 by nodeSelector or affinity" in shown
        assert "gpu.perContainer > 1 = true" in shown
        assert "verdict: mutated" in shown
        assert {each.startswith(playground.url) for each in page.requested} == {True}
        assert page.said == []

    browse(browser, look)


def test_the_record_is_in_the_difference_if_the_user_ticks_it(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        shown = "document.querySelector('#diff').innerText.includes('podberth.io/applied')"
        assert await page.ask(shown) is False
        await page.ask("document.querySelector('#record').focus()")
        for expected in (True, False):
            await page.press(" ")
            assert await page.ask(shown) is expected

    browse(browser, look)


def test_typing_gives_the_next_answer_and_undo_the_one_before(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        await page.ask("document.querySelector('#state').textContent = ''")
        await focus(page, "workload", end=True)
        await page.write("---\napiVersion: v1\nkind: Pod\nmetadata: {name: second}\nspec:\n  containers: [{name: a}]\n")
        await page.until("document.querySelector('#results').innerText.includes('Pod/default/second: unchanged')")
        assert await page.ask("document.querySelector('#pod').options.length") == 2
        await page.press("z", control=True)
        await page.until("!document.querySelector('#results').innerText.includes('second')")

    browse(browser, look)


def test_a_live_cluster_is_followed_until_the_user_unticks_it(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        counted = "document.querySelector('#map').innerText.includes('before: 0 of {} nodes fit')"
        assert await page.ask("document.querySelector('#live').hidden") is False
        await page.until(counted.format(1))
        await page.until(counted.format(2))
        await page.ask("document.querySelector('#follow').click()")
        seen = Changing.machines
        await asyncio.sleep(_FOLLOWED_SECONDS)
        assert Changing.machines == seen
        assert page.said == []

    browse(browser, look, live=Changing(kubeconfig=None))


def test_a_live_cluster_that_cannot_be_read_is_said_to_be_so(browser: str) -> None:
    class Unreachable(LiveCluster):
        async def text(self) -> str:
            raise UsageError("nobody answers")

    async def look(page: Page, _: Playground) -> None:
        said = "the cluster cannot be read: nobody answers (not read yet)"
        await page.until(f"document.querySelector('#read').textContent === '{said}'")
        assert "nodes fit" not in await page.ask("document.querySelector('#map').innerText")

    browse(browser, look, session=Session(cluster=""), live=Unreachable(kubeconfig=None))


def test_without_a_live_cluster_nothing_offers_to_follow_one(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        assert await page.ask("document.querySelector('#live').hidden") is True

    browse(browser, look)


def test_an_error_is_marked_and_named_with_its_line_and_nothing_is_decided(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        line = next(number for number, text in enumerate(POLICY.split("\n"), 1) if "perContainer > 1" in text)
        assert f"error policy:{line} invalid: " in await page.ask("document.querySelector('#results').innerText")
        await page.until("document.querySelector('#policy').shadowRoot.querySelector('.cm-lintRange-error') !== null")
        marked = "document.querySelector('#policy').shadowRoot.querySelector('.cm-lintRange-error').textContent"
        assert await page.ask(marked) == "perContaine"
        shown = await page.ask("document.querySelector('#answer').innerText")
        assert "Pod/default/train: not decided" in shown
        assert shown.index("Policies\n") < shown.index(f"error policy:{line}") < shown.index("Pod/default/train")
        assert "not decided: the policy or the cluster has an error" in shown
        assert "before" not in shown

    session = Session(policy=POLICY.replace("gpu.perContainer > 1", "gpu.perContaine > 1"))
    browse(browser, look, session=session)


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        (Session(cluster=""), "no node is known: the cluster has none"),
        (Session(workload=""), "no pod is known: the workload has none without an error"),
    ],
)
def test_the_nodes_say_whether_a_node_or_a_pod_is_missing(browser: str, session: Session, reason: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        assert await page.ask("document.querySelector('#map').innerText") == reason
        said = "" if session.workload else "nothing to copy: the tests have no case"
        assert await page.ask("document.querySelector('#copied').textContent") == said

    browse(browser, look, session=session)


def test_a_denial_is_marked_in_the_workload(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        inside = "document.querySelector('#workload').shadowRoot"
        mark = f"{inside}.querySelector('.cm-lintRange-error')"
        await page.until(f"{mark} !== null")
        assert await page.ask(f"{mark}.closest('.cm-line') === {inside}.querySelector('.cm-line')")
        await focus(page, "workload")
        await page.press("M", control=True, shift=True)
        await page.until(f"{inside}.querySelector('.cm-panel-lint')?.innerText.includes('wants the label team')")

    browse(browser, look, session=Session(policy=DENYING))


def test_enter_keeps_the_indentation_and_adds_two_after_a_key_that_goes_on(browser: str) -> None:
    columns = {
        "metadata:": 2,
        "metadata:  # of the policy": 2,
        "metadata:\n  name: own": 2,
        "spec:\n  validations:": 4,
        "spec:\n  validations:\n  - expression: 'true'": 4,
        "spec:\n  mutations:\n  - topology:": 6,
        "spec:\n  validations:\n  - expression: >-": 6,
        "spec:\n  validations:\n  - expression: >-\n      a && b": 6,
        "args:\n- a": 0,
        "spec: {": 2,
        "spec: {\n  a: 1,": 2,
        "": 0,
    }

    async def look(page: Page, _: Playground) -> None:
        editor = "document.querySelector('#policy').shadowRoot.querySelector('.cm-content')"
        found = {}
        for text in columns:
            await open_file(page, json.dumps({"version": 1, "policy": text}))
            shown = f"[...{editor}.querySelectorAll('.cm-line')].map(each => each.textContent).join('\\n')"
            await page.until(f"{shown} === {json.dumps(text)}")
            await focus(page, "policy", end=True)
            await page.press("Enter")
            await page.write("x")
            found[text] = (await page.ask(f"{editor}.lastChild.textContent")).index("x")
        assert found == columns

    browse(browser, look)


def test_completion_and_explanation_come_from_the_server(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        await focus(page, "cluster", end=True)
        await page.write("obj")
        await page.press(" ", control=True)
        inside = "document.querySelector('#cluster').shadowRoot"
        await page.until(f"{inside}.querySelector('.cm-tooltip-autocomplete')?.innerText.includes('objects')")
        await page.press("Escape")
        assert page.said == []

    browse(browser, look)


def test_the_pointer_on_a_name_shows_its_meaning(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        await page.ask(
            "void (window.words = document.createTreeWalker(document.querySelector('#policy').shadowRoot"
            ".querySelector('.cm-content'), NodeFilter.SHOW_TEXT, each => "
            "each.textContent.includes('perContainer') ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP))"
        )
        x, y = await page.ask(
            "(() => { const node = words.nextNode(), range = new Range();"
            " const at = node.textContent.indexOf('perContainer');"
            " range.setStart(node, at); range.setEnd(node, at + 5); const box = range.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for step in (3, 0):
            await page.send("Input.dispatchMouseEvent", type="mouseMoved", x=x - step, y=y)
        inside = "document.querySelector('#policy').shadowRoot"
        await page.until(f"{inside}.querySelector('.cm-meaning')?.textContent.includes('Gpu.perContainer')")
        assert page.said == []

    browse(browser, look)


def test_the_panels_of_the_editor_need_no_style_that_the_policy_of_content_refuses(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        inside = "document.querySelector('#policy').shadowRoot"
        await focus(page, "policy")
        await page.press("f", control=True)
        await page.until(f"{inside}.querySelector('.cm-search') !== null")
        await page.press("Escape")
        await page.press("M", control=True, shift=True)
        await page.until(f"{inside}.querySelector('.cm-panel-lint') !== null")
        assert page.said == []
        await page.ask("document.body.setAttribute('style', 'color: red')")
        assert ["inline style" in each for each in page.said] == [True]

    browse(browser, look)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_are_legible_in_both_schemes_of_colours(browser: str, *, dark: bool) -> None:
    contrast = """
    (() => {
      const light = colour => {
        const [r, g, b] = colour.match(/[0-9.]+/g).map(Number).map(v => v / 255)
          .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = element => {
        for (let each = element; each; each = each.parentElement ?? each.getRootNode().host) {
          const colour = getComputedStyle(each).backgroundColor;
          if (!colour.startsWith('rgba')) return colour;
        }
      };
      const all = [document, ...[...document.querySelectorAll('.editor')].map(each => each.shadowRoot)]
        .flatMap(root => [...root.querySelectorAll('p, h1, h2, h3, li, span, code, button, .cm-line, .cm-line span')])
        .filter(each => each.offsetHeight && each.innerText?.trim());
      return all.map(each => {
        const [one, other] = [light(getComputedStyle(each).color), light(behind(each))].sort((a, b) => b - a);
        return [each.innerText.slice(0, 40), (one + 0.05) / (other + 0.05)];
      });
    })()
    """

    async def look(page: Page, _: Playground) -> None:
        found = await page.ask(contrast)
        assert len(found) > 50
        assert [each for each in found if each[1] < 4.5] == []
        paper = await page.ask("getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")

    browse(browser, look, dark=dark)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_is_no_wider_than_its_window(browser: str, width: int) -> None:
    async def look(page: Page, _: Playground) -> None:
        assert await page.ask("document.documentElement.scrollWidth") <= width
        columns = await page.ask(
            "getComputedStyle(document.querySelector('main')).gridTemplateColumns.split(' ').length"
        )
        assert columns == (1 if width == 360 else 2)

    browse(browser, look, width=width)


def test_a_long_name_of_a_field_wraps(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        assert "limits[nvidia.com/gpu]" in await page.ask("document.querySelector('#results').innerText")
        assert await page.ask("document.documentElement.scrollWidth") <= 390

    wrong = WORKLOAD.replace("nvidia.com/gpu: 4", "nvidia.com/gpu: 1.5")
    browse(browser, look, session=Session(workload=wrong), width=390)


def test_a_link_carries_the_session(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        await focus(page, "workload")
        await page.write("# ünïcode\n")
        await page.ask("document.querySelector('#link').click()")
        link = await page.ask("location.href")
        await page.open("about:blank")
        await page.open(link)
        await page.until(ANSWERED)
        first = "document.querySelector('#workload').shadowRoot.querySelector('.cm-line').textContent"
        assert await page.ask(first) == "# ünïcode"
        await focus(page, "workload")
        await page.write("# edited\n")
        await page.until(f"location.href !== {json.dumps(link)}")
        link = await page.ask("location.href")
        await page.open("about:blank")
        await page.open(link)
        await page.until(ANSWERED)
        assert await page.ask(first) == "# edited"

    browse(browser, look)


def test_the_address_has_no_session_until_the_user_asks_for_a_link(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        await page.ask("document.querySelector('#state').textContent = ''")
        await focus(page, "workload")
        await page.write("# edited\n")
        await page.until(ANSWERED)
        assert await page.ask("location.hash") == ""

    browse(browser, look)


def test_a_policy_about_a_namespace_without_labels_is_noted(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        shown = await page.ask("document.querySelector('#results').innerText")
        assert "nothing of namespace default is known" in shown

    chosen = "spec:\n  matchConstraints: {namespaceSelector: {matchLabels: {tier: dev}}}\n"
    browse(browser, look, session=Session(policy=POLICY.replace("spec:\n", chosen)))


def test_a_link_without_a_session_is_said_beside_the_answer(browser: str) -> None:
    reasons = {
        "bad!!": "it is cut off or changed",
        "eyJ2ZXJzaW9u": "got no JSON, want a session that the page has saved",
        "eyJ2ZXJzaW9uIjoyfQ==": "session: got version 2, want an object with version 1, as the playground saves it",
    }

    async def look(page: Page, playground: Playground) -> None:
        for link, why in reasons.items():
            await page.open("about:blank")
            await page.open(f"{playground.url}#{link}")
            await page.until(ANSWERED)
            state = await page.ask("document.querySelector('#state').textContent")
            assert state.endswith(f"; the link has no session: {why}")
            assert "Pod/default/train: mutated" in await page.ask("document.querySelector('#results').innerText")

    browse(browser, look)


def test_a_text_that_a_session_leaves_out_is_the_examples(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        await open_file(page, json.dumps({"version": 1, "policy": DENYING}))
        await page.until("document.querySelector('#results').innerText.includes('Pod/default/train: denied')")
        assert "before: 0 of 5 nodes fit" in await page.ask("document.querySelector('#map').innerText")

    browse(browser, look, session=Session(policy="", workload="", cluster="", namespace="other"))


def test_a_file_that_is_no_session_is_said_and_changes_no_text(browser: str) -> None:
    messages = {
        "{": "got no JSON, want a session that the page has saved",
        "[1]": "session: got a list, want an object with version 1, as the playground saves it",
        '{"version": 2}': "session: got version 2, want an object with version 1, as the playground saves it",
        '{"version": 1, "policy": 5}': "session: policy: got a number, want a string",
    }

    async def look(page: Page, _: Playground) -> None:
        for content, message in messages.items():
            await open_file(page, content)
            said = json.dumps(f"the file cannot be opened: {message}")
            await page.until(f"document.querySelector('#state').textContent === {said}")
        lines = "document.querySelector('#workload').shadowRoot.querySelectorAll('.cm-line').length"
        assert await page.ask(lines) == WORKLOAD.count("\n") + 1

    browse(browser, look)


def test_copied_tests_are_said_to_be_copied(browser: str) -> None:
    async def look(page: Page, playground: Playground) -> None:
        origin = playground.url.rsplit("/", 2)[0]
        allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        await page.send("Browser.grantPermissions", origin=origin, permissions=allowed)
        await page.send("Emulation.setFocusEmulationEnabled", enabled=True)
        await page.ask("document.querySelector('#copy').click()")
        await page.until("document.querySelector('#copied').textContent === 'copied'")
        await focus(page, "workload")
        await page.write("# another\n")
        await page.until("document.querySelector('#copied').textContent === ''")

    browse(browser, look)


def test_hostile_texts_are_shown_as_they_are(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        assert "<img src=x onerror=alert(1)>" in await page.ask("document.querySelector('#answer').innerText")
        assert await page.ask("document.querySelectorAll('img, iframe, #answer script').length") == 0
        assert page.said == []

    policy = POLICY.replace("wants the label team", "<img src=x onerror=alert(1)>")
    browse(browser, look, session=Session(policy=policy, cluster=CLUSTER))


def test_the_picture_of_the_documentation_is_of_this_page(browser: str) -> None:
    async def look(page: Page, _: Playground) -> None:
        await page.ask("document.querySelector('#state').textContent = 'answered'")
        await compare_picture(page, PICTURE)

    browse(browser, look)

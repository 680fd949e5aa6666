"""The site of the documentation: what `make docs` makes, and what each page says first and last."""

import json
import logging
import re
from html.parser import HTMLParser
from pathlib import Path

import docs_site
import pytest

from pages import ROOT, page

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md") if path.name != "README.md")

POLICIES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "policies").glob("*.md"))
# The other pages of the map; of certs/ and the decisions the first page.
ELSEWHERE = (
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/README.md",
    "certs/README.md",
    "docs/adr/README.md",
    "examples/README.md",
)
# Pages with tables of what was tried or is proved, and pages for contributors: their rows name tests.
PROOFS = {
    f"docs/{name}.md"
    for name in ("agent", "architecture", "install-reference", "never-lost", "precision", "security", "systems")
}


class References(HTMLParser):
    """What a browser loads with a page: scripts, styles, pictures and frames."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe"):
            self.loaded.append(given.get("src") or "")
        if tag == "link" and given.get("rel") != "canonical":
            self.loaded.append(given.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert docs_site.make(folder) == 0
    return folder


def test_the_site_has_every_page_and_finds_its_text(site: Path) -> None:
    found = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {name.replace(".md", ".html") for name in PAGES} <= found
    assert "docs/index.html" in found
    assert 'data-md-component="search"' in (site / "docs" / "index.html").read_text(encoding="utf-8")
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any(each["location"] == "docs/install.html#fail-closed" for each in index["docs"])


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    references = References()
    for path in site.rglob("*.html"):
        references.feed(path.read_text(encoding="utf-8"))
    assert len(references.loaded) > len(PAGES)
    assert [each for each in references.loaded if re.match(r"(\w+:)?//", each)] == []


def test_every_page_is_on_the_map_once() -> None:
    entries = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", page("docs/README.md"), re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert {Path(name).name for name in PAGES} <= set(entries)


def test_no_page_has_a_heading_twice() -> None:
    for name in PAGES:
        text = re.sub(r"^```.*?^```", "", page(name), flags=re.MULTILINE | re.DOTALL)
        headings = re.findall(r"^#+ .+", text, re.MULTILINE)
        assert len(headings) == len(set(headings)), name


def test_pages_of_proofs_alone_are_for_contributors() -> None:
    section = page("docs/README.md").partition("\n## For contributors\n")[2]
    assert [name for name in ("never-lost.md", "precision.md") if f"]({name})" not in section] == []


def test_a_link_that_leads_nowhere_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for folder in ("docs", "site"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs" / "README.md").write_text("# Map\n\n## Part\n\n- [A](a.md)\n", encoding="utf-8")
    (tmp_path / "docs" / "a.md").write_text("# A\n\n[b](README.md#nowhere) [c](c.md)\n", encoding="utf-8")
    monkeypatch.setattr(docs_site, "ROOT", tmp_path)
    with caplog.at_level(logging.WARNING):
        assert docs_site.make(tmp_path / "site") == 1
    assert "'README.md#nowhere'" in caplog.text
    assert "'c.md'" in caplog.text


@pytest.mark.parametrize("name", [*PAGES, *POLICIES, *ELSEWHERE])
def test_a_page_says_which_readers_it_is_for_and_which_page_is_next(name: str) -> None:
    lines = re.sub(r"\A<!--.*?-->\n\n", "", page(name)).rstrip().split("\n")
    assert lines[0].startswith("# ")
    assert re.fullmatch(r"\*For [^*]+\.\*", lines[2]), lines[2]
    assert re.fullmatch(r"Next: .*\[.+\]\(.+\).*\.", lines[-1]), lines[-1]


@pytest.mark.parametrize("name", sorted({*PAGES} - PROOFS))
def test_a_page_for_users_names_no_test_of_podberths(name: str) -> None:
    assert re.findall(r"`?tests/[\w/]+(?:\.py|`)", page(name)) == []

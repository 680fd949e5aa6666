"""``podberth docs`` prints the pages that messages name."""

import re
from pathlib import Path

import pytest

from podberth.cli.main import main

ROOT = Path(__file__).parents[3]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["docs", *words]) == 0
    return capsys.readouterr().out


def test_without_a_name_it_prints_the_map(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == (ROOT / "docs" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["status", "status.md", "docs/status.md"])
def test_a_page_has_the_name_that_messages_give_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, name) == (ROOT / "docs" / "status.md").read_text(encoding="utf-8")


def test_every_page_is_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    names = printed(capsys, "--list").split()
    assert {f"docs/{name}.md" for name in names} == {
        str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")
    }
    for name in names:
        assert printed(capsys, name)


@pytest.mark.parametrize("section", ["Let through", "let-through"])
def test_a_section_ends_before_the_next(section: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, f"docs/status.md#{section}")
    assert text.startswith("## Let through\n")
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 1
    assert text in (ROOT / "docs" / "status.md").read_text(encoding="utf-8")


def test_a_comment_of_a_sample_ends_no_section(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "policies/gang-topology#parameters")
    assert "\n# mode: preferred | required\n" in text
    assert "\n  mode: preferred\n" in text, "what is behind the comment"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("statu", "did you mean status?"),
        ("status#let-trough", "did you mean status#let-through?"),
        ("policy#resourceClaims", "did you mean mutations#resourceclaims?"),
        ("policy#gang", "did you mean expressions#gang or mutations#gang?"),
        ("policy#cel-variables", "did you mean expressions#variables or policy#variables?"),
        ("policy#cel-functions", "did you mean expressions#functions?"),
    ],
)
def test_a_wrong_name_has_the_nearest(name: str, nearest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", name]) == 2
    assert nearest in capsys.readouterr().err


def test_a_section_that_is_like_none_has_no_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "status#qqqq"]) == 2
    assert "did you mean" not in capsys.readouterr().err


def test_every_page_that_the_code_names_is_there() -> None:
    for path in (ROOT / "webhook").rglob("*.py"):
        text = re.sub(r"source=\(?\s*(\"[^\"]*\"\s*)+", "", path.read_text(encoding="utf-8"))
        for page, section in re.findall(r"\((?:see )?docs/([\w/.-]+\.md), ([A-Z][\w ]*)\)", text):
            assert section in (ROOT / "docs" / page).read_text(encoding="utf-8"), (path, page, section)

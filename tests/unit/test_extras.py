"""The commands that install podberth's extras: messages and pages say the same, and each extra is one that there is."""

import re
import tomllib

import pytest

from pages import ROOT
from podberth.errors import without_extra

EXTRAS = tuple(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "webhook").rglob("*.py"))
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_message_and_a_page_say_the_same_command(extra: str) -> None:
    error = ImportError("No module named 'some'")
    assert without_extra(error, extra) == (
        f"got No module named 'some', want podberth's extra {extra}; "
        f"do: pip install '.[{extra}]' in a checkout of podberth"
    )
    assert any(f"pip install '.[{extra}]'" in text for file, text in TEXTS.items() if file.endswith(".md"))


def test_no_text_names_podberth_as_a_package_of_an_index() -> None:
    assert {file for file, text in TEXTS.items() if "podberth[" in text or "pip install podberth" in text} == set()


def test_every_extra_that_is_asked_for_exists() -> None:
    asked = {extra for text in TEXTS.values() for extra in re.findall(r"without_extra\(error, ['\"](\w+)", text)}
    assert asked == set(EXTRAS)

"""The recipes of docs/recipes.md: each has tests that hold, lint finds nothing in them, and all are on the page."""

from pathlib import Path

import pytest
import recipe_page

from pages import ROOT
from podberth.cli.main import main

FOLDERS = sorted(path for path in (ROOT / "docs" / "recipes").iterdir() if path.is_dir())


def test_all_are_on_the_page() -> None:
    names = [name for section in recipe_page.SECTIONS.values() for name in section]
    assert sorted(names) == [path.name for path in FOLDERS]
    assert len(names) >= 20


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_a_recipe_promises_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(folder)]) == 0
    assert "ok " in capsys.readouterr().out


def test_lint_has_nothing_against_them() -> None:
    assert main(["lint", "docs/recipes"]) == 0

"""docs/security.md names, for each attacker, tests that exist, and a test for each thing that they cannot do."""

import re

import pytest

from pages import ROOT, page

PAGE = page("docs/security.md")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.endswith("| test |")]


def named_in(row: str) -> list[str]:
    """Return the tests that a row names."""
    return re.findall(r"`(tests/[^`]+)`", row)


@pytest.mark.parametrize("name", sorted({name for row in ROWS for name in named_in(row)}))
def test_a_test_that_the_page_names_exists(name: str) -> None:
    path, _, function = name.partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {function or 'test_'}", text, flags=re.MULTILINE)


@pytest.mark.parametrize("row", [row for row in ROWS if re.match(r"\| (cannot|is not)", row)])
def test_what_an_attacker_cannot_do_is_shown_by_a_test(row: str) -> None:
    assert named_in(row)


@pytest.mark.parametrize("attacker", ["tenant", "policy author", "stranger in the cluster network", "lying node"])
def test_every_attacker_has_rows_of_what_they_can_and_cannot_do(attacker: str) -> None:
    section = PAGE.partition(f"\n## A {attacker}\n")[2].partition("\n## ")[0]
    assert re.search(r"^\| cannot ", section, flags=re.MULTILINE)
    assert re.search(r"^\| can[ ,]", section, flags=re.MULTILINE)

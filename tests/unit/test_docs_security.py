"""docs/security.md names, for each thing that an attacker can or cannot do, a test that exists."""

import re
from itertools import pairwise

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
    assert re.search(rf"^(async )?def {function or 'test_.*'}\(", text, flags=re.MULTILINE)


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_test(row: str) -> None:
    last = row.removesuffix("|").rpartition("|")[2]
    assert named_in(last), "the column of tests is empty"


def test_every_table_has_a_column_of_tests() -> None:
    heads = [line for line, below in pairwise(PAGE.splitlines()) if below.startswith("|---")]
    assert heads
    assert all(line.endswith("| test |") for line in heads)


@pytest.mark.parametrize("attacker", ["tenant", "policy author", "stranger in the cluster network", "lying node"])
def test_every_attacker_has_rows_of_what_they_can_and_cannot_do(attacker: str) -> None:
    section = PAGE.partition(f"\n## A {attacker}\n")[2].partition("\n## ")[0]
    assert re.search(r"^\| cannot ", section, flags=re.MULTILINE)
    assert re.search(r"^\| can[ ,]", section, flags=re.MULTILINE)

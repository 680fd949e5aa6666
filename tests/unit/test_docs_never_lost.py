"""docs/never-lost.md has a row for each scenario, in the scenario's words, and counts that keep its promise."""

from collections import Counter
from typing import Any

import pytest

from e2e.load import Verdict
from e2e.never_lost.page import HEADER, ROWS, command, described
from e2e.never_lost.scenarios import Scenario, broken
from e2e.never_lost.stage import Outcome
from pages import page

SECTION = page("docs/never-lost.md").partition("\n## The table\n")[2].partition("\n## ")[0]
TABLE = [tuple(map(str.strip, line.strip("|").split("|"))) for line in SECTION.splitlines() if line.startswith("| ")]


def test_the_page_has_the_tables_columns_and_a_row_for_each_scenario() -> None:
    assert TABLE[0] == HEADER
    assert [(*row[:3], row[-1]) for row in TABLE[2:]] == [(*described(each), command(each)) for each in ROWS]


@pytest.mark.parametrize("scenario", ROWS, ids=lambda scenario: str(scenario.name))
def test_a_rows_counts_keep_its_promise(scenario: Scenario[Any]) -> None:
    [row] = [row for row in TABLE if row[-1] == command(scenario)]
    counts: Counter[Verdict] = Counter()
    most = None
    for verdict, cell in zip(Verdict, row[3:], strict=False):
        count, _, bound = cell.partition(" of ")
        counts[verdict] = int(count)
        most = int(bound) if bound else most
    assert broken(scenario, Outcome(counts, most, (), (), 0.0, 1)) == []
    assert counts[Verdict.RIGHT] > 50


def test_the_page_names_the_rate_and_an_example_that_its_rows_have() -> None:
    rates = [sum(int(cell.split()[0]) for cell in row[3:9]) / int(row[10]) for row in TABLE[2:]]
    assert f"{min(rates):.0f} to {max(rates):.0f} a second" in page("docs/never-lost.md")
    assert '"1 of 7"' in SECTION
    assert any("1 of 7" in row for row in TABLE[2:])


def test_the_page_says_how_many_rows_are_with_each_failure_policy() -> None:
    policies = Counter(row[1] for row in TABLE[2:])
    assert policies == {"Fail": 13, "Ignore": 1}
    assert "one row was tried, SIGKILL; the other 13 are with Fail" in page("docs/never-lost.md")


def outcome(most: int | None = 0, **counts: int) -> Outcome:
    return Outcome(Counter({Verdict[name]: count for name, count in counts.items()}), most, (), (), 0.0, 1)


BY_NAME = {each.name: each for each in ROWS}


@pytest.mark.parametrize(
    ("name", "seen", "said"),
    [
        ("rotation", outcome(RIGHT=1), []),
        ("rotation", outcome(RIGHT=1, REFUSED=1), ["refused: got 1, want none"]),
        ("rotation", outcome(RIGHT=1, UNANSWERED=1), ["API server away: got 1, want none"]),
        ("rotation", outcome(), ["right: got 0, want some"]),
        ("sigkill", outcome(3, RIGHT=1, REFUSED=3), []),
        ("sigkill", outcome(3, RIGHT=1, REFUSED=4), ["refused: got 4, want 3 at most"]),
        ("sigkill", outcome(3, RIGHT=1, UNMUTATED=1), ["not mutated: got 1, want none"]),
        ("sigkill-ignore", outcome(3, RIGHT=1, UNMUTATED=3), []),
        ("sigkill-ignore", outcome(3, RIGHT=1, REFUSED=1), ["refused: got 1, want none"]),
        ("host-cut-off", outcome(None, RIGHT=1, REFUSED=9), []),
        (
            "host-cut-off",
            outcome(None, RIGHT=1, WRONG=1, LOST=2),
            ["wrong patch: got 1, want none", "lost: got 2, want none"],
        ),
        ("etcd-pause", outcome(RIGHT=1, UNANSWERED=9), []),
    ],
)
def test_a_broken_promise_is_reported(name: str, seen: Outcome, said: list[str]) -> None:
    assert broken(BY_NAME[name], seen) == said

"""The shares of useful findings in docs/precision.md are those of the counts beside them."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "precision.md"
GOAL = 95
_ROW = re.compile(r"^\| (?P<name>.*) \| (?P<useful>\d+) \| (?P<noise>\d+) \| (?P<wrong>\d+) \| (?P<share>[\d.]+) % \|$")


def share(useful: int, findings: int) -> str:
    """Return a share in per cent; with a decimal where the rounded number would reach the goal and the share does not.

    >>> share(36, 38), share(255, 268)
    ('94.7', '95')
    """
    exact = 100 * useful / findings
    return f"{exact:.1f}" if exact < GOAL <= round(exact) else f"{exact:.0f}"


def test_no_share_is_rounded_to_the_goal() -> None:
    rows = [found for line in PAGE.read_text(encoding="utf-8").splitlines() if (found := _ROW.match(line))]
    wrong = {
        row["name"]: (row["share"], want)
        for row in rows
        if row["share"] != (want := share(useful := int(row["useful"]), useful + int(row["noise"]) + int(row["wrong"])))
    }

    assert len(rows) > 50
    assert wrong == {}

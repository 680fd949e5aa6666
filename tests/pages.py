"""The pages of the documentation for tests that compare them with the code: their text, tables and code spans."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def page(name: str) -> str:
    """Return the text of a page, by its path from the repository's root."""
    return (ROOT / name).read_text(encoding="utf-8")


def rows(text: str) -> dict[str, list[str]]:
    """Return the cells of every table row by the first code span of its first cell, or else by the cell."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("| ") and line.endswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            code = re.match(r"`([^`]+)`", cells[0])
            found.setdefault(code[1] if code else cells[0], cells)
    return found


def spans(text: str) -> set[str]:
    """Return every code span of a text, without its backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def labels_of_metrics(exposition: str) -> dict[str, set[str]]:
    """Return the labels of every metric of a page in Prometheus' text format; without when it was created."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in exposition.splitlines():
        if line.startswith("# TYPE "):
            name = line.split()[2]
            found[name] = set()
        elif not line.startswith("#"):
            found[name].update(re.findall(r'(\w+)="', line))
    return {name: labels for name, labels in found.items() if not name.endswith("_created")}


README, OPERATING = page("README.md"), page("docs/operating.md")
POLICY, MUTATIONS, EXPRESSIONS = page("docs/policy.md"), page("docs/mutations.md"), page("docs/expressions.md")
# What the three pages about policies say: no name has a row on two of them.
POLICY_ROWS, OPERATING_ROWS = rows(f"{POLICY}\n{MUTATIONS}\n{EXPRESSIONS}"), rows(OPERATING)

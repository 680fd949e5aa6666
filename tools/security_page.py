"""Write the table of rights of docs/security.md from the table that the tests compare with the manifests.

.venv/bin/python tools/security_page.py           # writes what has changed
.venv/bin/python tools/security_page.py --check   # writes nothing; exits with 1 and says what is stale
"""

import sys
from collections.abc import Iterator

from generated import ROOT, main, spliced

# The table is the tests' own: they hold every manifest to it.
sys.path.insert(0, str(ROOT / "tests"))

from deployment.rights_table import ROWS, Row

PAGE = "docs/security.md"
# A role that reads every kind of workload names sixty of them.
_MOST_NAMES = 6


def _lines() -> Iterator[str]:
    yield "| role | verbs | on | for | a thief can | guard | test |"
    yield "|---|---|---|---|---|---|---|"
    for row in ROWS:
        cells = (f"`{row.role}`", row.verbs.replace(" ", ", "), _resources(row), row.why, row.thief)
        tests = ", ".join(f"`{each}`" for each in row.proof.split())
        yield f"| {' | '.join((*cells, f'`{row.guard}`' if row.guard else '', tests))} |"


def _resources(row: Row) -> str:
    names = row.resources.split()
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{shown}{more}{f' in {row.namespace}' if row.namespace else ''}"


if __name__ == "__main__":
    sys.exit(main({PAGE: spliced(PAGE, {"rights": "\n".join(_lines())})}))

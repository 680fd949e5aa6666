"""Pods created while podberth and its cluster are disturbed: how many were refused, not mutated, wrong or lost.

GPU pods are created on a real API server with two replicas; a disturbance is repeated for as long as is said. Without
names all rows of docs/never-lost.md are played. What breaks its promise is said, and the exit code is 1.

    python -m bench.never_lost [--seconds 20] [NAME ...]
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from e2e.never_lost.hosts import lacking
from e2e.never_lost.local import local
from e2e.never_lost.page import HEADER, ROWS, row
from e2e.never_lost.scenarios import BEHIND_THE_SERVICE, SCENARIOS, Scenario, broken, play
from e2e.never_lost.service import service

from .figures import table

Rows = list[tuple[str, ...]]
Open = Callable[[Path], AbstractContextManager[Any]]

_STAGES: tuple[tuple[Open, tuple[Scenario[Any], ...]], ...] = ((local, SCENARIOS), (service, BEHIND_THE_SERVICE))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(each.name for each in ROWS))
    parser.add_argument("--seconds", type=float, default=20.0, help="of each; a round that has begun is finished")
    options = parser.parse_args()
    known = {each.name for each in ROWS}
    if unknown := set(options.names) - known:
        parser.error(f"NAME: got {', '.join(sorted(unknown))}, want some of {', '.join(sorted(known))}")
    rows: Rows = []
    problems = []
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        for number, (opened, scenarios) in enumerate(_STAGES):
            chosen = [each for each in scenarios if not options.names or each.name in options.names]
            problems += _played(opened, chosen, Path(name) / str(number), options.seconds, rows)
    print(table(HEADER, rows))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _played(opened: Open, scenarios: Sequence[Scenario[Any]], directory: Path, seconds: float, rows: Rows) -> list[str]:
    """Play scenarios on one stage, if there are any; add their rows, and return what was broken."""
    if not scenarios:
        return []
    directory.mkdir()
    if opened is service and (lack := lacking(directory)):
        return [f"{each.name}: left out, for no host can be made here: {lack}" for each in scenarios]
    found = []
    with opened(directory) as stage:
        for scenario in scenarios:
            outcome = play(stage, scenario, seconds)
            rows.append(row(scenario, outcome))
            found += [f"{scenario.name}: {problem}" for problem in broken(scenario, outcome)]
            print(scenario.name, *outcome.said, sep="\n  ", file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())

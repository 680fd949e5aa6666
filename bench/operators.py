"""Gangs that compete for machines: of operators that run here, and pods of those that do not. No speed, but counts.

In two pools of eight machines, half of them in each domain, four gangs want three machines each: without podberth, with
its policies as shipped, and with a policy that joins native PodGroups (tests/e2e/operators). The scheduler is the real
one. Prints the table of README.md and docs/systems.md.

    python -m bench.operators
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from e2e.operators.gangs import GANGS
from e2e.operators.makers import JOB, RUN_HERE, Maker
from e2e.operators.outcome import Outcome
from e2e.operators.pods_as_made import AS_MADE, Made
from e2e.operators.processes import install_crds, operators
from e2e.operators.stage import Mode, Stage, staged
from gotools.build import program

from .figures import table

_HEADER = ("gangs of", "podberth", "whole", "half-started", "outside one domain", "machines held", "all running after")
_PROGRAMS = ("training-operator", "trainer")
_OWN, _BY_HAND = "its own controller", "pods as its source makes them"


def main() -> None:
    """Play and print."""
    programs = {name: program(name) for name in _PROGRAMS}
    rows: list[Sequence[str]] = []
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        folder = Path(name)
        with staged(folder / "plain") as stage:
            install_crds(stage.plane)
            with operators(stage.plane, programs, folder / "operators"):
                rows += _rows(stage, (*RUN_HERE, *AS_MADE))
        with staged(folder / "grouped", job_gangs=True) as stage:
            for mode in (Mode.WITHOUT, Mode.SHIPPED):
                title = "Indexed Job, PodGroups by its controller (gate WorkloadWithJob)"
                rows.append(_row(title, _OWN, mode, stage.play(JOB, mode, grouped=True)))
    print(f"{len(GANGS)} gangs; 4 fit whole into one domain each.\n")
    print(table(_HEADER, rows))


def _rows(stage: Stage, makers: Sequence[Maker | Made]) -> Iterator[Sequence[str]]:
    """Yield three rows for each; played mode by mode, for another podberth takes longer than a play."""
    played = {(maker.title, mode): _played(stage, maker, mode) for mode in Mode for maker in makers}
    for maker in makers:
        how = _OWN if isinstance(maker, Maker) else _BY_HAND
        for mode in Mode:
            yield _row(maker.title, how, mode, played[maker.title, mode])


def _played(stage: Stage, maker: Maker | Made, mode: Mode) -> Outcome:
    outcome = stage.play(maker, mode)
    sys.stderr.write(f"{maker.title}, {mode}: {outcome}\n")
    return outcome


def _row(title: str, how: str, mode: Mode, outcome: Outcome) -> Sequence[str]:
    first = f"{title}: {how}" if mode is Mode.WITHOUT else ""
    counts = (outcome.whole, outcome.half, outcome.outside, outcome.machines)
    return (first, str(mode), *map(str, counts), f"{outcome.seconds:.1f} s")


if __name__ == "__main__":
    main()

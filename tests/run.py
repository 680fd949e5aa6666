"""`make test`: the tests that a change needs. `make test-all`, which is `--all`: every test that this machine can run.

The control plane is built here, and for `--all` the other programs in Go, before pytest would swallow the progress of
builds that take minutes the first time. Where they cannot be built, tests/conftest.py leaves out what needs them and
says so in the last line; with CI=true that is a failure.

The tests run in two lanes side by side (tests/lanes.py), each a run of pytest, for tests of processes wait most of
their time: one begins with those that need a control plane, the other with pure code, until they meet. The output of
the second is shown when the first has ended, and then the end of the first again.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

import pytest

from controlplane.build import BuildError, assets
from gotools import build as gotools
from lanes import ALL, CHANGE, Lane, lanes
from stage_times import TITLE

ROOT = Path(__file__).parents[1]


def main(*, everything: bool) -> int:
    """Build the programs that the tests need, run pytest, return its status."""
    os.chdir(ROOT)
    _build(everything=everything)
    with TemporaryDirectory() as folder:
        return side_by_side(*lanes(ALL if everything else CHANGE, Path(folder)))


def _build(*, everything: bool) -> None:
    """Build the control plane, or everything; an error is shown, and left to the tests that need what is missing."""
    programs: list[Callable[[], object]] = (
        [partial(gotools.program, name) for name in gotools.PROGRAMS] if everything else []
    )
    for build in (assets, *programs):
        try:
            build()
        except (BuildError, gotools.BuildError) as error:
            sys.stderr.write(f"{error}\n")


def side_by_side(first: Lane, second: Lane) -> int:
    """Run two lanes at the same time; return the status of the first that failed, or 0."""
    with TemporaryFile("w+") as log, _pytest(second, log) as behind, _pytest(first, subprocess.PIPE) as before:
        try:
            end = _show(before.stdout or ())
            statuses = [before.wait(), behind.wait()]
        except KeyboardInterrupt:  # both were sent it, too, and end as pytest does
            return int(pytest.ExitCode.INTERRUPTED)
        log.seek(0)
        _show(log)
    sys.stdout.write(f"\nthe tests {first.name}, above, ended so:\n{''.join(end)}")
    return next(filter(None, statuses), 0)


def _pytest(lane: Lane, output: IO[str] | int) -> subprocess.Popen[str]:
    color = f"--color={'yes' if sys.stdout.isatty() else 'no'}"
    command = [sys.executable, "-I", "-m", "pytest", "--durations=10", color, *lane.arguments]
    return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True)


def _show(lines: Iterable[str]) -> list[str]:
    """Write lines as they come; return those from the summary of folders on."""
    end: list[str] = []
    for line in lines:
        sys.stdout.write(line)
        sys.stdout.flush()
        end = [line] if f" {TITLE} " in line else [*end, line]
    return end


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every test, and not only those that a change needs")
    sys.exit(main(everything=parser.parse_args().all))

"""`make test`: every test that this machine can run; arguments are pytest's.

The control plane and the other programs in Go are built here, before pytest would swallow the progress of builds that
take minutes the first time. Where they cannot be, tests/conftest.py leaves out what needs them and says so in the last
line; with CI=true that is a failure.

Then tests/e2e runs in one pytest and all else in another, side by side: tests of processes wait most of their time.
What the second says is shown when the first has ended, and then the end of the first again.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import pytest

from controlplane.build import BuildError, assets
from gotools import build as gotools
from stage_times import TITLE

ROOT = Path(__file__).parents[1]
# About half of the time each: `seconds of each folder`, at the end of a run, tells.
LANES = ("tests/e2e",), ("--ignore=tests/e2e",)


def main(arguments: list[str]) -> int:
    """Build what is needed, run pytest, return its status."""
    os.chdir(ROOT)
    try:
        assets()
    except BuildError as error:
        sys.stderr.write(f"{error}\n")
    try:
        for name in gotools.PROGRAMS:
            gotools.program(name)
    except gotools.BuildError as error:
        sys.stderr.write(f"{error}\n")
    if arguments or (os.cpu_count() or 1) == 1:
        return int(pytest.main(["--durations=5", *arguments]))
    return side_by_side(*LANES)


def side_by_side(first: Sequence[str], second: Sequence[str]) -> int:
    """Run pytest twice at the same time, with these arguments; return the status of the first that failed, or 0."""
    with TemporaryFile("w+") as log, _pytest(second, log) as behind, _pytest(first, subprocess.PIPE) as before:
        try:
            end = _show(before.stdout or ())
            statuses = [before.wait(), behind.wait()]
        except KeyboardInterrupt:  # both were sent it, too, and end as pytest does
            return int(pytest.ExitCode.INTERRUPTED)
        log.seek(0)
        _show(log)
    sys.stdout.write(f"\npytest {' '.join(first)}, above, ended so:\n{''.join(end)}")
    return next(filter(None, statuses), 0)


def _pytest(arguments: Sequence[str], output: IO[str] | int) -> subprocess.Popen[str]:
    color = f"--color={'yes' if sys.stdout.isatty() else 'no'}"
    command = [sys.executable, "-I", "-m", "pytest", "--durations=5", color, *arguments]
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
    sys.exit(main(sys.argv[1:]))

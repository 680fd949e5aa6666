"""`make test`: every test that this machine can run; arguments are pytest's.

The control plane and the other programs in Go are built here, before pytest would swallow the progress of builds that
take minutes the first time. Where they cannot be, tests/conftest.py leaves out what needs them and says so in the last
line; with CI=true that is a failure.
"""

import os
import sys
from pathlib import Path

import pytest

from controlplane.build import BuildError, assets
from gotools import build as gotools

ROOT = Path(__file__).parents[1]


def main() -> int:
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
    return int(pytest.main(["--durations=5", *sys.argv[1:]]))


if __name__ == "__main__":
    sys.exit(main())

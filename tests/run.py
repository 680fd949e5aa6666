"""`make test`: every test that this machine can run; arguments are pytest's.

The control plane is built here, before pytest would swallow the progress of a build that takes minutes the first
time. Where it cannot be, tests/conftest.py leaves out what needs it and says so in the last line; with CI=true that is
a failure.
"""

import os
import sys
from pathlib import Path

import pytest

from controlplane.build import BuildError, assets

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Build what is needed, run pytest, return its status."""
    os.chdir(ROOT)
    try:
        assets()
    except BuildError as error:
        sys.stderr.write(f"{error}\n")
    return int(pytest.main(["--durations=5", *sys.argv[1:]]))


if __name__ == "__main__":
    sys.exit(main())

"""An admin's way through docs/install.md on a fresh cluster, timed: from `make images` to an uninstalled podberth.

    python -m bench.install

It needs what tests/containers needs: Debian's apt, root, containerd and the control plane.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from containers.built import Image, build
from containers.walk import Times, walk

from .figures import table


def main() -> int:
    """Walk, and print the seconds of each step."""
    program = shutil.which("containerd")
    if program is None:
        sys.stderr.write("bench.install: got no containerd on PATH; do: apt-get install containerd\n")
        return 3
    times = Times()
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        directory = Path(name)
        with times.step("`make images`, with packages and wheels at hand"):
            archives = build(directory / "dist")
        images = {each: Image.unpacked(archive, directory / each) for each, archive in archives.items()}
        walk(images, Path(program), directory, times)
    print(table(("step", "took"), [(step, f"{seconds:.1f} s") for step, seconds in times.steps.items()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

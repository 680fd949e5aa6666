"""`python -m images`: build both images, and their lists, into a folder."""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from . import archive, debian, spdx, wheels
from .archive import Origin
from .debian import DebianError, Package
from .interpreter import Interpreter
from .layers import Layer, pack
from .recipe import ACCOUNTS, DEBIAN_LEFT_OUT, HOME, PYTHON, RECIPES, SITE, WHEELS_LEFT_OUT, Recipe
from .wheels import WheelError

_ROOT = Path(__file__).parents[1]


class OriginError(RuntimeError):
    """What is built cannot be told; the message says what to do."""


class Build:
    """One build of both images; ``work`` is an empty folder."""

    def __init__(self, work: Path, cache: Path, origin: Origin, packages: Sequence[Package]) -> None:
        """Unpack Debian's packages, and pack the two layers that the images share."""
        self._work, self._cache, self._origin, self._packages = work, cache, origin, packages
        system = work / "debian"
        self._python = Interpreter(system)
        debian.unpack(packages, system)
        wheels.remove(system, DEBIAN_LEFT_OUT)
        for name, text in ACCOUNTS.items():
            _file(system / name).write_text(text, encoding="utf-8")
        _file(system / HOME / "bin" / "python").symlink_to(f"/usr/bin/{PYTHON}")
        self._python.compile(system, f"usr/lib/{PYTHON}")
        self._system = self._pack("Debian's Python", system)
        self._wheel = wheels.own(work / "wheel")
        self._own = self._pack("podberth", self._podberth(work / "podberth"))

    def image(self, recipe: Recipe, output: Path) -> None:
        """Write the archive of an image, and its list beside it."""
        held = wheels.locked(recipe.lock, self._python, self._cache)
        root = self._work / recipe.lock
        wheels.put(held, root)
        wheels.remove(root, WHEELS_LEFT_OUT)
        self._python.compile(root, SITE)
        layers = (self._system, self._pack(f"the wheels of {recipe.lock}.lock", root), self._own)
        file = output / f"{recipe.name}-{self._origin.version}.tar"
        digest = archive.write(file, recipe, layers, self._origin)
        contents = (self._packages, [*held, self._wheel])
        spdx.write(file.with_suffix(".spdx.json"), recipe, self._origin, digest, contents)
        sizes = (
            f"{file.stat().st_size / 1e6:.0f} MB, {sum(each.unpacked_bytes for each in layers) / 1e6:.0f} MB unpacked"
        )
        sys.stdout.write(f"{file}  {recipe.name}:{self._origin.version}  {digest}  {sizes}\n")

    def _podberth(self, root: Path) -> Path:
        wheels.put([self._wheel], root)
        self._python.compile(root, SITE)
        shipped = root / "etc" / "podberth" / "policies" / "shipped"
        shutil.copytree(root / SITE / "podberth" / "library" / "policies", shipped)
        (shipped.parent / "own").mkdir()  # where manifests/base mounts the ConfigMap
        return root

    def _pack(self, title: str, root: Path) -> Layer:
        return pack(title, root, root.with_suffix(".gz"), self._origin.epoch)


def exit_code(build: Callable[[], object]) -> int:
    """Build; return 0, or 3 with a message on stderr: packages or wheels cannot be had, git or dpkg gives no origin."""
    try:
        build()
    except (DebianError, OriginError, WheelError) as error:
        sys.stderr.write(f"{error}\n")
        return 3
    return 0


def main(output: Path) -> None:
    """Build both images into a folder. Raises DebianError, OriginError and WheelError."""
    output.mkdir(parents=True, exist_ok=True)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "podberth" / "images"
    cache.mkdir(parents=True, exist_ok=True)
    origin = _origin()
    sys.stderr.write("building both images: a few minutes; the first time packages and wheels are downloaded, too\n")
    os.environ["SOURCE_DATE_EPOCH"] = str(origin.epoch)
    with (cache / "lock").open("w") as lock, tempfile.TemporaryDirectory() as work:
        fcntl.flock(lock, fcntl.LOCK_EX)  # apt's folder, and pip's, are for one at a time
        build = Build(Path(work), cache, origin, debian.packages(cache / "apt"))
        for recipe in RECIPES:
            build.image(recipe, output)


def _origin() -> Origin:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _said("git", "log", "-1", "--format=%ct")
    revision = _said("git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    return Origin(project["version"], revision, int(epoch), _said("dpkg", "--print-architecture"))


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        reason = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else error
        raise OriginError(
            f"images: {' '.join(command[:2])}: got {reason}; want Debian, git, and a clone of the repository; "
            'do: docs/install.md, "Images"'
        ) from error


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m images", description=__doc__)
    parser.add_argument("--output", type=Path, default=_ROOT / "dist", help="the folder of the archives (default dist)")
    folder = parser.parse_args().output
    sys.exit(exit_code(lambda: main(folder)))

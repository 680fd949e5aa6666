"""Wheels: those of a lock, by their hashes, and podberth's own; put into a folder without running anything of them."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from installer import install
from installer.destinations import SchemeDictionaryDestination
from installer.sources import WheelFile
from installer.utils import parse_wheel_filename

from .interpreter import Interpreter
from .recipe import HOME, SITE

ROOT = Path(__file__).parents[1]


class WheelError(RuntimeError):
    """The wheels of a lock cannot be had; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel; ``sha256`` is of its file, in hex."""

    name: str
    version: str
    sha256: str
    file: Path


def locked(lock: str, python: Interpreter, cache: Path) -> list[Wheel]:
    """Return the wheels of a lock in requirements/, downloaded into ``cache`` where they are not there.

    pip refuses what has none of the lock's hashes, and says why. Raises WheelError where it does, or where it cannot
    download, or where a wheel in the cache has none of these hashes.
    """
    file = ROOT / "requirements" / f"{lock}.lock"
    text = file.read_bytes()
    folder = cache / f"wheels-{hashlib.sha256(text).hexdigest()[:16]}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=cache) as work:
            flags = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:")
            made = Path(work) / "made"
            try:
                python.pip("download", *flags, "--require-hashes", "--requirement", str(file), "--dest", str(made))
            except subprocess.CalledProcessError as error:
                got = f"got status {error.returncode} of pip download, and its lines above"
                raise WheelError(f"wheels: {got}, want the wheels of {file}; do: reach PyPI, or a mirror") from error
            made.rename(folder)
    found = sorted(map(_wheel, folder.iterdir()), key=lambda each: each.name)
    if wrong := [each.file for each in found if f"--hash=sha256:{each.sha256}".encode() not in text]:
        raise WheelError(f"wheels: got {wrong[0]}, want a hash of {file}; do: remove {folder}")
    return found


def own(folder: Path) -> Wheel:
    """Build podberth's wheel in a folder; SOURCE_DATE_EPOCH is its time. Raises subprocess.CalledProcessError."""
    command = (sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    [built] = folder.glob("*.whl")
    return _wheel(built)


def put(wheels: Iterable[Wheel], root: Path) -> None:
    """Put wheels into the virtual environment of an image, whose ``/`` is ``root``."""
    places = dict.fromkeys(("purelib", "platlib"), f"/{SITE}")
    places |= {"scripts": f"/{HOME}/bin", "data": f"/{HOME}", "headers": f"/{HOME}/include"}
    target = SchemeDictionaryDestination(
        places, interpreter=f"/{HOME}/bin/python", script_kind="posix", destdir=str(root)
    )
    for each in wheels:
        with WheelFile.open(each.file) as source:
            install(source=source, destination=target, additional_metadata={"INSTALLER": b"podberth images\n"})


def remove(root: Path, patterns: Iterable[str]) -> None:
    """Remove from a folder what is not wanted, by glob patterns; a copyright stays."""
    for path in [each for pattern in patterns for each in root.glob(pattern)]:
        if path.name == "copyright":
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()


def _wheel(file: Path) -> Wheel:
    parts = parse_wheel_filename(file.name)
    name = parts.distribution.lower().replace("_", "-")
    return Wheel(name, parts.version, hashlib.sha256(file.read_bytes()).hexdigest(), file)

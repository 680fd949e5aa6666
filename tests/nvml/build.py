"""The library: compiled once by the machine's C compiler against NVIDIA's nvml.h, and cached outside the clone."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

LIBRARY_NAME = "libnvidia-ml.so.1"

_SOURCE = Path(__file__).with_name("libnvidia-ml.c")
_FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC")


class BuildError(RuntimeError):
    """The library cannot be had; the message says what to do."""


def library(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder that holds the library, for LD_LIBRARY_PATH; it is built by the first call.

    The cache is ``${XDG_CACHE_HOME:-~/.cache}/podberth/nvml-<key>``, its key a digest of all that the library is made
    from. Two processes that ask at once build twice, and the same. Raises BuildError.
    """
    environ = os.environ if environ is None else environ
    compiler = shutil.which(environ.get("CC") or "cc", path=environ.get("PATH"))
    if compiler is None:
        raise BuildError(
            "tests/nvml: got no C compiler on PATH, want cc; install one (apt-get install gcc libc6-dev), or "
            "name it in CC"
        )
    header = _header()
    home = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "podberth"
    folder = home / f"nvml-{_key(header)}"
    if not (folder / LIBRARY_NAME).exists():
        home.mkdir(parents=True, exist_ok=True)
        _build_into(folder, compiler, header)
    return folder


def _header() -> Path:
    """Find NVIDIA's nvml.h in its wheel."""
    try:
        found = [file for file in files("nvidia-nvml-dev") or () if file.name == "nvml.h"]
    except PackageNotFoundError:
        found = []
    if not found:
        raise BuildError("tests/nvml: got no nvml.h, want it from nvidia-nvml-dev; do: make test, or pip install it")
    return Path(str(found[0].locate()))


def _key(header: Path) -> str:
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} {_FLAGS}".encode())
    for file in (_SOURCE, header):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _build_into(folder: Path, compiler: str, header: Path) -> None:
    """Build beside the place and move the whole folder there, so that nobody ever sees half of one."""
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}-partial-", dir=folder.parent) as work:
        made = Path(work) / "made"
        made.mkdir()
        command = [compiler, *_FLAGS, f"-I{header.parent}", "-o", str(made / LIBRARY_NAME), str(_SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stderr}")
        try:
            made.rename(folder)
        except OSError:
            if not (folder / LIBRARY_NAME).exists():  # else another process was faster
                raise

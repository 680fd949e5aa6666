"""The images' own Python, run on this machine from the folder that it is unpacked in.

The loader of its C library starts it, so neither root nor another Python of that version is needed. It says by itself
which wheels fit it, and compiles what it will run.
"""

import os
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .recipe import PYTHON


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python in the folder ``root``."""

    root: Path

    def run(self, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        """Run it with these arguments. Raises subprocess.CalledProcessError."""
        [loader] = self.root.glob("usr/lib*/ld-linux-*.so.*")
        [libraries] = self.root.glob("usr/lib/*-linux-gnu")
        command = (str(loader), "--library-path", str(libraries), str(self.root / "usr" / "bin" / PYTHON))
        own = {"PYTHONHOME": str(self.root / "usr"), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        subprocess.run((*command, *arguments), env={**os.environ, **own, **(environ or {})}, check=True)

    def pip(self, *arguments: str) -> None:
        """Run this environment's pip by it: pip is pure Python. Raises subprocess.CalledProcessError."""
        self.run("-m", "pip", *arguments, environ={"PYTHONPATH": sysconfig.get_path("purelib")})

    def compile(self, root: Path, *folders: str) -> None:
        """Compile what is below folders of ``root``, which will be ``/``.

        A file is known by its source's hash, which nobody checks (PEP 552): a time would have no meaning in a layer.
        """
        places = [str(root / each) for each in folders]
        how = ("--invalidation-mode", "unchecked-hash", "-s", str(root), "-p", "/")

        self.run("-m", "compileall", "-q", *how, *places)

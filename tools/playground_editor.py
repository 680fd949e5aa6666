"""Bundle the editor of `podberth playground` from tools/playground-editor; needs npm and its registry.

.venv/bin/python tools/playground_editor.py   # as `make playground-editor`: writes webhook/podberth/playground/static
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "tools" / "playground-editor"
STATIC = ROOT / "webhook" / "podberth" / "playground" / "static"
SUMS = SOURCE / "SHA256SUMS"
INPUTS = ("build.mjs", "editor.js", "package-lock.json", "package.json")
OUTPUTS = ("editor.LICENSES.txt", "editor.js")


def bundle(target: Path) -> None:
    """Install the locked packages outside the checkout, without their scripts, and write OUTPUTS into ``target``.

    Raises:
        subprocess.CalledProcessError: npm or the bundler failed.
    """
    with TemporaryDirectory() as directory:
        for name in INPUTS:
            shutil.copy(SOURCE / name, directory)
        npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(npm, cwd=directory, check=True)
        subprocess.run(["node", "build.mjs", target], cwd=directory, check=True)


def sums(static: Path) -> str:
    """Return the hashes of the inputs and of the outputs in ``static``, in the format of sha256sum."""
    files = [*((SOURCE / name, name) for name in INPUTS), *((static / name, f"static/{name}") for name in OUTPUTS)]
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {name}\n" for file, name in files)


def main() -> int:
    """Write the bundle and its hashes."""
    bundle(STATIC)
    SUMS.write_text(sums(STATIC), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The Go programs of this bench, built once and cached outside the clone, as the tests' control plane is."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

_MODULE = Path(__file__).parent / "go"
_PROGRAMS = ("typed", "load")


def programs() -> dict[str, Path]:
    """Return the executable of each Go program; the first call builds them, which takes a minute.

    The cache is ``${XDG_CACHE_HOME:-~/.cache}/podberth/bench-<key>``, its key a digest of the sources.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "podberth"
    folder = home / f"bench-{_key()}"
    if not folder.exists():
        home.mkdir(parents=True, exist_ok=True)
        _build_into(folder)
    return {name: folder / name for name in _PROGRAMS}


def _key() -> str:
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()}".encode())
    sources = sorted([_MODULE / "go.mod", _MODULE / "go.sum", *_MODULE.glob("*/*.go")])
    for source in sources:
        digest.update(str(source.relative_to(_MODULE)).encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _build_into(folder: Path) -> None:
    """Build beside the place and move there at once, so that nobody ever sees half of it."""
    if shutil.which("go") is None:
        raise SystemExit(
            "bench: needs Go 1.26+ for the webhook to compare with; got none on PATH; do: https://go.dev/dl/"
        )
    environ = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}-partial-", dir=folder.parent))
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"]
    try:
        subprocess.run(["go", "build", *flags, "-o", f"{partial}/", "./..."], cwd=_MODULE, env=environ, check=True)
        partial.rename(folder)
    except OSError:
        # Another process was faster.
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)

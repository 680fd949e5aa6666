"""A demonstration as a process: its environment, and what it leaves behind."""

import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def environ(directory: Path) -> Mapping[str, str]:
    """Return an environment in which all temporary files are below `directory`."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "webhook"), "TMPDIR": str(directory)}


def leftovers(directory: Path) -> list[str]:
    """Return the demonstration's files below `directory`, and the processes that have one of them as an argument."""
    processes = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        processes += [command] if str(directory) in command else []
    return [*map(str, directory.glob("podberth-demo-*")), *processes]

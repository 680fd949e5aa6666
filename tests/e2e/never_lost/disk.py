"""A disk that is small enough to be full at will: a tmpfs that only the process on it sees, and that ends with it."""

import subprocess
from contextlib import suppress
from pathlib import Path

# A log of some hundred reviews.
_SIZE = "256k"
_MOUNT = f'mount -t tmpfs -o size={_SIZE} podberth-tests "$0"'
_BLOCK = b"\0" * 4096


class Disk:
    """Where one replica logs to, started by `prefix`. Who may not mount has /dev/full instead, always full."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self.mounted = _may_mount(folder)
        self.prefix: tuple[str, ...] = ("sh", "-c", 'exec "$@" >/dev/full', "sh")
        if self.mounted:
            script = f'{_MOUNT} && exec "$@" >>"$0/podberth.log"'
            self.prefix = ("unshare", "--mount", "sh", "-c", script, str(folder))

    def fill(self, pid: int) -> None:
        """Leave no room on it; `pid` is the process that is on it."""
        if self.mounted:
            with self._filler(pid).open("ab", buffering=0) as filler, suppress(OSError):  # ENOSPC: that is it
                while filler.write(_BLOCK):
                    pass

    def free(self, pid: int) -> None:
        """Make room again."""
        if self.mounted:
            self._filler(pid).unlink()

    def _filler(self, pid: int) -> Path:
        return Path(f"/proc/{pid}/root{self._folder}/filler")


def _may_mount(folder: Path) -> bool:
    try:
        command = ("unshare", "--mount", "sh", "-c", _MOUNT, str(folder))
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False

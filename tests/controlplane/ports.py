"""Free TCP ports that clusters started side by side never hand out twice."""

import errno
import fcntl
import os
import random
import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO

# Below Linux's default range for outgoing connections (32768 to 60999, ip(7)), so that no client's
# source port, of which a control plane opens hundreds, takes one of ours between the check and the bind,
# or while a component is down for a restart on its old port.
_LOWEST, _HIGHEST = 20000, 32767
_TRIES = 1000


class Ports:
    """Ports of 127.0.0.1, each reserved among all users of this class on the machine until `release`.

    A lock file per port, held open and locked: the kernel drops it with the process that holds it.
    """

    def __init__(self) -> None:
        self._held = ExitStack()

    def take(self) -> int:
        """Reserve a port on which nobody listens."""
        # The user's id is in the name because another user's lock files can't be opened for writing.
        folder = Path(tempfile.gettempdir()) / f"podberth-ports-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        for _ in range(_TRIES):
            port = random.randint(_LOWEST, _HIGHEST)  # noqa: S311 - to spread, not to hide
            handle = (folder / str(port)).open("w")
            if _lock(handle) and _nobody_listens(port):
                self._held.enter_context(handle)
                return port
            handle.close()
        message = f"no free port of 127.0.0.1 found in {_TRIES} tries from {_LOWEST} to {_HIGHEST}"
        raise OSError(errno.EADDRINUSE, message)

    def release(self) -> None:
        """Let others have the ports."""
        self._held.close()


def _lock(handle: IO[str]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _nobody_listens(port: int) -> bool:
    with socket.socket() as probe:
        # As Go listens: a port in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

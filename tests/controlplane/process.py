"""The processes of one control plane: started with a log each, ended by their own ids."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .wait import wait_for

# The API server lets requests in flight finish first; seen: below 1 s. Past this bound it is killed.
_PATIENCE_SECONDS = 10.0
_TAIL_LINES = 25


class ComponentError(RuntimeError):
    """A component did not start or did not stay; the message ends with the tail of its log."""


class PortTakenError(ComponentError):
    """A component found its port taken: the start may be tried again with others."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How one component is started, and how to tell that it works.

    `ready` is asked until it says True; `environ` is the whole environment, so that a proxy or a
    KUBECONFIG of the caller's has no say.
    """

    name: str
    command: tuple[str, ...]
    environ: Mapping[str, str]
    log: Path
    ready: Callable[[], bool]


class Guard:
    """Ends the processes it watches if this process dies without a chance to (see guard.py)."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("guard.py")
        # A session of its own: the terminal's Ctrl-C must reach us and not it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(script)], stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    @property
    def pid(self) -> int:
        """The guard's own process id."""
        return self._process.pid

    def tell(self, verb: str, pid: int) -> None:
        """Send an order: "watch" or "release" and a process id."""
        if self._process.stdin is None:
            message = "the guard was started without a pipe"
            raise ComponentError(message)
        self._process.stdin.write(f"{verb} {pid}\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """Close the pipe, on which the guard ends what it still watches and then itself."""
        with suppress(BrokenPipeError):
            self._process.communicate(timeout=_PATIENCE_SECONDS)


class Component:
    """One running component."""

    def __init__(self, launch: Launch, guard: Guard) -> None:
        """Start it, its output appended to `launch.log`; `wait_ready` tells when it works."""
        self.launch = launch
        self._guard = guard
        self._log_start = launch.log.stat().st_size if launch.log.exists() else 0
        with launch.log.open("ab") as log:
            # A session of its own: the terminal's Ctrl-C reaches us alone, and we stop in order.
            self._process = subprocess.Popen(
                launch.command,
                env=dict(launch.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        guard.tell("watch", self._process.pid)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def wait_ready(self, timeout_seconds: float) -> None:
        """Return once it works; raise ComponentError where it ends first or takes too long."""
        name = self.launch.name

        def ready() -> bool:
            status = self._process.poll()
            if status is None:
                return self.launch.ready()
            tail = self.log_tail()
            error = PortTakenError if "address already in use" in tail else ComponentError
            message = f"{name} ended with status {status} before it was ready:\n{tail}"
            raise error(message)

        try:
            wait_for(ready, timeout_seconds=timeout_seconds, what=f"{name} to be ready")
        except TimeoutError as error:
            message = f"{error}; its log ends:\n{self.log_tail()}"
            raise ComponentError(message) from error

    def log_tail(self) -> str:
        """Return the last lines it has logged since this start, with the log's path above them."""
        with self.launch.log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        return "\n".join([f"[{self.launch.log}]", *lines[-_TAIL_LINES:]])

    def stop(self) -> None:
        """End it: SIGTERM, then SIGKILL after ten seconds. Returns when it is gone."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with suppress(BrokenPipeError):
            self._guard.tell("release", self._process.pid)

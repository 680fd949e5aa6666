"""The processes of one control plane: started with a log each, ended by their own ids."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .wait import wait_for

# The API server lets requests in flight finish first, and podberth drains; seen: 1.1 s and 2.3 s. Past this bound it is
# killed, which costs what is in flight: so the bound is one that no busy machine reaches.
_PATIENCE_SECONDS = 60.0
# The guard, if it has to, gives each of five components 5 s.
_GUARD_SECONDS = 30.0
_TAIL_LINES = 25
GO: Final = {"GOGC": "400", "GOMEMLIMIT": "1500MiB"}
"""Variables of programs in Go: they collect garbage a quarter as often. It took 40% of the time of an API server that
gets CRDs (https://go.dev/doc/gc-guide)."""


class ComponentError(RuntimeError):
    """A component did not start or did not stay; the message ends with the tail of its log."""


class PortTakenError(ComponentError):
    """A component found its port taken: the start may be tried again with others."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How one component is started, and how to see that it works.

    `ready` is asked until it says True; a `ready_file` that it looks for is removed before each start.
    `environ` is the whole environment, so that a proxy or a KUBECONFIG of the caller's has no say.
    """

    name: str
    command: tuple[str, ...]
    environ: Mapping[str, str]
    log: Path
    ready: Callable[[], bool]
    ready_file: Path | None = None


@contextmanager
def interruptible() -> Iterator[None]:
    """Start processes as a terminal does: SIGINT ends those that the block starts, even where it is ignored here.

    A shell without job control ignores SIGINT in what it runs in the background, as nohup's SIGHUP, and a process
    inherits that over exec (signal(7)). A handler is not inherited: the child has the default action.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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

    def send(self, verb: str, pid: int) -> None:
        """Send an order: "watch" or "release" and a process id."""
        if self._process.stdin is None:
            raise ComponentError("the guard was started without a pipe")
        self._process.stdin.write(f"{verb} {pid}\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """Close the pipe, on which the guard ends what it still watches and then itself."""
        with suppress(BrokenPipeError):
            self._process.communicate(timeout=_GUARD_SECONDS)


class Component:
    """One running component."""

    def __init__(self, launch: Launch, guard: Guard) -> None:
        """Start it, its output appended to `launch.log`; `wait_ready` returns when it works."""
        self.launch = launch
        self._guard = guard
        if launch.ready_file:
            launch.ready_file.unlink(missing_ok=True)
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
        guard.send("watch", self._process.pid)

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
            error = PortTakenError if "address already in use" in self._log() else ComponentError
            raise error(f"{name} ended with status {status} before it was ready:\n{self.log_tail()}")

        try:
            wait_for(ready, timeout_seconds=timeout_seconds, what=f"{name} to be ready")
        except TimeoutError as error:
            raise ComponentError(f"{error}; its log ends:\n{self.log_tail()}") from error

    def log_tail(self) -> str:
        """Return the last lines it has logged since this start, with the log's path above them."""
        return "\n".join([f"[{self.launch.log}]", *self._log().splitlines()[-_TAIL_LINES:]])

    def check(self) -> None:
        """Raise ComponentError where it has ended by itself."""
        if (status := self._process.poll()) is not None:
            raise ComponentError(f"{self.launch.name} ended with status {status}:\n{self.log_tail()}")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hold it still until the block ends."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    @property
    def ended(self) -> bool:
        """Whether it has ended, by itself or because it was asked to."""
        return self._process.poll() is not None

    def ask_to_end(self) -> None:
        """Send SIGTERM, once, and wait for nothing."""
        self._process.terminate()

    def stop(self, *, crash: bool = False) -> None:
        """End it with SIGTERM, then SIGKILL after a minute; a `crash` is SIGKILL at once. It is gone then."""
        if crash:
            self._process.kill()
        else:
            self._process.terminate()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with suppress(BrokenPipeError):
            self._guard.send("release", self._process.pid)

    def _log(self) -> str:
        with self.launch.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

"""The servers that are measured: each a process on the core that is theirs, beside a generator on another one.

The two cores are the first and the second of those that this process may use. Only one server is under load at a time,
so all of them share the one core.
"""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from controlplane.credentials import Credentials
from controlplane.ports import Ports
from controlplane.wait import wait_for

from .gobuild import programs

_CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE = _CORES[0]
LOAD_CORE = _CORES[1 % len(_CORES)]

CONNECTIONS = 25
"""Kept-alive connections: as many as the API server keeps idle to one webhook (client-go, transport/cache.go)."""

# A server that loads its policies and a snapshot of 10,000 nodes is up well within it.
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
# A run sends fewer than this number; so no two runs send a review of the same number.
_SERIALS = itertools.count(0, 250_000)
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server under measurement."""

    name: str
    port: int
    path: str
    pid: int

    def cpu_seconds(self) -> float:
        """Return the processor time used so far (proc_pid_stat(5): utime and stime)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def resident_mib(self) -> float:
        """Return the memory it holds (proc_pid_status(5): VmRSS)."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one run of the generator saw."""

    requests: int
    pods: int
    rps: float
    cpu_us: float
    """Processor time of the server per review."""
    pod_us: float
    """Processor time of the server per pod, both reviews where both are sent."""
    p50_ms: float
    p99_ms: float
    allowed: float
    """Share of the reviews that were allowed."""
    patched: float
    """Share of the reviews that got a patch."""
    operations: float
    """Operations of a patch on average."""
    warnings: float
    """Warnings per review."""
    generator: float
    """Share of its core that the generator used; near 1.0 it is the generator that was measured."""


class Servers:
    """Starts servers, and stops them when left."""

    def __init__(self, folder: Path, credentials: Credentials) -> None:
        """Keep logs below ``folder``."""
        self._folder = folder
        self._credentials = credentials
        self._stack = ExitStack()
        self._ports = Ports()
        self._stack.callback(self._ports.release)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what was started, last first."""
        self._stack.close()

    def port(self) -> int:
        """Reserve a port."""
        return self._ports.take()

    def typed(self, decode: str = "pod") -> Server:
        """Start the Go webhook; ``decode`` is "pod" or "uid"."""
        port = self.port()
        files = ["-cert", str(self._credentials.serving_cert), "-key", str(self._credentials.serving_key)]
        command = [str(programs()["typed"]), "-listen", f"127.0.0.1:{port}", "-decode", decode, *files]
        return self.start(f"go-{decode}", command, port)

    def bare_aiohttp(self, *patch: str, core: int | None = SERVER_CORE) -> Server:
        """Start aiohttp with a handler that decides nothing; ``patch`` is a JSON Patch to give each pod."""
        port = self.port()
        files = [str(self._credentials.serving_cert), str(self._credentials.serving_key)]
        return self.start(
            "aiohttp", [sys.executable, "-m", "bench.bare_aiohttp", str(port), *files, *patch], port, core=core
        )

    def podberth(
        self,
        name: str,
        *,
        policies: Path,
        topology: Path,
        core: int | None = SERVER_CORE,
        program: str = "podberth",
    ) -> Server:
        """Start podberth with these policies and this snapshot; ``program`` is the Python module to run."""
        port = self.port()
        command = [
            *(sys.executable, "-m", program, "serve"),
            *("--policies", str(policies), "--topology", str(topology)),
            *("--listen", f"127.0.0.1:{port}", "--metrics-listen", f"127.0.0.1:{self.port()}"),
            *("--self-signed", str(self.certificates(name)), "--drain-seconds", "0"),
        ]
        return self.start(name, command, port, core=core)

    def certificates(self, name: str) -> Path:
        """Return the folder in which a podberth of that name keeps its certificates, ``ca.crt`` among them."""
        return self._folder / f"{name}-certificates"

    def start(self, name: str, command: Sequence[str], port: int, *, core: int | None = SERVER_CORE) -> Server:
        """Start one, pinned to a core (None: to none), and return it when it accepts connections."""
        log = self._folder / f"{name}.log"
        with log.open("wb") as output, pinned(core):
            process = subprocess.Popen(command, stdout=output, stderr=output)
        self._stack.callback(_stop, process)

        def listens() -> bool:
            if process.poll() is not None:
                raise SystemExit(f"bench: {name} ended with status {process.returncode}:\n{log.read_text()[-4000:]}")
            # LISTEN is state 0A (proc_net_tcp): looked up, so that no failed handshake stands in the server's log.
            listening = f"0100007F:{port:04X} 00000000:0000 0A"
            return listening in Path("/proc/net/tcp").read_text()

        wait_for(listens, timeout_seconds=_START_SECONDS, what=f"{name} to listen; its log is {log}")
        return Server(name=name, port=port, path="/mutate", pid=process.pid)


@contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Let what is started meanwhile run on this core only; Go and aiohttp alike then see a machine of one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before if core is None else {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def load(server: Server, bodies: Path, *, seconds: float, connections: int = CONNECTIONS) -> Load:
    """Send reviews for so long, none twice; raise SystemExit where an answer is not as it must be."""
    seen = _run(server, bodies, seconds, "-connections", str(connections), "-path", server.path)
    if seen.allowed != 1.0:
        raise SystemExit(f"bench: {server.name}: share of the reviews that were allowed: {seen.allowed:.4f}, want 1")
    return seen


def create(server: Server, bodies: Path, *, seconds: float, members: int) -> Load:
    """Send both reviews of each pod for so long; pods of ``members`` in turn are of one workload, each workload new."""
    return _run(server, bodies, seconds, "-both", "-members", str(members), "-connections", str(CONNECTIONS))


def _run(server: Server, bodies: Path, seconds: float, *flags: str) -> Load:
    command = [str(programs()["load"]), "-address", f"127.0.0.1:{server.port}", "-bodies", str(bodies), *flags]
    bounds = ["-seconds", str(seconds), "-serial", str(next(_SERIALS))]
    before = server.cpu_seconds()
    with pinned(LOAD_CORE):
        # The generator ends by itself; its own bound of a run is 5 minutes.
        done = subprocess.run([*command, *bounds], capture_output=True, text=True, check=False, timeout=360)
    used = server.cpu_seconds() - before
    if done.returncode:
        raise SystemExit(f"bench: load on {server.name}: {done.stderr}")
    seen: dict[str, Any] = json.loads(done.stdout)
    count = seen["requests"]
    if seen["errors"]:
        raise SystemExit(f"bench: {server.name}: {count} answers, {seen['errors']} errors; {seen['first_error']}")
    return Load(
        requests=count,
        pods=seen["pods"],
        rps=seen["rps"],
        cpu_us=used / count * 1e6,
        pod_us=used / seen["pods"] * 1e6,
        p50_ms=seen["p50_ms"],
        p99_ms=seen["p99_ms"],
        allowed=seen["allowed"] / count,
        patched=seen["patched"] / count,
        operations=seen["operations"] / max(seen["patched"], 1),
        warnings=seen["warnings"] / count,
        generator=seen["generator_cpu_seconds"] / seen["seconds"],
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

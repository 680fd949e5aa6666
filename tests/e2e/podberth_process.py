"""`podberth serve` as a process of the tests' own: started as a user starts it, ended by its id."""

import base64
import json
import os
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from controlplane.api import CONNECTION_ERRORS
from controlplane.ports import Ports
from controlplane.process import Component, Guard, Launch

ROOT = Path(__file__).parents[2]
POLICIES = ROOT / "policies"

# It is ready within a second here; the bound is for a CI machine under load.
_READY_SECONDS = 60.0
_REVIEWS = 'podberth_admission_duration_seconds_count{path="'
# What is asked once, and is to be answered however busy the machine is.
ANSWER_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the apiserver reaches a webhook, and by which CA it knows it; `ca_bundle` is base64, as in clientConfig."""

    url: str
    ca_bundle: str


class Podberth:
    """One `podberth serve`, on ports that stay the same over restarts."""

    def __init__(
        self,
        directory: Path,
        snapshot: Path | None,
        policies: Path = POLICIES,
        *,
        kubeconfig: Path | None = None,
        reload_seconds: float = 2.0,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare; `start` starts it. Certificates and log go to `directory`.

        Without a snapshot it follows the cluster that `kubeconfig` names. `environ` is added to its environment.
        """
        self.directory = directory
        self._ports = Ports()
        self._port, self._metrics_port = self._ports.take(), self._ports.take()
        self._guard = Guard()
        self._running: Component | None = None
        directory.mkdir(parents=True, exist_ok=True)
        command = (
            *(sys.executable, "-m", "podberth", "serve"),
            *("--policies", str(policies), "--topology", str(snapshot or "cluster")),
            *(("--kubeconfig", str(kubeconfig)) if kubeconfig else ()),
            *("--listen", f"127.0.0.1:{self._port}", "--metrics-listen", f"127.0.0.1:{self._metrics_port}"),
            # Nobody routes to it but the apiserver, which asks again: there is nobody to wait for.
            *("--self-signed", str(directory), "--drain-seconds", "0"),
            *("--reload-seconds", str(reload_seconds)),
        )
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "webhook"), **(environ or {})}
        self._launch = Launch("podberth", command, variables, directory / "podberth.log", self._ready)

    def start(self) -> None:
        """Start it and return once it says that it is ready."""
        if self._running is None:
            self._running = Component(self._launch, self._guard)
        self._running.wait_ready(_READY_SECONDS)

    def begin(self) -> None:
        """Start it, and let it become ready or not."""
        if self._running is None:
            self._running = Component(self._launch, self._guard)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._running is not None
        return self._running.pid

    def probe(self, timeout_seconds: float = ANSWER_SECONDS) -> tuple[int, str]:
        """Return status and text of its readiness; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self._metrics_port}/readyz", timeout=timeout_seconds
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except CONNECTION_ERRORS:
            return 0, ""

    def stop(self) -> None:
        """End it; the port refuses connections from then on."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def close(self) -> None:
        """End it for good."""
        try:
            self.stop()
        finally:
            self._guard.close()
            self._ports.release()

    def __enter__(self) -> Self:
        """Return it, started."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it for good."""
        self.close()

    @property
    def endpoint(self) -> Endpoint:
        """Where it is to be called; the CA is that of its latest start."""
        ca = (self.directory / "ca.crt").read_bytes()
        return Endpoint(f"https://127.0.0.1:{self._port}", base64.b64encode(ca).decode())

    def metrics(self) -> Mapping[str, float]:
        """Return its metrics by name and labels, as they stand in the text format."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics_port}/metrics", timeout=ANSWER_SECONDS) as answer:
            return parse_metrics(answer.read().decode())

    def asked(self) -> Counter[str]:
        """Return how many reviews it has answered, by path: as soon as one has its answer, it is counted."""
        counted: Counter[str] = Counter()
        for name, value in self.metrics().items():
            if name.startswith(_REVIEWS):
                counted[name.removeprefix(_REVIEWS).partition('"')[0]] += int(value)
        return counted

    def _ready(self) -> bool:
        try:
            # Two seconds and not more: it is asked again.
            with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics_port}/readyz", timeout=2):
                return True
        except CONNECTION_ERRORS:
            return False


def logged(file: Path, message: str = "") -> list[dict[str, Any]]:
    """Return the lines of a log whose message begins so.

    A thread of podberth's writes them, after what they tell of: they are to be waited for. The last one may be there
    in part.
    """
    whole = file.read_text().rpartition("\n")[0]
    found = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
    return [line for line in found if line["msg"].startswith(message)]


def parse_metrics(text: str) -> dict[str, float]:
    """Return the samples of a page in Prometheus' text format: `name{labels}` -> value."""
    samples = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}

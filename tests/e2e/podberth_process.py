"""podberth as processes of the tests' own: started as a user starts them, ended by their ids."""

import base64
import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from controlplane.api import CONNECTION_ERRORS
from controlplane.ports import Ports
from controlplane.process import Component, Guard, Launch

ROOT = Path(__file__).parents[2]
POLICIES = ROOT / "policies"
MACHINE = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "webhook")}
"""The variables with which `python -m podberth` finds what it needs, and no more."""

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


def empty(directory: Path) -> Path:
    """Return a folder without policies, for whoever serves the GPUPolicies of the cluster alone."""
    folder = directory / "no-policies"
    folder.mkdir(exist_ok=True)
    return folder


class Process:
    """One process of podberth's, on ports that stay the same over restarts.

    `host` is the address that it is reached at, and `prefix` the command that it is started by: one that goes to
    another host, or to another disk, and becomes podberth, the `program`. Its `arguments` and `variables` are for its
    kind to say.
    """

    readiness = "/readyz"

    def __init__(
        self,
        directory: Path,
        *,
        host: str = "127.0.0.1",
        prefix: Sequence[str] = (),
        program: Sequence[str] = (sys.executable, "-m", "podberth"),
    ) -> None:
        """Prepare: ports are taken, and nothing runs. Its log, and what is written for it, are in `directory`."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.host = host
        self.log = directory / "podberth.log"
        self.arguments: Sequence[str] = ()
        self.variables: Mapping[str, str] = {}
        self._command = (*prefix, *program)
        self._ports, self._guard = Ports(), Guard()
        self.port, self.metrics_port = self._ports.take(), self._ports.take()
        self._running: Component | None = None

    def begin(self, **variables: str) -> None:
        """Start it where it does not run, ready or not; `variables` are added to its own."""
        if self._running is None:
            command = (*self._command, *self.arguments)
            environ = {**MACHINE, **self.variables, **variables}
            launch = Launch(f"podberth {self.arguments[0]}", command, environ, self.log, self.ready)
            self._running = Component(launch, self._guard)

    def wait_ready(self) -> None:
        """Return once it says that it is ready; raises ComponentError with the end of its log, where it does not."""
        self.running.wait_ready(_READY_SECONDS)

    def start(self, **variables: str) -> None:
        """Start it where it does not run, and return once it is ready."""
        self.begin(**variables)
        self.wait_ready()

    def stop(self, *, crash: bool = False) -> None:
        """End it, which drains first, or by a `crash` at once; its ports refuse connections from then on."""
        if self._running is not None:
            # Meanwhile it says itself that it is not ready.
            self._running.stop(crash=crash)
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
    def runs(self) -> bool:
        """Whether it was begun and not stopped."""
        return self._running is not None

    @property
    def running(self) -> Component:
        """What runs; it must have been begun."""
        assert self._running is not None, "podberth: was not begun"
        return self._running

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.running.pid

    def probe(self, timeout_seconds: float = ANSWER_SECONDS) -> tuple[int, str]:
        """Return status and text of its readiness; 0 where nobody answers."""
        try:
            with self._get(self.readiness, timeout_seconds) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except CONNECTION_ERRORS:
            return 0, ""

    def ready(self) -> bool:
        """Return whether it says that it is."""
        # Two seconds and not more: it is asked again.
        return self.runs and self.probe(timeout_seconds=2.0)[0] == HTTPStatus.OK

    def metrics(self) -> Mapping[str, float]:
        """Return its metrics by name and labels, as they stand in the text format."""
        with self._get("/metrics", ANSWER_SECONDS) as answer:
            return parse_metrics(answer.read().decode())

    def _get(self, path: str, timeout_seconds: float) -> http.client.HTTPResponse:
        url = f"http://{self.host}:{self.metrics_port}{path}"
        return cast("http.client.HTTPResponse", urllib.request.urlopen(url, timeout=timeout_seconds))


class Podberth(Process):
    """One `podberth serve` with a certificate of its own."""

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
        super().__init__(directory)
        self.arguments = (
            *("serve", "--policies", str(policies), "--topology", str(snapshot or "cluster")),
            *(("--kubeconfig", str(kubeconfig)) if kubeconfig else ()),
            *("--listen", f"127.0.0.1:{self.port}", "--metrics-listen", f"127.0.0.1:{self.metrics_port}"),
            # Nobody routes to it but the apiserver, which asks again: there is nobody to wait for.
            *("--self-signed", str(directory), "--drain-seconds", "0"),
            *("--reload-seconds", str(reload_seconds)),
        )
        self.variables = environ or {}

    @property
    def endpoint(self) -> Endpoint:
        """Where it is to be called; the CA is that of its latest start."""
        ca = (self.directory / "ca.crt").read_bytes()
        return Endpoint(f"https://127.0.0.1:{self.port}", base64.b64encode(ca).decode())

    def asked(self) -> Counter[str]:
        """Return how many reviews it has answered, by path: as soon as one has its answer, it is counted."""
        counted: Counter[str] = Counter()
        for name, value in self.metrics().items():
            if name.startswith(_REVIEWS):
                counted[name.removeprefix(_REVIEWS).partition('"')[0]] += int(value)
        return counted


def logged(file: Path, message: str = "") -> list[dict[str, Any]]:
    """Return the lines of a log whose message begins so.

    A thread of podberth's writes them after the events that they report, so a test has to wait for them. The last line
    may be incomplete.
    """
    whole = file.read_text().rpartition("\n")[0]
    found = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
    return [line for line in found if line["msg"].startswith(message)]


def parse_metrics(text: str) -> dict[str, float]:
    """Return the samples of a page in Prometheus' text format: `name{labels}` -> value."""
    samples = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}

"""`podberth controller` as processes of the tests' own, each with a token of the ServiceAccount of manifests/."""

import os
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from controlplane.api import CONNECTION_ERRORS
from controlplane.cluster import ControlPlane
from controlplane.ports import Ports
from controlplane.process import Component, Guard, Launch

from .access import enter
from .podberth_process import ROOT, parse_metrics

# It is ready within a second here; the bound is for a CI machine under load.
_READY_SECONDS = 60.0
LEASE = "/apis/coordination.k8s.io/v1/namespaces/podberth-system/leases/podberth-controller"


class Controller:
    """One replica."""

    def __init__(self, plane: ControlPlane, directory: Path, *, missing_after: float = 1.0, policies: str = "") -> None:
        """Prepare; `start` starts it. Log, token and kubeconfig go to `directory`."""
        directory.mkdir(parents=True)
        self.log = directory / "controller.log"
        self._ports = Ports()
        self._port = self._ports.take()
        self._guard = Guard()
        self._running: Component | None = None
        command = (
            *(sys.executable, "-m", "podberth", "controller", "--missing-after", str(missing_after)),
            *("--kubeconfig", str(enter(plane, directory, account="podberth-controller"))),
            *("--metrics-listen", f"127.0.0.1:{self._port}"),
            *(("--policies", policies) if policies else ()),
        )
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "webhook")}
        self._launch = Launch("controller", command, variables, self.log, self._ready)

    def start(self) -> None:
        """Start it, and return once it is ready."""
        self._running = Component(self._launch, self._guard)
        self._running.wait_ready(_READY_SECONDS)

    def stop(self, *, crash: bool = False) -> None:
        """End it; `crash` gives it no time to let go of its Lease."""
        if self._running is not None:
            self._running.stop(crash=crash)
            self._running = None

    def metrics(self) -> Mapping[str, float]:
        """Return its metrics by name and labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
            return parse_metrics(answer.read().decode())

    def leads(self) -> bool:
        """Tell whether it says that it leads; one that does not answer in time does not."""
        try:
            return self._running is not None and self.metrics()["podberth_controller_leads"] == 1.0
        except CONNECTION_ERRORS:
            return False

    def __enter__(self) -> Self:
        """Return it, started."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it for good."""
        self.close()

    def close(self) -> None:
        """End it for good."""
        try:
            self.stop()
        finally:
            self._guard.close()
            self._ports.release()

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=2):
                return True
        except CONNECTION_ERRORS:
            return False


def holder(plane: ControlPlane) -> str:
    """Return who holds the Lease; empty: nobody does."""
    return str(plane.api.read(LEASE)["spec"].get("holderIdentity") or "")

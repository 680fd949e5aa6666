"""A container of the shipped manifests as a process: what a kubelet would start, where there is none.

Its arguments, its variables and its readiness probe are the manifest's. Of the variables only those are set anew that
name a place of the machine: `PLACES`.
"""

import http.client
import os
import sys
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from controlplane.api import CONNECTION_ERRORS
from controlplane.ports import Ports
from controlplane.process import Component, Guard, Launch

from .podberth_process import POLICIES, ROOT

# Seconds here; the bound is for a machine under load.
_READY_SECONDS = 60.0

PLACES = ("PODBERTH_POLICIES", "PODBERTH_KUBECONFIG", "PODBERTH_LISTEN", "PODBERTH_METRICS_LISTEN")
"""The variables that say where files and ports are; in a pod the image, its ServiceAccount and its address say so."""


class Container:
    """One container of the webhook's Deployment."""

    def __init__(self, container: Mapping[str, Any], directory: Path, policies: Path = POLICIES) -> None:
        """Prepare: ports are taken, and nothing runs. Its log, and what is written for it, are in `directory`."""
        self.directory = directory
        self._policies = policies
        self._container = container
        self._ports, self._guard = Ports(), Guard()
        self.port, self._metrics_port = self._ports.take(), self._ports.take()
        self._running: Component | None = None
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        """Where it answers reviews; its certificate has that address among its names."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What it has written."""
        return self.directory / "podberth.log"

    @property
    def runs(self) -> bool:
        """Whether it was begun and not stopped."""
        return self._running is not None

    def environ(self, kubeconfig: Path) -> dict[str, str]:
        """Return the container's variables, with this machine's places among them."""
        given = {each["name"]: each["value"] for each in self._container["env"]}
        places = (self._policies, kubeconfig, f"127.0.0.1:{self.port}", f"127.0.0.1:{self._metrics_port}")
        return given | dict(zip(PLACES, map(str, places), strict=True))

    def begin(self, kubeconfig: Path) -> None:
        """Start it, with the way to the API server that its ServiceAccount has in a pod."""
        machine = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "webhook")}
        command = (sys.executable, "-m", "podberth", *self._container["args"])
        launch = Launch("podberth", command, self.environ(kubeconfig) | machine, self.log, self.ready)
        self._running = Component(launch, self._guard)

    def wait_ready(self) -> None:
        """Return once its readiness probe succeeds."""
        if self._running is None:
            raise RuntimeError("podberth: was not begun")
        self._running.wait_ready(_READY_SECONDS)

    def drain(self) -> None:
        """End it as a kubelet ends a pod that is deleted, with SIGTERM; it answers until it has drained."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def stop(self) -> None:
        """End it at once, as a node that goes away does; the port refuses connections from then on."""
        if self._running is not None:
            self._running.stop(crash=True)
            self._running = None

    def close(self) -> None:
        """End it for good."""
        try:
            self.stop()
        finally:
            self._guard.close()
            self._ports.release()

    def ready(self) -> bool:
        """Tell whether its readiness probe succeeds."""
        connection = http.client.HTTPConnection("127.0.0.1", self._metrics_port, timeout=2)
        try:
            connection.request("GET", self._container["readinessProbe"]["httpGet"]["path"])
            return connection.getresponse().status == HTTPStatus.OK
        except CONNECTION_ERRORS:
            return False
        finally:
            connection.close()

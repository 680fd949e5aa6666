"""A container of the shipped manifests as a process: what a kubelet would start, where there is none.

Its arguments, its variables and its readiness probe are the manifest's. Only the variables that name a
place of the machine get other values: `PLACES`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .podberth_process import POLICIES, Process

PLACES = ("PODBERTH_POLICIES", "PODBERTH_KUBECONFIG", "PODBERTH_LISTEN", "PODBERTH_METRICS_LISTEN")
"""The variables that say where files and ports are; in a pod the image, its ServiceAccount and its address say so."""


class Container(Process):
    """One container of the webhook's Deployment; where it starts it is given PODBERTH_KUBECONFIG."""

    def __init__(self, container: Mapping[str, Any], directory: Path, policies: Path = POLICIES) -> None:
        super().__init__(directory)
        self.readiness = container["readinessProbe"]["httpGet"]["path"]
        self.arguments = container["args"]
        self.variables = {each["name"]: each["value"] for each in container["env"]} | {
            "PODBERTH_POLICIES": str(policies),
            "PODBERTH_LISTEN": f"127.0.0.1:{self.port}",
            "PODBERTH_METRICS_LISTEN": f"127.0.0.1:{self.metrics_port}",
        }

    @property
    def url(self) -> str:
        """Where it answers reviews; its certificate has that address among its names."""
        return f"https://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End it for good, and at once: it would drain."""
        self.stop(crash=True)
        super().close()

"""What Helm makes of manifests/chart."""

import os
import subprocess
from pathlib import Path

from controlplane.cluster import ControlPlane

from .rendering import MANIFESTS, Document, documents

CHART = MANIFESTS / "chart"


class Helm:
    """The chart, rendered or installed by Helm in one cluster."""

    def __init__(self, program: Path, control_plane: ControlPlane, home: Path) -> None:
        self.control_plane = control_plane
        self._program = program
        places = {f"HELM_{each}_HOME": str(home / each) for each in ("CACHE", "CONFIG", "DATA")}
        self._environ = {**os.environ, **control_plane.environ(), **places}

    def __call__(self, *arguments: str) -> str:
        """Run Helm; return what it says."""
        command = [str(self._program), *arguments]
        done = subprocess.run(command, env=self._environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def render(self, *values: str) -> list[Document]:
        """Return the objects of the chart with values, each as in `--set`."""
        return documents(
            self("template", "podberth", str(CHART), *[part for each in values for part in ("--set", each)])
        )

"""One cluster with podberth installed and called, for pages that say what to do with it; their commands run here."""

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from builders import gpu_pod
from controlplane.api import Answer
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from e2e.access import enter
from e2e.container import Container
from e2e.manifest import record
from e2e.overlay import OVERLAY, webhook_container, write_overlay
from pages import ROOT

Document = dict[str, Any]

# Seconds here; the bound is for a machine under load.
SECONDS = 120.0
USERS = "research"
"""The namespace of the pages' examples."""
CREATIONS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
"""The first entry of each is asked on creation."""
REFUSED = 'failed calling webhook "pods.mutate.podberth.io"'


def blocks(text: str, heading: str, language: str = "sh") -> list[str]:
    """Return the blocks in a language of a page below a heading, up to the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    _, _, rest = text.partition(f"\n{heading}\n")
    assert rest, heading
    section = re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def typed(cluster: ControlPlane, block: str, *programs: Path, folder: Path = ROOT) -> str:
    """Run a block as an administrator types it, with the programs of more folders; return what it says.

    It must succeed.
    """
    path = os.pathsep.join([*map(str, programs), str(cluster.kubectl_path.parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=folder,
        env={**cluster.environ(), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Operated:
    """The cluster, where creations fail closed, and a directory in which the pages' paths lead to its overlays."""

    def __init__(self, plane: ControlPlane, directory: Path, container: Container) -> None:
        """Make nodes and a namespace; `restore` installs podberth."""
        self.plane = plane
        self.container = container
        self.directory = directory
        tainted = gpu_node("gpu", labels={})
        tainted["spec"] = {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}
        plane.add_nodes([tainted, gpu_node("plain", labels={})])
        plane.add_namespace(USERS)
        overlays = directory / "manifests" / "overlays"
        self.overlay = overlays / "fail-closed"
        for each, components in ((overlays / OVERLAY.name, ()), (self.overlay, ("fail-closed",))):
            each.mkdir(parents=True)
            write_overlay(each, self.container.url, *components)

    def restore(self) -> None:
        """Apply every file of the installation again, and wait until podberth is called."""
        self.plane.kubectl("apply", "-k", str(self.overlay))
        if not self.container.runs:
            self.container.begin(PODBERTH_KUBECONFIG=str(enter(self.plane, self.container.directory)))
        self.container.wait_ready()
        self.wait_called()

    def wait_called(self) -> None:
        """Return once a GPU pod is written on, and one that cannot run is denied: by the one webhook and the other."""
        self._wait(lambda: bool(self._record(self.create())) and self._denied(), "podberth to be called")

    def wait_refused(self, words: str = "") -> None:
        """Return once a GPU pod is refused for want of an answer, in these words: a pattern."""

        def refused() -> bool:
            message = str(self.create().document.get("message", ""))
            return REFUSED in message and re.search(words, message) is not None

        self._wait(refused, f"GPU pods to be refused {words}")

    def wait_passed_by(self) -> None:
        """Return once a GPU pod is created as it is written."""
        self._wait(
            lambda: (answer := self.create()).status == HTTPStatus.CREATED and not self._record(answer),
            "GPU pods to be created as written",
        )

    def create(self, namespace: str = USERS, pod: Document | None = None) -> Answer:
        """Return the answer to the creation of a GPU pod that leaves nothing behind."""
        asked = pod or gpu_pod()
        asked["metadata"]["namespace"] = namespace
        return self.plane.api.ask("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", asked)

    def run(self, block: str) -> str:
        """Run a block as an administrator types it; return what it says. It must succeed."""
        return typed(self.plane, block, folder=self.directory)

    def lead(self, url: str, ca_bundle: str = "") -> None:
        """Have creations sent elsewhere, by another CA if one is given, in base64."""
        for kind in CREATIONS:
            path = "/mutate" if kind.startswith("mutating") else "/validate"
            client = {"url": url + path, **({"caBundle": ca_bundle} if ca_bundle else {})}
            patch = [
                {"op": "add", "path": f"/webhooks/0/clientConfig/{name}", "value": value}
                for name, value in client.items()
            ]
            self.plane.kubectl("patch", kind, "podberth", "--type=json", "-p", json.dumps(patch))

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Have creations sent to a port where nobody answers."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.lead(f"https://127.0.0.1:{server.getsockname()[1]}")
            yield

    def _denied(self) -> bool:
        asked = gpu_pod(resource="nvidia.com/mig-4g.5gb")
        return self.create(pod=asked).status == HTTPStatus.UNPROCESSABLE_ENTITY

    def _record(self, answer: Answer) -> object:
        return answer.status == HTTPStatus.CREATED and record(answer.document)

    def _wait(self, reached: Any, what: str) -> None:
        wait_for(reached, timeout_seconds=SECONDS, what=lambda: f"{what}; got {self.create().content!r}")


@contextmanager
def operated(directory: Path, *apiserver_args: str) -> Iterator[Operated]:
    """Yield a cluster of the caller's own."""
    with (
        ControlPlane.start(directory / "cluster", extra_apiserver_args=apiserver_args) as plane,
        closing(Container(webhook_container(plane), directory / "webhook")) as container,
    ):
        made = Operated(plane, directory, container)
        made.restore()
        yield made

"""podberth as ``kubectl apply -k`` installs it, where no kubelet starts what its pods hold.

The objects are those of manifests/, but for a URL in the place of the Service (e2e.overlay). The Deployment's container
runs as a process (e2e.container), with the token that a kubelet would give its pod.
"""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from controlplane.client import KubectlError
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from e2e.access import token_of, write_kubeconfig
from e2e.container import Container
from e2e.overlay import OVERLAY, webhook_container, write_overlay
from e2e.registration import Registration
from podberth.cli.terminal import Terminal
from podberth.wellknown import NAMESPACE

from .progress import Progress

Document = dict[str, Any]

AGENTS = "podberth-agent"
"""The agents' namespace, and the name of their DaemonSet."""

# NVIDIA's GPU operator makes it, and the agents' pods ask for it.
RUNTIME_CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia",
}
# Seconds here; the bound is for a machine under load.
_PATIENCE_SECONDS = 60.0
# As many as the control plane's own messages show (controlplane.process).
_TAIL_LINES = 25


class Installation:
    """podberth on a cluster that has nothing of it yet."""

    def __init__(self, control_plane: ControlPlane, directory: Path, progress: Progress, terminal: Terminal) -> None:
        """Prepare; the overlay, tokens and logs go to ``directory``, which is not there yet."""
        self._control_plane, self._directory = control_plane, directory
        self._progress, self._terminal = progress, terminal
        directory.mkdir()
        self._container = Container(webhook_container(control_plane), directory / "webhook")

    def apply(self) -> Sequence[Document]:
        """Install podberth; return the agents' pods, all of which have their nodes."""
        self._progress.say(f"applying manifests/overlays/{OVERLAY.name}")
        self._control_plane.apply(RUNTIME_CLASS)
        write_overlay(self._directory, self._container.url)
        self._apply()
        self._wait(lambda: len(self._running(AGENTS)) == self._agents(), "the DaemonSet's pods to run")
        return self._running(AGENTS)

    def start(self) -> None:
        """Start the webhook, and return once the API server calls it, by the caBundle that podberth has written.

        Raises:
            ComponentError: it ends, or does not become ready.
            TimeoutError: the API server does not call it; the message ends with podberth's log.
        """
        self._wait(lambda: self._running(NAMESPACE), "a pod of the Deployment to run")
        pod = self._running(NAMESPACE)[0]
        self._progress.say(f"starting podberth serve, with the token of pod {pod['metadata']['name']}")
        token_file = self._container.directory / "token"
        token_file.write_text(token_of(self._control_plane, pod))
        self._container.start(PODBERTH_KUBECONFIG=str(write_kubeconfig(self._control_plane, token_file)))
        try:
            Registration(self._control_plane).wait_called()
        except TimeoutError as error:
            log = self._container.log.read_text(encoding="utf-8").splitlines()
            raise TimeoutError("\n".join([f"{error}; podberth's log ends:", *log[-_TAIL_LINES:]])) from error
        self._show(pod, len(self._running(AGENTS)))

    def close(self) -> None:
        """End the webhook."""
        self._progress.say("stopping podberth")
        self._container.close()

    def _apply(self) -> None:
        """Apply the overlay as a person does, and say what was made, by kind."""
        self._terminal.heading("podberth is installed")
        self._terminal.line()
        self._terminal.paragraph(
            f"# manifests/overlays/{OVERLAY.name} of docs/install.md, with the webhooks at a URL: no Service leads"
            " anywhere in this control plane",
            "dim",
            hanging=2,
        )
        self._terminal.line("$ kubectl apply -k .", "bold")
        command = [str(self._control_plane.kubectl_path), "apply", "-k", "."]
        made = subprocess.run(
            command, env=self._control_plane.environ(), cwd=self._directory, capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise KubectlError(made)
        kinds: dict[str, list[str]] = {}
        for line in made.stdout.splitlines():
            kind, _, name = line.partition(" ")[0].partition("/")
            kinds.setdefault(kind.partition(".")[0], []).append(name)
        for kind, names in kinds.items():
            self._terminal.paragraph(f"{kind}: {', '.join(dict.fromkeys(names))}", hanging=2)

    def _show(self, pod: Document, agents: int) -> None:
        self._terminal.line()
        self._terminal.paragraph(
            "Nothing here runs containers, so what a kubelet would start of these pods is run in its place, each with"
            f" the token of its pod's ServiceAccount: `podberth serve` of {pod['metadata']['name']} as a process, with"
            " the Deployment's arguments and variables, and the agents' code, in one process, for each of the"
            f" {agents} pods of the DaemonSet {AGENTS}, on the node that its token names. podberth has made its own"
            " certificate, and written caBundle."
        )

    def _wait(self, reached: Callable[[], object], what: str) -> None:
        wait_for(lambda: bool(reached()), timeout_seconds=_PATIENCE_SECONDS, what=what)

    def _running(self, namespace: str) -> list[Document]:
        """Return the pods of a namespace that run."""
        pods = self._control_plane.api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
        return [pod for pod in pods if pod["status"].get("phase") == "Running"]

    def _agents(self) -> int:
        """Return how many agents there are to be; -1 until the DaemonSet's controller has looked."""
        status = self._control_plane.api.read(f"/apis/apps/v1/namespaces/{AGENTS}/daemonsets/{AGENTS}")["status"]
        return int(status["desiredNumberScheduled"]) or -1

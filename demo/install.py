"""podberth as ``kubectl apply -k`` installs it, where no kubelet starts what its pods hold.

The objects are those of manifests/, but for a URL in the place of the Service (e2e.overlay). The webhook's container
and the controller run as processes (e2e.container, e2e.controller_process), with tokens of their ServiceAccounts.
"""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from controlplane.client import KubectlError
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from e2e.access import token_of, write_kubeconfig
from e2e.container import Container
from e2e.controller_process import Controller
from e2e.overlay import OVERLAY, webhook_container, write_overlay
from e2e.podberth_process import POLICIES, ROOT
from e2e.registration import Registration
from podberth.cli.terminal import Terminal
from podberth.wellknown import NAMESPACE

from .progress import Progress
from .trial import typed

Document = dict[str, Any]

AGENTS = "podberth-agent"
"""The agents' namespace, and the name of their DaemonSet."""

# The Deployments; the second is the component's.
_WEBHOOK, _CONTROLLER = "podberth", "podberth-controller"

# The one policy that is off by default and on here, as docs/install.md turns one on.
_CONFIG_MAP, _OPTIONAL = "podberth-policies", "gang-system"

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
        self._policies = directory / "policies"
        self._container = Container(webhook_container(control_plane), directory / "webhook", self._policies)
        self._controller: Controller | None = None

    def apply(self) -> Sequence[Document]:
        """Install podberth; return the agents' pods, all of which have their nodes."""
        self._progress.say(f"applying manifests/overlays/{OVERLAY.name}")
        self._control_plane.apply(RUNTIME_CLASS)
        write_overlay(self._directory, self._container.url, "controller")
        self._apply()
        self._add_policy()
        self._wait(lambda: len(self._running(AGENTS)) == self._agents(), "the DaemonSet's pods to run")
        return self._running(AGENTS)

    def start(self) -> None:
        """Start both, and return once the API server calls the webhook, by the caBundle that podberth has written.

        Raises:
            ComponentError: one ends, or does not become ready.
            TimeoutError: the API server does not call it; the message ends with podberth's log.
        """
        pod = self._pod(_WEBHOOK)
        self._mount_policies()
        self._progress.say(f"starting podberth serve, with the token of pod {pod['metadata']['name']}")
        token_file = self._container.directory / "token"
        token_file.write_text(token_of(self._control_plane, pod))
        self._container.begin(PODBERTH_KUBECONFIG=str(write_kubeconfig(self._control_plane, token_file)))
        self._pod(_CONTROLLER)
        self._controller = Controller(self._control_plane, self._directory / "controller", policies=str(self._policies))
        self._controller.start()
        self._container.wait_ready()
        try:
            Registration(self._control_plane).wait_called()
        except TimeoutError as error:
            log = self._container.log.read_text(encoding="utf-8").splitlines()
            raise TimeoutError("\n".join([f"{error}; podberth's log ends:", *log[-_TAIL_LINES:]])) from error
        self._show(pod, len(self._running(AGENTS)))

    def close(self) -> None:
        """End both."""
        self._progress.say("stopping podberth")
        if self._controller is not None:
            self._controller.close()
        self._container.close()

    def _apply(self) -> None:
        """Apply the overlay as a person does, and say what was made, by kind."""
        self._terminal.heading("podberth is installed")
        self._terminal.line()
        self._terminal.paragraph(
            f"# manifests/overlays/{OVERLAY.name} of docs/install.md and the component controller, with the webhooks"
            " at a URL: no Service leads anywhere in this control plane",
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

    def _add_policy(self) -> None:
        """Put the optional policy beside the shipped ones, as docs/install.md has it."""
        file = f"{_OPTIONAL}.yaml=optional-policies/{_OPTIONAL}/policy.yaml"
        args = ("create", "configmap", _CONFIG_MAP, f"--namespace={NAMESPACE}", f"--from-file={file}")
        what = "beside the shipped policies one that is off by default: a namespace chooses who places its gangs"
        typed(self._control_plane, ROOT, self._terminal, what, *args)

    def _mount_policies(self) -> None:
        """Lay the policies where the containers have them: the image's, and beside them those of the ConfigMap."""
        shutil.copytree(POLICIES, self._policies / "shipped")
        own = self._policies / "own"
        own.mkdir()
        config_map = self._control_plane.api.read(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{_CONFIG_MAP}")
        for name, text in config_map["data"].items():
            (own / name).write_text(text, encoding="utf-8")

    def _pod(self, name: str) -> Document:
        """Return a pod of a Deployment of podberth's namespace that runs, once there is one."""
        label = "app.kubernetes.io/name"

        def found() -> Document | None:
            return next((each for each in self._running(NAMESPACE) if each["metadata"]["labels"][label] == name), None)

        return wait_for(found, timeout_seconds=_PATIENCE_SECONDS, what=f"a pod of the Deployment {name} to run")

    def _show(self, pod: Document, agents: int) -> None:
        self._terminal.line()
        self._terminal.paragraph(
            "Nothing here runs containers, so what a kubelet would start of these pods is run in its place, each with"
            f" the token of its pod's ServiceAccount: `podberth serve` of {pod['metadata']['name']} as a process, with"
            f" the Deployment's arguments and variables, `podberth controller` of {_CONTROLLER} as another, and"
            f" the agents' code, in one process, for each of the {agents} pods of the DaemonSet {AGENTS}, on the node"
            " that its token names. podberth has made its own certificate, and written caBundle."
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

"""A cluster for agents: nodes, tokens as a kubelet gets them, agents as processes, and what they published."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from controlplane.api import Api
from controlplane.cluster import ControlPlane
from controlplane.process import interruptible
from controlplane.wait import wait_for
from nvml.driver import Driver, environment
from podberth.topology.codec import DATA_KEY
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE

from ..manifest import read
from ..podberth_process import ROOT, logged

MANIFESTS = ROOT / "manifests"
AGENT_NAMESPACE = ACCOUNT = "podberth-agent"
# Everything here takes a fraction of a second, the garbage collector seconds; the bound is for a CI machine under load.
PATIENCE_SECONDS = 90.0


@dataclass
class Agent:
    """A running ``podberth agent``."""

    process: subprocess.Popen[str]
    log: Path
    token_file: Path

    def lines(self) -> list[dict[str, Any]]:
        """Return what it has logged so far."""
        return logged(self.log)

    def says(self, words: str) -> bool:
        """Return whether a line of its log has these words."""
        return any(words in line["msg"] for line in self.lines())

    def stop(self) -> int:
        """End it as a kubelet does; return its status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)


class Stage:
    """A control plane with the agent's manifests."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self.control_plane = control_plane
        self.api = control_plane.api
        self.directory = directory
        self._count = 0

    def add_node(self, name: str, shape: str = "hgx-h100-8") -> dict[str, Any]:
        """Add a Node of a shape; return the manifest."""
        manifest = simulate(shape, name)[0]
        manifest["metadata"].pop("uid")
        self.control_plane.add_nodes([manifest])
        return manifest

    def token(self, node: str) -> str:
        """Return a token as the kubelet of a node gets it for the agent's pod there."""
        self._count += 1
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"agent-{self._count}", "namespace": AGENT_NAMESPACE},
            "spec": {
                "nodeName": node,
                "serviceAccountName": ACCOUNT,
                "containers": [{"name": "agent", "image": "podberth"}],
            },
        }
        made = self.api.request("POST", f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods", pod)
        bound = {"apiVersion": "v1", "kind": "Pod", "name": made["metadata"]["name"], "uid": made["metadata"]["uid"]}
        return self._token({"boundObjectRef": bound})

    def token_of_no_node(self) -> str:
        """Return a token of the agent's account that no kubelet asked for."""
        return self._token({})

    def _token(self, spec: Mapping[str, Any]) -> str:
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": [], **spec}}
        path = f"/api/v1/namespaces/{AGENT_NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
        return str(self.api.request("POST", path, request)["status"]["token"])

    def api_of(self, token: str) -> Api:
        """Return a way to the API server with a token."""
        return Api(self.control_plane.url, token, self.control_plane.ca_file)

    def keep(self, token: str) -> Path:
        """Write a token to a file and return that."""
        self._count += 1
        file = self.directory / f"token-{self._count}"
        file.write_text(token)
        return file

    def flags(self, token_file: Path) -> list[str]:
        """Return the flags that lead to this API server with a token."""
        files = ("--token-file", str(token_file), "--ca-file", str(self.control_plane.ca_file))
        return ["--api-server", self.control_plane.url, *files]

    @contextmanager
    def agent(self, node: str, *flags: str, token: str | None = None, driver: Driver | None = None) -> Iterator[Agent]:
        """Run an agent for a node until the block ends: on a driver of ours, or with the flags' ``--simulate``."""
        token_file = self.keep(token or self.token(node))
        access = self.flags(token_file)
        command = [sys.executable, "-W", "error", "-m", "podberth", "agent", "--node", node, *access, *flags]
        environ = {**os.environ, "PYTHONPATH": str(ROOT / "webhook")}
        if driver is not None:
            command += ["--sysfs", str(driver.sysfs), "--vendor", "nvidia"]
            environ = environment(driver.file)
        self._count += 1
        log = self.directory / f"agent-{self._count}.log"
        with log.open("w") as output, interruptible():
            process = subprocess.Popen(command, env=environ, stdout=output, stderr=output, text=True)
        try:
            yield Agent(process, log, token_file)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait(PATIENCE_SECONDS)

    def config_map(self, node: str) -> dict[str, Any] | None:
        """Return a node's ConfigMap; None where there is none."""
        return self._find(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{node}")

    def lease(self, node: str) -> dict[str, Any] | None:
        """Return a node's heartbeat; None where there is none."""
        return self._find(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{node}")

    def node(self, name: str) -> dict[str, Any]:
        """Return a Node."""
        found: dict[str, Any] = self.api.read(f"/api/v1/nodes/{name}")
        return found

    def document(self, node: str) -> dict[str, Any] | None:
        """Return a node's topology document; None where there is none."""
        found = self.config_map(node)
        return None if found is None else json.loads(found["data"][DATA_KEY])

    def settled(self, node: str) -> dict[str, Any]:
        """Wait until a node has its ConfigMap and its Lease; return the ConfigMap."""
        wait_for(lambda: self.lease(node), timeout_seconds=PATIENCE_SECONDS, what=f"the Lease of {node}")
        found = self.config_map(node)
        assert found is not None
        return found

    def renewed(self, node: str) -> str:
        """Return when a node's Lease was renewed."""
        lease = self.lease(node)
        return str(lease["spec"]["renewTime"]) if lease else ""

    def wait_for_renewals(self, node: str, count: int = 1) -> None:
        """Wait until the Lease was renewed so many times more."""
        for _ in range(count):
            before = self.renewed(node)
            wait_for(
                lambda before=before: self.renewed(node) != before,  # type: ignore[misc]
                timeout_seconds=PATIENCE_SECONDS,
                what=f"the Lease of {node} to be renewed",
            )

    def _find(self, path: str) -> dict[str, Any] | None:
        status, content = self.api.raw("GET", path)
        if status == HTTPStatus.NOT_FOUND:
            return None
        assert status == HTTPStatus.OK, content
        found: dict[str, Any] = json.loads(content)
        return found


def install(control_plane: ControlPlane, *files: str) -> None:
    """Apply manifests."""
    for file in files:
        control_plane.apply(*read(MANIFESTS / file))


def prepared(control_plane: ControlPlane, directory: Path) -> Stage:
    """Apply the agent's manifests and wait until its admission policy judges."""
    install(control_plane, "base/agent.yaml")
    stage = Stage(control_plane, directory)
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "probe-"}}

    with closing(stage.api_of(stage.token_of_no_node())) as api:

        def refused() -> bool:
            answer = api.ask("POST", f"{path}?dryRun=All", probe)
            return answer.status == HTTPStatus.UNPROCESSABLE_ENTITY and b"names no node" in answer.content

        wait_for(refused, timeout_seconds=PATIENCE_SECONDS, what="the admission policy to be in force")
    account = f"/api/v1/namespaces/{AGENT_NAMESPACE}/serviceaccounts/default"
    wait_for(
        lambda: stage.api.raw("GET", account)[0] == HTTPStatus.OK,
        timeout_seconds=PATIENCE_SECONDS,
        what="pods to be possible",
    )
    return stage

"""podberth installed from `manifests` in a cluster of its own, with all that an installation has, and all of it well.

The API server reaches what runs here as it does elsewhere: reviews by the URL of the webhook's port, for no Service's
address leads anywhere, and metrics through its proxy for pods, at this machine's address, for it lets nobody go to a
loopback address through it.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from builders import job
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from e2e.access import enter, write_kubeconfig
from e2e.podberth_process import MACHINE, POLICIES, Endpoint, Process
from e2e.registration import pointed
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE, TOPOLOGY_LABEL

from .rendering import Document, composed, documents, only

SECONDS = 120.0
TEAM = "team-a"
GPU_NODES = ("gpu-0", "gpu-1")
KINDS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
_MERGE = "application/merge-patch+json"


class Live:
    """The installation. It is the administrator's `control_plane`, and one process stands for all replicas."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self.control_plane = control_plane
        self._directory = directory
        self._podberth = Process(directory / "podberth")

    def install(self) -> None:
        """Install it, start it, and return once all its parts are there."""
        plane = self.control_plane
        chosen = composed(self._directory, ["self-signed", "fail-closed"])
        objects = documents(plane.kubectl("kustomize", str(chosen)).stdout)
        self._point(objects)
        runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
        pairs = [simulate("hgx-h100-8", name) for name in GPU_NODES]
        plane.add_nodes([gpu_node("cpu", gpus=0), *(node for node, _ in pairs)])
        namespaces = [each for each in objects if each["kind"] in {"Namespace", "CustomResourceDefinition"}]
        plane.apply(*namespaces, {**runtime, "handler": "nvidia"})
        plane.await_crds()
        plane.apply(*(config_map for _, config_map in pairs), *map(lease, GPU_NODES))
        plane.apply(*(each for each in objects if each not in namespaces))
        plane.add_namespace(TEAM)
        self._prepare(only(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0])
        self.start()
        self._reach()

    def start(self) -> None:
        """Start podberth; return once it is ready."""
        self._podberth.start()

    def stop(self) -> None:
        """End podberth, as whoever pulls a plug does."""
        self._podberth.stop(crash=True)

    def close(self) -> None:
        """End what was started."""
        self.stop()
        self._podberth.close()

    def status(self, *flags: str, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run `podberth status` as the administrator, or whoever the kubeconfig is of."""
        where = ("--kubeconfig", str(kubeconfig or self.control_plane.kubeconfig))
        return podberth("status", *where, *flags)

    def wait_healthy(self) -> None:
        """Return once status finds nothing that wants attention."""
        said: list[str] = [""]

        def healthy() -> bool:
            done = self.status()
            said[0] = done.stdout + done.stderr
            return done.returncode == 0

        wait_for(healthy, timeout_seconds=SECONDS, what=lambda: f"a healthy status; got\n{said[0]}")

    def viewer(self, block: str) -> Path:
        """Bind the viewer's roles as a block of the documentation does; return the kubeconfig of one who has them."""
        self.control_plane.add_namespace("viewers")
        commands = block.replace("--group=sre", "--group=system:serviceaccounts:viewers")
        path = f"{self.control_plane.kubectl_path.parent}:{os.environ['PATH']}"
        environ = {**self.control_plane.environ(), "PATH": path}
        subprocess.run(["bash", "-euo", "pipefail", "-c", commands], env=environ, check=True, capture_output=True)
        return self.stranger("viewers")

    def stranger(self, namespace: str) -> Path:
        """Return the kubeconfig of a ServiceAccount, which has the rights that it was given."""
        token = self._directory / namespace / "token"
        token.parent.mkdir()
        token.write_text(self.control_plane.create_token(namespace, "default"))
        return write_kubeconfig(self.control_plane, token)

    @contextmanager
    def unable_to_write(self) -> Iterator[None]:
        """Take podberth's right to write caBundle away, and give it back; then wait until all is well again."""
        kubectl = self.control_plane.kubectl
        binding = kubectl("get", "clusterrolebinding", "podberth-shared-ca", "-o", "yaml").stdout
        kubectl("delete", "clusterrolebinding", "podberth-shared-ca")
        who = f"--as=system:serviceaccount:{NAMESPACE}:podberth"
        asked = ("auth", "can-i", "patch", "mutatingwebhookconfigurations/podberth", who)
        wait_for(
            lambda: kubectl(*asked, check=False).stdout.strip() == "no",
            timeout_seconds=SECONDS,
            what="the right to be gone",
        )
        try:
            yield
        finally:
            kubectl("create", "-f", "-", input=binding)
            self.wait_healthy()

    def trust(self, ca_bundle: str) -> None:
        """Write a caBundle, base64, into every entry."""
        for kind in KINDS:
            document = self.control_plane.get(kind, "podberth")
            for webhook in document["webhooks"]:
                webhook["clientConfig"]["caBundle"] = ca_bundle
            self.control_plane.kubectl("replace", "-f", "-", input=json.dumps(document))

    @contextmanager
    def refused_job(self, said: str) -> Iterator[None]:
        """Have the pod of a Job refused, whose controller has said so in an Event with these words."""
        containers = [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/mig-4g.5gb": "1"}}}]
        document = job({"metadata": {}, "spec": {"containers": containers}})
        document["metadata"]["namespace"] = TEAM
        self.control_plane.create(document)
        try:
            wait_for(
                lambda: said in self.control_plane.kubectl("get", "events", "-n", TEAM).stdout,
                timeout_seconds=SECONDS,
                what="the Job's Event",
            )
            yield
        finally:
            # It would be tried again, and refused in other words while podberth is away.
            self.control_plane.kubectl("delete", "job", "train", "-n", TEAM)

    def _point(self, objects: list[Document]) -> None:
        """Have the reviews come here, and the metrics' port be the one here; nothing else is changed."""
        for number, each in enumerate(objects):
            if each["kind"].endswith("WebhookConfiguration"):
                objects[number] = pointed(each, Endpoint(f"https://127.0.0.1:{self._podberth.port}", ""))
        [container] = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
        [port] = [each for each in container["ports"] if each["name"] == "metrics"]
        port["containerPort"] = self._podberth.metrics_port

    def _prepare(self, container: Any) -> None:
        """Have podberth be what a kubelet would start, but for where files and ports of this machine are."""
        podberth = self._podberth
        podberth.arguments = container["args"]
        podberth.variables = {each["name"]: each["value"] for each in container["env"]} | {
            "PODBERTH_KUBECONFIG": str(enter(self.control_plane, podberth.directory)),
            "PODBERTH_POLICIES": str(POLICIES),
            "PODBERTH_LISTEN": f"127.0.0.1:{podberth.port}",
            "PODBERTH_METRICS_LISTEN": f":{podberth.metrics_port}",
        }

    def _reach(self) -> None:
        """Give the Deployment's pods this machine's address, once the simulated kubelets run them."""
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        api, address = self.control_plane.api, own_address()

        def running() -> list[Any]:
            pods = api.read(path)["items"]
            return pods if len(pods) == 2 and all(each["status"].get("podIP") for each in pods) else []

        for pod in wait_for(running, timeout_seconds=SECONDS, what="two replicas to run"):
            status = {"podIP": address, "podIPs": [{"ip": address}]}
            api.request("PATCH", f"{path}/{pod['metadata']['name']}/status", {"status": status}, _MERGE)


def podberth(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command line of podberth's."""
    command = [sys.executable, "-m", "podberth", *arguments]
    return subprocess.run(command, env=MACHINE, capture_output=True, text=True, check=False, timeout=300)


def lease(node: str, *, renewed: datetime | None = None) -> Document:
    """Return the heartbeat of an agent that was heard last at a time, or an hour from now."""
    moment = renewed or datetime.now(UTC) + timedelta(hours=1)
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": NAMESPACE, "labels": {TOPOLOGY_LABEL: "v1"}},
        "spec": {
            "holderIdentity": node,
            "leaseDurationSeconds": 90,
            "renewTime": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }


def own_address() -> str:
    """Return an address of this machine that is no loopback; nothing is sent for it (connect of a datagram socket)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("192.0.2.1", 9))
        return str(asking.getsockname()[0])

"""Replicas of `podberth serve --ca-secret` behind one address, and a load of real creations through them."""

import base64
import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from builders import gpu_pod
from controlplane.api import CONNECTION_ERRORS, Api
from controlplane.cluster import ControlPlane
from controlplane.ports import Ports
from controlplane.process import Component, Guard, Launch
from controlplane.wait import wait_for
from podberth.cluster.shared_ca import KINDS
from podberth.wellknown import NAMESPACE
from snapshots import policy

from .access import enter
from .balancer import Balancer
from .podberth_process import ROOT, Endpoint, parse_metrics
from .registration import pointed, shipped

Document = dict[str, Any]

SECRET = "podberth-ca"  # noqa: S105 - a name
SECRET_PATH = f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}"
SECONDS = 60.0

_MARK = b"podberth.example/seen"
# Every pod that comes this way is marked, whatever is known of the cluster.
_POLICY = policy(
    "mark",
    """
  mutations:
  - labels: {podberth.example/seen: "'yes'"}
""",
)


class Replica:
    """One process, which marks every pod that it is asked of."""

    def __init__(self, directory: Path, flags: Sequence[str]) -> None:
        policies = directory / "policies"
        policies.mkdir(parents=True)
        (policies / "policy.yaml").write_text(_POLICY)
        self.directory = directory
        self._ports = Ports()
        self.port, self.metrics_port = self._ports.take(), self._ports.take()
        self._guard = Guard()
        self.running: Component | None = None
        command = (
            *(sys.executable, "-m", "podberth", "serve", "--policies", str(policies)),
            *("--listen", f"127.0.0.1:{self.port}", "--metrics-listen", f"127.0.0.1:{self.metrics_port}"),
            *("--drain-seconds", "0", *flags),
        )
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "webhook")}
        self._launch = Launch("podberth", command, environ, directory / "podberth.log", self.ready)

    def begin(self) -> None:
        """Start it, ready or not."""
        self.running = Component(self._launch, self._guard)

    def start(self) -> None:
        """Start it, and return once it is ready."""
        self.begin()
        assert self.running
        self.running.wait_ready(SECONDS)

    def kill(self) -> None:
        """End it with SIGKILL."""
        running, self.running = self.running, None
        if running:
            running.stop(crash=True)

    def close(self) -> None:
        """End it for good."""
        self.kill()
        self._guard.close()
        self._ports.release()

    def ready(self) -> bool:
        """Tell whether its probe says so."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/readyz", timeout=2):
                return self.running is not None
        except (OSError, urllib.error.URLError):
            return False

    def metric(self, name: str) -> float:
        """Return a metric."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5) as answer:
            return parse_metrics(answer.read().decode())[f"podberth_{name}"]

    def lines(self, message: str) -> list[Document]:
        """Return the lines of its log whose message begins so."""
        log = (self.directory / "podberth.log").read_text().splitlines()
        found = [json.loads(line) for line in log if line.startswith("{")]
        return [line for line in found if line["msg"].startswith(message)]


def unregister(control_plane: ControlPlane) -> None:
    """Take the configurations away."""
    for configuration in shipped():
        kind, name = configuration["kind"], configuration["metadata"]["name"]
        control_plane.kubectl("delete", kind, name, "--ignore-not-found")


def marked(control_plane: ControlPlane) -> bool:
    """Tell whether a creation goes through podberth."""
    status, body = control_plane.raw("POST", "/api/v1/namespaces/default/pods?dryRun=All", gpu_pod())
    return status == 201 and _MARK in body


class Replicas:
    """Two of them, one Service, and the shipped configurations that lead to it, without a caBundle."""

    def __init__(self, control_plane: ControlPlane, directory: Path, flags: Sequence[str]) -> None:
        self.control_plane = control_plane
        directory.mkdir(parents=True, exist_ok=True)
        self.kubeconfig = enter(control_plane, directory)
        flags = ("--kubeconfig", str(self.kubeconfig), "--ca-secret", SECRET, *flags)
        self.each = [Replica(directory / f"replica-{number}", flags) for number in range(2)]
        self.balancer = Balancer(lambda: [each.port for each in self.each if each.ready()])
        self.register()

    def register(self) -> None:
        """Put the configurations up anew, which takes every caBundle away."""
        unregister(self.control_plane)
        url = f"https://127.0.0.1:{self.balancer.port}"
        documents = [pointed(configuration, Endpoint(url, "")) for configuration in shipped()]
        for document in documents:
            for webhook in document["webhooks"]:
                del webhook["clientConfig"]["caBundle"]
        self.control_plane.apply(*documents)

    def start(self) -> None:
        """Start both at the same moment; return once both are ready and are called."""
        for each in self.each:
            each.begin()
        for each in self.each:
            assert each.running
            each.running.wait_ready(SECONDS)
        wait_for(self.called, timeout_seconds=SECONDS, what="the apiserver to trust podberth")

    def called(self) -> bool:
        """Tell whether a creation goes through podberth."""
        return marked(self.control_plane)

    def close(self) -> None:
        """End all, and take the configurations and the Secret away."""
        for each in self.each:
            each.close()
        self.balancer.close()
        unregister(self.control_plane)
        self.control_plane.raw("DELETE", SECRET_PATH)

    def authorities(self) -> Document:
        """Return what the Secret holds."""
        data = self.control_plane.api.read(SECRET_PATH)["data"]
        found: Document = json.loads(base64.b64decode(data["authorities.json"]))
        return found

    def bundles(self) -> list[str]:
        """Return the caBundle of every entry."""
        found = [self.control_plane.api.read(f"{path}/podberth") for path in KINDS.values()]
        return [
            base64.b64decode(webhook["clientConfig"].get("caBundle", "")).decode()
            for configuration in found
            for webhook in configuration["webhooks"]
        ]

    def metrics(self, name: str) -> list[float]:
        """Return a metric of each replica."""
        return [each.metric(name) for each in self.each]

    def podberth(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command line of podberth's as administrator; return status, output and errors."""
        command = [sys.executable, "-m", "podberth", *arguments, "--kubeconfig", str(self.control_plane.kubeconfig)]
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "webhook")}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stdout, done.stderr


class Load:
    """Creates GPU pods for as long as it is asked to, in a namespace of its own. Every one must be made and mutated."""

    def __init__(self, control_plane: ControlPlane, namespace: str, mark: bytes) -> None:
        self._api = Api(control_plane.url, control_plane.admin_token, control_plane.ca_file)
        self._namespace = namespace
        self._mark = mark
        self._stop = threading.Event()
        self.counts: Counter[str] = Counter()
        self.refusals: list[str] = []
        self._threads = [threading.Thread(target=self._create, args=(number,)) for number in range(2)]

    def _create(self, thread: int) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        number = 0
        # Ten a second and thread: the quiet in between lets other work on the machine go on, and the connections idle.
        while not self._stop.wait(0.1):
            number += 1
            pod = gpu_pod(name=f"load-{thread}-{number}")
            pod["metadata"]["namespace"] = self._namespace
            try:
                status, body = self._api.raw("POST", path, pod)
            except CONNECTION_ERRORS as error:
                self.counts["no answer"] += 1
                self.refusals.append(str(error))
                continue
            if status != 201:
                self.counts["refused"] += 1
                self.refusals.append(json.loads(body)["message"])
            else:
                self.counts["mutated" if self._mark in body else "not mutated"] += 1

    def stop(self) -> None:
        """End it."""
        self._stop.set()
        for each in self._threads:
            each.join()
        self._api.close()

    def start(self) -> None:
        """Begin."""
        for each in self._threads:
            each.start()


@contextmanager
def load(control_plane: ControlPlane, namespace: str, mark: bytes = _MARK) -> Iterator[Load]:
    """Create pods while the block runs; one that has the mark counts as mutated."""
    control_plane.add_namespace(namespace)
    running = Load(control_plane, namespace, mark)
    running.start()
    try:
        yield running
    finally:
        running.stop()
        control_plane.kubectl("delete", "namespace", namespace, "--wait=false")

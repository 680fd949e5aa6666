"""Replicas of `podberth serve --ca-secret` behind one address."""

import base64
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from pathlib import Path
from typing import Any

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.cluster.shared_ca import KINDS
from podberth.wellknown import NAMESPACE
from snapshots import policy

from .access import enter
from .balancer import Balancer
from .podberth_process import MACHINE, Endpoint, Process, logged
from .registration import FailurePolicy, pointed, shipped

Document = dict[str, Any]

SECRET = "podberth-ca"  # noqa: S105 - a name
SECRET_PATH = f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}"
SECONDS = 60.0

# Every pod that comes this way is marked, whatever is known of the cluster.
_POLICY = policy(
    "mark",
    """
  mutations:
  - labels: {podberth.example/seen: "'yes'"}
""",
)


def marking(directory: Path) -> tuple[str, ...]:
    """Write the policy that marks every pod; return the flags that serve it."""
    policies = directory / "policies"
    policies.mkdir(parents=True)
    (policies / "policy.yaml").write_text(_POLICY)
    return "--policies", str(policies)


class Replica(Process):
    """One `podberth serve` with what `flags` say."""

    def __init__(
        self, directory: Path, flags: Sequence[str], *, host: str = "127.0.0.1", prefix: Sequence[str] = ()
    ) -> None:
        super().__init__(directory, host=host, prefix=prefix)
        self.arguments = (
            *("serve", "--listen", f"{host}:{self.port}", "--metrics-listen", f"{host}:{self.metrics_port}"),
            *("--drain-seconds", "0", *flags),
        )

    def leave(self) -> None:
        """Ask it to end, and wait for nothing: it drains."""
        self.running.ask_to_end()

    def gone(self) -> bool:
        """Return whether it has ended."""
        return not self.runs or self.running.ended

    def paused(self) -> AbstractContextManager[None]:
        """Hold it still until the block ends: it is neither ready nor gone."""
        return self.running.paused()

    def close(self) -> None:
        """End it for good, whatever a test has left it in."""
        self.stop(crash=True)
        super().close()

    def metric(self, name: str) -> float:
        """Return a metric."""
        return self.metrics()[f"podberth_{name}"]

    def lines(self, message: str) -> list[Document]:
        """Return the lines of its log whose message begins so."""
        return logged(self.log, message)


def unregister(control_plane: ControlPlane) -> None:
    """Take the configurations away."""
    for configuration in shipped():
        kind, name = configuration["kind"], configuration["metadata"]["name"]
        control_plane.kubectl("delete", kind, name, "--ignore-not-found")


def marked(control_plane: ControlPlane) -> bool:
    """Return whether a creation goes through podberth."""
    status, body = control_plane.raw("POST", "/api/v1/namespaces/default/pods?dryRun=All", gpu_pod())
    return status == 201 and b"podberth.example/seen" in body


class Group:
    """Several replicas that share an authority, and the configurations that lead to them, without a caBundle."""

    def __init__(self, control_plane: ControlPlane, each: list[Replica], configurations: Sequence[Document]) -> None:
        self.control_plane = control_plane
        self.each = each
        self.configurations = configurations

    def unregister(self) -> None:
        """Take the configurations away."""
        unregister(self.control_plane)

    def register(self, failure_policy: FailurePolicy = "Fail") -> None:
        """Delete and create the configurations, without caBundle; creations have this failurePolicy."""
        self.unregister()
        documents = [deepcopy(each) for each in self.configurations]
        for webhook in (webhook for each in documents for webhook in each["webhooks"]):
            if webhook["failurePolicy"] == "Fail":  # creations alone, as shipped
                webhook["failurePolicy"] = failure_policy
        self.control_plane.apply(*documents)

    def begin(self) -> None:
        """Start all at the same moment; return once all are ready."""
        for each in self.each:
            each.begin()
        for each in self.each:
            each.wait_ready()

    def start(self) -> None:
        """As `begin`; return once those that mark every pod are called."""
        self.begin()
        wait_for(self.called, timeout_seconds=SECONDS, what="the apiserver to trust podberth")

    def called(self) -> bool:
        """Return whether a creation goes through podberth."""
        return marked(self.control_plane)

    def close(self) -> None:
        """End all, and take the configurations and the Secret away."""
        for each in self.each:
            each.close()
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
        done = subprocess.run(command, env=MACHINE, capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, done.stdout, done.stderr


class Replicas(Group):
    """Two of them behind one address; without flags for policies, both mark every pod."""

    def __init__(
        self,
        control_plane: ControlPlane,
        directory: Path,
        flags: Sequence[str],
        *,
        prefixes: Sequence[Sequence[str]] = ((), ()),
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.kubeconfig = enter(control_plane, directory)
        flags = ("--kubeconfig", str(self.kubeconfig), "--ca-secret", SECRET, *flags)
        if "--policies" not in flags:
            flags = (*flags, *marking(directory))
        each = [
            Replica(directory / f"replica-{number}", flags, prefix=prefix) for number, prefix in enumerate(prefixes)
        ]
        self.balancer = Balancer(lambda: [one.port for one in each if one.ready()])
        super().__init__(control_plane, each, leading_to(f"https://127.0.0.1:{self.balancer.port}"))
        self.register()

    def close(self) -> None:
        """End all."""
        super().close()
        self.balancer.close()


def leading_to(url: str) -> list[Document]:
    """Return the shipped configurations with a URL in the place of each Service, and no caBundle yet."""
    documents = [pointed(configuration, Endpoint(url, "")) for configuration in shipped()]
    for webhook in (webhook for document in documents for webhook in document["webhooks"]):
        del webhook["clientConfig"]["caBundle"]
    return documents

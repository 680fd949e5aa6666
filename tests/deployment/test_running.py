"""What is installed, started: the Deployment's own command and variables, with a token of its own ServiceAccount.

The API server calls no Service here, so the two processes are asked what an API server's watch and writes need: that
they become ready, and that the guard of the webhook configurations lets them in what they need and nothing else.
"""

import base64
import http.client
import json
import os
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from controlplane.cluster import ControlPlane
from controlplane.ports import Ports
from controlplane.process import Component, Guard, Launch
from controlplane.wait import wait_for
from e2e.access import enter
from pages import ROOT
from podberth.wellknown import NAMESPACE

from .rendering import MANIFESTS, only, overlay

SECONDS = 60.0
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = tuple(f"{ADMISSION}/{each}webhookconfigurations/podberth" for each in ("mutating", "validating"))


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a cluster of these tests' own, with the default overlay applied to it."""
    del control_plane  # marks the test as one that needs one
    with ControlPlane.start(tmp_path_factory.mktemp("running")) as started:
        started.kubectl("apply", "-k", str(MANIFESTS / "overlays" / "self-signed"))
        yield started


@pytest.fixture
def replicas(plane: ControlPlane, tmp_path: Path) -> Iterator[list[Component]]:
    """Yield two containers of the Deployment as processes, both ready."""
    [container] = only(overlay(plane, "self-signed"), "Deployment")["spec"]["template"]["spec"]["containers"]
    ports, guard = Ports(), Guard()
    started: list[Component] = []
    try:
        started += [Component(_launch(plane, tmp_path, container, ports, number), guard) for number in range(2)]
        for each in started:
            each.wait_ready(SECONDS)
        yield started
    finally:
        for each in started:
            each.stop(crash=True)
        guard.close()
        ports.release()


def _launch(plane: ControlPlane, directory: Path, container: Any, ports: Ports, number: int) -> Launch:
    """Return what a kubelet would start, but for where files and ports of this machine are."""
    listen, metrics = ports.take(), ports.take()
    home = directory / str(number)
    home.mkdir()
    environ = {each["name"]: each["value"] for each in container["env"]} | {
        "PODBERTH_POLICIES": str(ROOT / "policies"),
        "PODBERTH_KUBECONFIG": str(enter(plane, home)),
        "PODBERTH_LISTEN": f"127.0.0.1:{listen}",
        "PODBERTH_METRICS_LISTEN": f"127.0.0.1:{metrics}",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "webhook"),
    }
    path = container["readinessProbe"]["httpGet"]["path"]
    command = (sys.executable, "-m", "podberth", *container["args"])
    return Launch("podberth", command, environ, home / "log", lambda: _answers(metrics, path))


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


@pytest.mark.usefixtures("replicas")
def test_two_replicas_share_an_authority_and_bring_it_into_every_ca_bundle(plane: ControlPlane) -> None:
    def bundles() -> set[str]:
        webhooks = [each for path in CONFIGURATIONS for each in plane.api.read(path)["webhooks"]]
        return {each["clientConfig"].get("caBundle", "") for each in webhooks}

    wait_for(
        lambda: len(bundles()) == 1 and "" not in bundles(), timeout_seconds=SECONDS, what="one caBundle everywhere"
    )
    [bundle] = bundles()
    [shared] = plane.api.read(f"/api/v1/namespaces/{NAMESPACE}/secrets/podberth-ca")["data"].values()
    assert json.loads(base64.b64decode(shared))["current"]["certificate"] == base64.b64decode(bundle).decode()


def test_podberth_has_no_right_that_is_not_shipped(plane: ControlPlane) -> None:
    who = f"--as=system:serviceaccount:{NAMESPACE}:podberth"
    refused = [
        ("get", "secrets", "-n", "default"),
        ("list", "secrets", "-n", NAMESPACE),
        ("get", "secrets/podberth-issuer", "-n", NAMESPACE),
        ("create", "pods", "-n", NAMESPACE),
        ("get", "pods", "-n", "default"),
        ("patch", "nodes"),
        ("update", "configmaps", "-n", NAMESPACE),
        ("delete", "mutatingwebhookconfigurations"),
        ("patch", "mutatingwebhookconfigurations/others"),
        ("exempt", "namespaces"),
    ]
    for verb, what, *where in refused:
        done = plane.kubectl("auth", "can-i", verb, what, *where, who, check=False)
        assert done.stdout.strip() == "no", (verb, what)

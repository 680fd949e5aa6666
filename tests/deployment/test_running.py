"""What is installed, started: the Deployment's own command and variables, with a token of its own ServiceAccount.

The API server calls no Service here, so the two processes are asked what an API server's watch and writes need: that
they become ready, and that the guard of the webhook configurations lets them in what they need and nothing else.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from e2e.access import enter
from e2e.container import Container
from podberth.mutation.seal import RECORD_KEY
from podberth.pki.authorities import SECRET_KEY
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
def replicas(plane: ControlPlane, tmp_path: Path) -> Iterator[list[Container]]:
    """Yield two containers of the Deployment as processes, both ready."""
    [container] = only(overlay(plane, "self-signed"), "Deployment")["spec"]["template"]["spec"]["containers"]
    with ExitStack() as stack:
        started = [stack.enter_context(closing(Container(container, tmp_path / str(each)))) for each in range(2)]
        for each in started:
            each.begin(PODBERTH_KUBECONFIG=str(enter(plane, each.directory)))
        for each in started:
            each.wait_ready()
        yield started


@pytest.mark.usefixtures("replicas")
def test_two_replicas_share_an_authority_and_bring_it_into_every_ca_bundle(plane: ControlPlane) -> None:
    def bundles() -> set[str]:
        webhooks = [each for path in CONFIGURATIONS for each in plane.api.read(path)["webhooks"]]
        return {each["clientConfig"].get("caBundle", "") for each in webhooks}

    wait_for(
        lambda: len(bundles()) == 1 and "" not in bundles(), timeout_seconds=SECONDS, what="one caBundle everywhere"
    )
    [bundle] = bundles()
    shared = plane.api.read(f"/api/v1/namespaces/{NAMESPACE}/secrets/podberth-ca")["data"]
    assert shared.keys() == {SECRET_KEY, RECORD_KEY}
    current = json.loads(base64.b64decode(shared[SECRET_KEY]))["current"]
    assert current["certificate"] == base64.b64decode(bundle).decode()


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

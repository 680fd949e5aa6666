"""`podberth serve`, `controller` and `agent` from the images, as the manifests start them, with a real API server."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from http import HTTPStatus
from pathlib import Path

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from deployment.rendering import composed, documents, only
from e2e.access import enter
from e2e.agent.stage import prepared
from e2e.controller_process import LEASE
from e2e.manifest import record
from e2e.overlay import webhook_container, write_overlay
from podberth.topology.shapes import simulate

from .built import Image
from .contained import Contained

pytestmark = pytest.mark.usefixtures("control_plane")
# Seconds here; the bound is for a CI machine under load.
SECONDS = 120.0


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a cluster with a GPU node, and nothing of podberth's."""
    with ControlPlane.start(tmp_path_factory.mktemp("images")) as started:
        started.add_nodes([simulate("hgx-h100-8", "gpu")[0]])
        yield started
        started.check()


def test_serve_writes_on_a_pod(plane: ControlPlane, images: Mapping[str, Image], tmp_path: Path) -> None:
    def written() -> bool:
        answer = plane.api.ask("POST", "/api/v1/namespaces/default/pods?dryRun=All", gpu_pod())
        return answer.status == HTTPStatus.CREATED and bool(record(answer.document))

    (tmp_path / "overlay").mkdir()
    with closing(Contained(images["podberth"], tmp_path / "serve", webhook_container(plane))) as webhook:
        write_overlay(tmp_path / "overlay", f"https://127.0.0.1:{webhook.port}")
        plane.kubectl("apply", "-k", str(tmp_path / "overlay"))
        listen = {"PODBERTH_LISTEN": webhook.port, "PODBERTH_METRICS_LISTEN": webhook.metrics_port}
        places = {name: f"127.0.0.1:{port}" for name, port in listen.items()}
        webhook.start(PODBERTH_KUBECONFIG=str(enter(plane, webhook.directory)), **places)
        wait_for(written, timeout_seconds=SECONDS, what="a GPU pod that podberth has written on")
    plane.kubectl("delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "podberth")


def test_controller_leads(plane: ControlPlane, images: Mapping[str, Image], tmp_path: Path) -> None:
    (tmp_path / "chosen").mkdir()
    chosen = str(composed(tmp_path / "chosen", ["controller"]))
    plane.kubectl("apply", "-k", chosen)
    plane.kubectl("delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "podberth")
    rendered = documents(plane.kubectl("kustomize", chosen).stdout)
    [container] = only(rendered, "Deployment", "podberth-controller")["spec"]["template"]["spec"]["containers"]
    with closing(Contained(images["podberth"], tmp_path / "controller", container)) as controller:
        kubeconfig = enter(plane, controller.directory, account="podberth-controller")
        listen = f"127.0.0.1:{controller.metrics_port}"
        controller.arguments = (*controller.arguments, "--kubeconfig", str(kubeconfig), "--metrics-listen", listen)
        controller.start()
        wait_for(
            lambda: controller.metrics().get("podberth_controller_leads"), timeout_seconds=SECONDS, what="a leader"
        )
        assert plane.api.read(LEASE)["spec"]["holderIdentity"]


def test_agent_publishes(plane: ControlPlane, images: Mapping[str, Image], tmp_path: Path) -> None:
    (tmp_path / "stage").mkdir()
    stage = prepared(plane, tmp_path / "stage")
    with closing(Contained(images["podberth-agent"], tmp_path / "agent", {"args": ["agent"]})) as agent:
        files = {"token": stage.token("gpu"), "ca.crt": plane.ca_file.read_text()}
        for name, text in files.items():
            (agent.directory / name).write_text(text)
        places = ("--token-file", str(agent.directory / "token"), "--ca-file", str(agent.directory / "ca.crt"))
        what = ("--node", "gpu", "--simulate", "hgx-h100-8")
        agent.arguments = (*agent.arguments, "--api-server", plane.url, *places, *what)
        agent.begin()
        stage.settled("gpu")
        assert stage.document("gpu") is not None

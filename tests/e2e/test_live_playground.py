"""The playground follows a real cluster: nodes, their topology, and what pods hold, with its page's rights alone."""

import asyncio
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from pages import page
from podberth.api.opening import Kubeconfig
from podberth.errors import ClusterError, UsageError
from podberth.playground.cluster import read_cluster
from podberth.playground.live import LiveCluster
from podberth.playground.server import Playground
from podberth.playground.session import Session
from podberth.settings import Address

from .access import enter_with

[RIGHTS] = re.findall(r"^```yaml\n(apiVersion: rbac.*?)^```$", page("docs/playground.md"), re.MULTILINE | re.DOTALL)
SECONDS = 90.0


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane.start(tmp_path_factory.mktemp("live") / "plane") as plane:
        plane.add_nodes([gpu_node("gpu-0"), gpu_node("gpu-1")])
        yield plane
        plane.check()


@pytest.fixture(scope="module")
def kubeconfig(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return enter_with(plane, tmp_path_factory.mktemp("rights"), RIGHTS, "playground")


def test_what_pods_hold_is_read_and_nothing_else_about_them(plane: ControlPlane, kubeconfig: Path) -> None:
    live = LiveCluster(kubeconfig=Kubeconfig((kubeconfig,)))
    cluster = read_cluster(asyncio.run(live.text()), "default")
    assert not cluster.problems
    assert {node.name for node in cluster.facts.nodes} == {"gpu-0", "gpu-1"}

    pod = gpu_pod(3, name="secretive")
    pod["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    plane.apply({**pod, "metadata": {**pod["metadata"], "namespace": "default"}})

    def held() -> str:
        text = asyncio.run(live.text())
        return text if "secretive" in text else ""

    text = wait_for(held, timeout_seconds=SECONDS, what="the pod to run")
    assert "hunter2" not in text
    holdings = read_cluster(text, "default").holdings
    assert holdings is not None
    assert sorted(use.free_of("nvidia.com/gpu") for use in holdings.nodes.values()) == [5, 8]


def test_the_page_gets_the_cluster_again_and_says_why_it_does_not(plane: ControlPlane, kubeconfig: Path) -> None:
    async def answers(live: LiveCluster | None) -> tuple[bool, int, dict[str, str]]:
        playground = Playground(Session(), live=live)
        await playground.start(Address("127.0.0.1", 0))
        try:
            offered = json.loads(await asyncio.to_thread(_get, f"{playground.url}session"))["live"]
            try:
                return offered, 200, json.loads(await asyncio.to_thread(_get, f"{playground.url}live"))
            except urllib.error.HTTPError as error:
                body = error.read()
                return offered, error.code, json.loads(body) if body.startswith(b"{") else {}
        finally:
            await playground.stop()

    offered, status, answer = asyncio.run(answers(LiveCluster(kubeconfig=Kubeconfig((kubeconfig,)))))
    assert (offered, status) == (True, 200)
    assert "gpu-0" in answer["text"]
    assert asyncio.run(answers(None))[:2] == (False, 404)

    fewer = RIGHTS.replace("podberth-playground", "less").replace("nodes, ", "")
    without = enter_with(plane, kubeconfig.parent, fewer, "less")
    with pytest.raises(ClusterError):
        asyncio.run(LiveCluster(kubeconfig=Kubeconfig((without,))).text())
    offered, status, answer = asyncio.run(answers(LiveCluster(kubeconfig=Kubeconfig((without,)))))
    assert (offered, status) == (True, 502)
    assert "nodes" in answer["message"]


def test_a_cluster_that_the_page_cannot_draw_is_refused(monkeypatch: pytest.MonkeyPatch, kubeconfig: Path) -> None:
    monkeypatch.setattr("podberth.playground.live.MAX_NODES", 1)
    with pytest.raises(UsageError, match=r"^--live: got 2 nodes, want 1 at most; "):
        asyncio.run(LiveCluster(kubeconfig=Kubeconfig((kubeconfig,))).text())


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=30) as response:  # noqa: S310 - the test's own server
        body: bytes = response.read()
        return body

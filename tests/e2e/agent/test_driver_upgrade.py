"""Agents leave a node whose driver is to be upgraded, and come back: the DaemonSet's controller and the node's labels.

The labels' values are those of NVIDIA/k8s-driver-manager (cmd/driver-manager/main.go, maybeSetPaused) and mig-parted
(pkg/mig/reconfigure/reconfigure.go, maybeSetPaused), which set them together with those of the GPU operator's own pods.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.wait import wait_for
from deployment.rendering import composed, documents, only
from nvml.driver import Driver
from nvml.scenario import hgx_h100, write_sysfs
from nvml.test_giving_back import device_file, holders
from podberth.wellknown import NAMESPACE

from .stage import AGENT_NAMESPACE, PATIENCE_SECONDS, Stage

CLIENT, PLUGIN = "nvidia.com/gpu.deploy.client", "nvidia.com/gpu.deploy.device-plugin"
UPGRADE, MIG = "paused-for-driver-upgrade", "paused-for-mig-change"
PODS = f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods"
RUNTIME_CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
DAEMON_SETS = f"/apis/apps/v1/namespaces/{AGENT_NAMESPACE}/daemonsets/podberth-agent"


@pytest.fixture(scope="module", params=[None, "agent-gpu-operator"])
def component(stage: Stage, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the component with which the DaemonSet is installed; empty for none."""
    chosen = composed(tmp_path_factory.mktemp("chosen"), [request.param] if request.param else [])
    rendered = documents(stage.control_plane.kubectl("kustomize", str(chosen)).stdout)
    daemon_set = only(rendered, "DaemonSet", "podberth-agent")
    stage.control_plane.apply({**RUNTIME_CLASS, "handler": "nvidia"}, daemon_set)
    yield request.param or ""
    stage.api.request("DELETE", DAEMON_SETS)
    wait_for(lambda: not pods(stage), timeout_seconds=PATIENCE_SECONDS, what="the pods' end")


@pytest.fixture
def node(stage: Stage, component: str) -> Iterator[str]:
    """Yield a GPU node as the GPU operator labels it, with the agent's pod there."""
    name = f"upgraded-{component or 'plain'}"
    stage.add_node(name)
    label(stage, name, {CLIENT: "true", PLUGIN: "true"})
    wait_for(lambda: pods(stage, name), timeout_seconds=PATIENCE_SECONDS, what="the agent's pod")
    yield name
    stage.api.request("DELETE", f"/api/v1/nodes/{name}")


def pods(stage: Stage, node: str | None = None) -> list[dict[str, Any]]:
    """Return the pods of the DaemonSet on a node, or on all."""
    found = stage.api.read(f"{PODS}?labelSelector=app.kubernetes.io/name%3Dpodberth-agent")["items"]
    return [each for each in found if node in (None, each["spec"].get("nodeName"))]


def label(stage: Stage, node: str, labels: dict[str, str | None]) -> None:
    """Set labels of a node; None takes one away."""
    patch = {"metadata": {"labels": labels}}
    stage.api.request("PATCH", f"/api/v1/nodes/{node}", patch, "application/merge-patch+json")


def wait_until_gone(stage: Stage, node: str) -> None:
    wait_for(lambda: not pods(stage, node), timeout_seconds=PATIENCE_SECONDS, what="the agent's pod to go")


def wait_until_back(stage: Stage, node: str) -> None:
    wait_for(lambda: pods(stage, node), timeout_seconds=PATIENCE_SECONDS, what="the agent's pod to come back")


def test_it_leaves_while_the_node_is_paused_and_comes_back(stage: Stage, node: str) -> None:
    for paused in (
        {CLIENT: UPGRADE, PLUGIN: UPGRADE},
        {CLIENT: MIG, PLUGIN: MIG},
        {PLUGIN: UPGRADE},
        {CLIENT: "false"},
    ):
        label(stage, node, dict(paused))
        wait_until_gone(stage, node)
        label(stage, node, {CLIENT: "true", PLUGIN: "true"})
        wait_until_back(stage, node)


def test_nvidias_managers_wait_for_its_pod_where_the_operator_labels_nodes(
    stage: Stage, node: str, component: str
) -> None:
    """They look for the label's key in the nodeSelector of pods that a DaemonSet controls."""
    [pod] = pods(stage, node)
    assert (CLIENT in pod["spec"].get("nodeSelector", {})) == (component == "agent-gpu-operator")
    assert [each["kind"] for each in pod["metadata"]["ownerReferences"] if each.get("controller")] == ["DaemonSet"]


def test_where_nobody_labels_nodes_so_it_runs_by_default_and_not_with_the_component(
    stage: Stage, node: str, component: str
) -> None:
    label(stage, node, {CLIENT: None, PLUGIN: None})
    if component:
        wait_until_gone(stage, node)
    else:
        # The controller has seen it once the pod went and came by another label.
        label(stage, node, {CLIENT: "false"})
        wait_until_gone(stage, node)
        label(stage, node, {CLIENT: None})
        wait_until_back(stage, node)


def test_an_upgrade_of_the_driver_on_one_node(stage: Stage, node: str, tmp_path: Path) -> None:
    """The test starts the agent's process and ends it, as a kubelet does for the pods of the DaemonSet."""
    device = device_file(tmp_path)
    device.touch()
    driver = Driver(tmp_path / "driver", hgx_h100() | {"driver.device": device})
    write_sysfs(driver.sysfs, [])
    with stage.agent(node, driver=driver) as agent:
        before = stage.settled(node)
        assert holders(device) == {agent.process.pid}
        label(stage, node, {CLIENT: UPGRADE, PLUGIN: UPGRADE})
        wait_until_gone(stage, node)
        assert agent.stop() == 0
    assert holders(device) == set()
    assert stage.config_map(node) == before  # the last document stays, and its heartbeat ends
    driver.change({"driver.generation": 1, "gpu.0.ecc": 1})
    label(stage, node, {CLIENT: "true", PLUGIN: "true"})
    wait_until_back(stage, node)
    with stage.agent(node, driver=driver):
        wait_for(
            lambda: (stage.document(node) or {})["gpus"][0].get("problem"),
            timeout_seconds=PATIENCE_SECONDS,
            what="the document of the new driver",
        )
    assert device.read_text().split() == ["opened", "closed", "opened"]  # the second one was killed
    stage.api.raw("DELETE", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{node}")

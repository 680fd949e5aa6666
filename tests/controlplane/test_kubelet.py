"""What the simulated kubelet reports: objects in, status documents out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from . import kubelet

NOW = datetime(2026, 11, 21, 9, 0, 30, 250_000, UTC)
STARTED = "2026-11-21T09:00:30Z"


def pod(**annotations: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "generation": 3, "annotations": annotations},
        "spec": {
            "initContainers": [{"name": "fetch", "image": "i"}, {"name": "proxy", "restartPolicy": "Always"}],
            "containers": [{"name": "main", "image": "m"}],
        },
    }


def test_a_running_pod_has_its_init_containers_done_and_its_sidecars_running() -> None:
    status = kubelet.running_status(pod(), "10.128.0.1", NOW)
    states = {
        found["name"]: (next(iter(found["state"])), found["ready"])
        for found in status["initContainerStatuses"] + status["containerStatuses"]
    }
    assert states == {"fetch": ("terminated", True), "proxy": ("running", True), "main": ("running", True)}
    assert (status["phase"], status["startTime"], status["podIP"]) == ("Running", STARTED, "10.128.0.1")
    assert {found["status"] for found in status["conditions"]} == {"True"}
    assert status["observedGeneration"] == 3


def test_a_pod_that_is_done_has_every_container_ended_with_0_and_is_not_ready() -> None:
    running = {**pod(), "status": {"startTime": STARTED}}
    status = kubelet.succeeded_status(running, NOW + timedelta(seconds=5))
    ended = status["containerStatuses"] + status["initContainerStatuses"]
    assert [found["state"]["terminated"]["exitCode"] for found in ended] == [0, 0, 0]
    assert ended[0]["state"]["terminated"]["startedAt"] == STARTED
    assert ended[0]["ready"] is False
    assert status["phase"] == "Succeeded"
    assert {found["status"] for found in status["conditions"]} == {"False"}


@pytest.mark.parametrize(
    ("asked", "left"), [(None, None), ("90", 69.75), ("0.5", 0.0), ("20.5", 0.25), ("soon", None), ("-1", 0.0)]
)
def test_how_long_a_pod_has_to_run(asked: str | None, left: float | None) -> None:
    annotations = {} if asked is None else {kubelet.RUN_SECONDS_ANNOTATION: asked}
    running = {**pod(**annotations), "status": {"startTime": STARTED}}
    assert kubelet.seconds_to_run(running, NOW + timedelta(seconds=20)) == left


def test_a_node_keeps_what_it_says_and_is_given_what_it_lacks() -> None:
    manifest = kubelet.gpu_node("n", gpus=4, labels={"rack": "a", "kubernetes.io/arch": "arm64"})
    manifest["spec"] = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}
    manifest["status"]["allocatable"] = {"nvidia.com/gpu": "3"}
    node = kubelet.complete_node(manifest, NOW)
    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "n",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        "rack": "a",
    }
    assert (node["status"]["capacity"]["nvidia.com/gpu"], node["status"]["allocatable"]["nvidia.com/gpu"]) == ("4", "3")
    assert node["status"]["allocatable"]["pods"] == "110"
    assert node["spec"] == manifest["spec"]
    assert node["status"]["conditions"][0]["status"] == "True"


def test_a_node_without_gpus_offers_none() -> None:
    node = kubelet.complete_node(kubelet.gpu_node("n", gpus=0), NOW)
    assert "nvidia.com/gpu" not in node["status"]["capacity"]


@pytest.mark.parametrize(("status", "lost"), [("True", False), ("Unknown", True), ("False", False)])
def test_only_a_node_given_up_by_the_controller_is_lost(status: str, lost: bool) -> None:
    node = {
        "status": {"conditions": [{"type": "DiskPressure", "status": "Unknown"}, {"type": "Ready", "status": status}]}
    }
    assert kubelet.is_lost(node) is lost

"""What one agent writes, when it writes it, and what it leaves."""

import itertools
import json
import random
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.wait import wait_for
from nvml.driver import Driver
from nvml.scenario import hgx_h100, write_sysfs
from podberth.agent.publisher import _SECONDS_A_WRITE
from podberth.topology.codec import DATA_KEY, decode_topology
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE, TOPOLOGY_LABEL

from ..podberth_process import ANSWER_SECONDS, parse_metrics
from .stage import AGENT_NAMESPACE, PATIENCE_SECONDS, Stage

QUICK = ("--heartbeat", "1")
_COUNTER = itertools.count()
SIMULATE = ("--simulate", "hgx-h100-8")


@pytest.fixture
def node(stage: Stage) -> Iterator[str]:
    """Yield a Node of the test's own."""
    name = f"node-{next(_COUNTER)}"
    stage.add_node(name)
    yield name
    stage.api.raw("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    made = Driver(tmp_path / "driver", hgx_h100())
    write_sysfs(made.sysfs, [])
    return made


def until(predicate: Callable[[], Any], what: str) -> None:
    wait_for(predicate, timeout_seconds=PATIENCE_SECONDS, what=what)


def version(stage: Stage, node: str) -> str:
    found = stage.config_map(node)
    assert found is not None
    return str(found["metadata"]["resourceVersion"])


def problem(stage: Stage, node: str, gpu: int) -> str | None:
    document = stage.document(node)
    return None if document is None else document["gpus"][gpu].get("problem", "")


def test_the_config_map_and_the_lease_are_as_others_expect_them(stage: Stage, node: str) -> None:
    with stage.agent(node, *SIMULATE):
        config_map = stage.settled(node)
        lease = stage.lease(node)
    assert config_map["data"] == simulate("hgx-h100-8", node)[1]["data"]
    uid = stage.node(node)["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "blockOwnerDeletion": False}
    assert lease is not None
    for each in (config_map, lease):
        assert each["metadata"]["labels"] == {TOPOLOGY_LABEL: "v1"}
        assert each["metadata"]["ownerReferences"] == [owner]
        assert [(by["manager"], by["operation"]) for by in each["metadata"]["managedFields"]] == [
            ("podberth-agent", "Apply")
        ]
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == (node, 360)
    age = datetime.now(UTC) - datetime.fromisoformat(lease["spec"]["renewTime"])
    assert timedelta() <= age < timedelta(seconds=PATIENCE_SECONDS)


def test_at_rest_only_the_lease_is_written_and_a_restart_writes_no_config_map(stage: Stage, node: str) -> None:
    with stage.agent(node, *SIMULATE, *QUICK) as agent:
        before = stage.settled(node)
        stage.wait_for_renewals(node, 3)
        assert stage.config_map(node) == before
        assert agent.stop() == 0
    with stage.agent(node, *SIMULATE, *QUICK):
        stage.wait_for_renewals(node, 2)
    assert stage.config_map(node) == before


def test_a_restart_on_real_devices_keeps_the_time_of_the_last_change(stage: Stage, node: str, driver: Driver) -> None:
    with stage.agent(node, *QUICK, driver=driver) as agent:
        before = stage.settled(node)
        assert agent.stop() == 0
    moment = json.loads(before["data"][DATA_KEY])["observed"]
    until(lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") != moment, "the next second")
    with stage.agent(node, *QUICK, driver=driver):
        stage.wait_for_renewals(node, 2)
    assert stage.config_map(node) == before


def test_what_others_do_to_the_config_map_is_put_right_at_the_next_heartbeat(stage: Stage, node: str) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{node}"
    merge = "application/merge-patch+json"
    with stage.agent(node, *SIMULATE, *QUICK):
        before = stage.settled(node)["data"]
        stage.api.request("PATCH", path, {"data": {DATA_KEY: "{}"}}, merge)
        until(lambda: (stage.config_map(node) or {}).get("data") == before, "the document to be put right")
        stage.api.request("PATCH", path, {"metadata": {"labels": {TOPOLOGY_LABEL: None}}}, merge)
        until(lambda: "labels" in (stage.config_map(node) or {}).get("metadata", {}), "the label to come back")
        stage.api.request("DELETE", path)
        until(lambda: stage.config_map(node), "the ConfigMap to come back")
        assert stage.settled(node)["data"] == before
        # What somebody puts beside it is theirs, and no reason to write.
        stage.api.request("PATCH", path, {"metadata": {"annotations": {"theirs": "1"}}}, merge)
        theirs = version(stage, node)
        stage.wait_for_renewals(node, 2)
        assert version(stage, node) == theirs


def test_a_node_that_is_made_again_gets_its_config_map_again(stage: Stage, node: str) -> None:
    with stage.agent(node, *SIMULATE, *QUICK):
        stage.settled(node)
        old = stage.node(node)["metadata"]["uid"]
        stage.api.request("DELETE", f"/api/v1/nodes/{node}")
        until(lambda: stage.config_map(node) is None, "the garbage collector to take the ConfigMap")
        stage.add_node(node)
        new = stage.node(node)["metadata"]["uid"]
        assert new != old

        def owners() -> set[str]:
            found = (stage.config_map(node), stage.lease(node))
            return {each["metadata"]["ownerReferences"][0]["uid"] if each else "" for each in found}

        until(lambda: owners() == {new}, "ConfigMap and Lease of the new Node")


def test_a_config_map_of_an_earlier_node_goes_to_the_new_one(stage: Stage, node: str) -> None:
    with stage.agent(node, *SIMULATE) as agent:
        before = stage.settled(node)
        agent.stop()
    # As it is left where the garbage collector has not come by yet: the owner is another one.
    stage.api.request(
        "PATCH",
        f"/api/v1/namespaces/{NAMESPACE}/configmaps/{node}",
        {"metadata": {"ownerReferences": None}},
        "application/merge-patch+json",
    )
    with stage.agent(node, *SIMULATE):
        uid = stage.node(node)["metadata"]["uid"]
        until(
            lambda: (
                [o["uid"] for o in (stage.config_map(node) or before)["metadata"].get("ownerReferences", [])] == [uid]
            ),
            "the owner",
        )


def test_a_fault_is_in_the_config_map_long_before_the_next_look(stage: Stage, node: str, driver: Driver) -> None:
    """How long before is for bench/agent.py to say."""
    with stage.agent(node, "--interval", "3600", driver=driver):
        stage.settled(node)
        for gpu in range(3):
            driver.change({f"event.{gpu}": f"{gpu} 0x8 79"})
            until(lambda gpu=gpu: problem(stage, node, gpu) == "XID 79", "the fault")  # type: ignore[misc]


def test_an_agent_that_publishes_serves_its_metrics_too(stage: Stage, node: str, driver: Driver) -> None:
    listening = "metrics: listening on port "
    with stage.agent(node, "--metrics-listen", "127.0.0.1:0", driver=driver) as agent:
        until(lambda: agent.says(listening), "the port of its metrics")
        [said] = [line for line in agent.lines() if line["msg"].startswith(listening)]
        assert said["level"] == "info"
        url = f"http://127.0.0.1:{said['msg'].removeprefix(listening)}/metrics"

        def counted() -> tuple[float, list[float]]:
            with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
                found = parse_metrics(answer.read().decode())
            healthy = [value for name, value in found.items() if name.startswith("podberth_gpu_healthy{")]
            return found.get(f'podberth_agent_document_changes_total{{node="{node}"}}', 0), sorted(healthy)

        until(lambda: counted() == (1, [1.0] * 8), "the first look")
        driver.change({"event.0": "3 0x8 79"})
        until(lambda: counted() == (2, [0.0, *[1.0] * 7]), "the fault")


def test_a_gpu_that_comes_and_goes_is_written_a_few_times_only(stage: Stage, node: str, driver: Driver) -> None:
    began = time.monotonic()
    with stage.agent(node, "--interval", "0.1", driver=driver):
        stage.settled(node)
        seen: set[str] = {version(stage, node)}
        for flap in range(12):
            driver.change({"gpu.2.remap": f"0 {(flap + 1) % 2}"})
            if flap < 5:
                wanted = "row remapping failed" if flap % 2 == 0 else ""
                until(lambda wanted=wanted: problem(stage, node, 2) == wanted, f"change {flap}")  # type: ignore[misc]
            seen.add(version(stage, node))
    # One more for each time that a machine under load takes as long as the agent means to wait.
    assert 6 <= len(seen) <= 6 + (time.monotonic() - began) // _SECONDS_A_WRITE


def test_without_its_driver_the_document_stays_and_the_heartbeat_ends(stage: Stage, node: str, driver: Driver) -> None:
    with stage.agent(node, "--interval", "0.1", *QUICK, driver=driver) as agent:
        before = stage.settled(node)
        driver.change({"driver.loaded": 0})
        until(lambda: agent.says("the driver is not loaded"), "the agent to notice")
        renewed = stage.renewed(node)
        until(
            lambda: datetime.now(UTC) - datetime.fromisoformat(renewed) > timedelta(seconds=2.5), "two heartbeats' time"
        )
        assert (stage.renewed(node), stage.config_map(node)) == (renewed, before)
        driver.change({"driver.loaded": 1, "driver.generation": 1})
        stage.wait_for_renewals(node)


def test_a_driver_of_another_version_ends_it_and_leaves_the_document(stage: Stage, node: str, driver: Driver) -> None:
    with stage.agent(node, "--interval", "0.1", driver=driver) as agent:
        before = stage.settled(node)
        driver.change({"driver.generation": 1, "fail.nvmlInitWithFlags": 18})
        assert agent.process.wait(PATIENCE_SECONDS) == 3
        assert "start this process again" in agent.log.read_text()
        assert stage.config_map(node) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once_and_leaves_the_document(
    stage: Stage, node: str, driver: Driver, number: signal.Signals
) -> None:
    with stage.agent(node, driver=driver) as agent:
        before = stage.settled(node)
        agent.process.send_signal(number)
        # A call into the driver's library lasts a second at most.
        assert agent.process.wait(PATIENCE_SECONDS) == 0
        assert stage.config_map(node) == before


def test_killed_at_any_moment_it_leaves_a_whole_document(stage: Stage, node: str, driver: Driver) -> None:
    draw = random.Random(20261121)  # noqa: S311 - moments, not secrets
    token = stage.token(node)
    errors = 0
    for _ in range(8):
        with stage.agent(node, "--interval", "0.1", token=token, driver=driver) as agent:
            until(lambda agent=agent: agent.says("publishing"), "the agent to publish")  # type: ignore[misc]
            stage.settled(node)
            deadline = time.monotonic() + draw.uniform(0.0, 0.6)
            while True:
                errors += 1
                driver.change({"gpu.3.ecc": errors % 2, "gpu.5.remap": f"0 {errors % 3 // 2}"})
                if time.monotonic() >= deadline:
                    break
                stage.config_map(node)
            agent.process.kill()
            agent.process.wait(PATIENCE_SECONDS)
        found = stage.config_map(node)
        assert found is not None
        assert len(decode_topology(found).gpus) == 8
    with stage.agent(node, "--interval", "0.1", token=token, driver=driver):
        driver.change({"gpu.3.ecc": 1, "gpu.5.remap": "0 0"})
        until(lambda: problem(stage, node, 3) == "uncorrectable ECC errors", "the last state")


def test_a_node_that_is_not_there_is_said_and_waited_for(stage: Stage, node: str) -> None:
    token = stage.token(node)
    with stage.agent("nobody", *SIMULATE, *QUICK, token=token) as agent:
        until(lambda: agent.says("Node nobody: got status 404"), "the agent to say so")
        assert agent.says("want --node to be the name of this machine's Node")
        assert agent.process.poll() is None


def test_rights_that_are_missing_are_said(stage: Stage, node: str) -> None:
    token = stage.control_plane.create_token(AGENT_NAMESPACE, "default")
    with stage.agent(node, *SIMULATE, *QUICK, token=token) as agent:
        until(lambda: agent.says(f"Node {node}: got status 403: "), "the agent to say so")
        assert agent.says(f"grant ServiceAccount {AGENT_NAMESPACE}/default: get nodes")
        assert agent.process.poll() is None


def test_a_token_that_is_not_good_is_said_and_the_next_one_is_taken(stage: Stage, node: str) -> None:
    with stage.agent(node, *SIMULATE, *QUICK, token="nonsense") as agent:  # noqa: S106 - it is none
        until(lambda: agent.says("got status 401"), "the agent to say so")
        agent.token_file.write_text(stage.token(node))
        stage.settled(node)
        until(lambda: agent.says(f"Node {node}: works again"), "the agent to say so")

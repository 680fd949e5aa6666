"""Two hundred agents in one process on a real API server: everything is there and current, whatever happens."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from bench.fleet.churn import MIG_STATE, Machine
from bench.fleet.fleet import Fleet

from controlplane.wait import wait_for
from podberth.agent.api import Api, find_access
from podberth.topology.heartbeats import is_stale
from podberth.topology.shapes import simulate
from podberth.wellknown import LINK_SHAPE_LABEL

from ..podberth_process import ROOT, parse_metrics
from .running_fleet import CONFIG_MAPS, HEARTBEAT_SECONDS, LEASES, agrees, by_name, running
from .stage import Stage

COUNTS = {"hgx-h100-8": 60, "dgx-a100-8": 60, "dgx-a100-8-mig-mixed": 30, "l4-4": 30, "gb200-tray": 20}
SECONDS = 120.0
"""For two hundred machines at once, each of which may have to try again; the bound is for a CI machine under load."""
MACHINES = [Machine(f"{shape}-{number}", shape) for shape, count in COUNTS.items() for number in range(count)]


@pytest.fixture(scope="module", autouse=True)
def nodes(stage: Stage) -> Iterator[None]:
    """Add a Node for each machine; afterwards the garbage collector takes what they own."""
    manifests = [simulate(machine.shape, machine.name)[0] for machine in MACHINES]
    for manifest in manifests:
        manifest["metadata"].pop("uid")
    stage.control_plane.add_nodes(manifests)
    yield
    for machine in MACHINES:
        stage.api.request("DELETE", f"/api/v1/nodes/{machine.name}")


@pytest.fixture
def api(stage: Stage) -> Iterator[Api]:
    """Yield the agents' way to the API server, as administrator: a fleet changes Nodes too."""
    token = stage.keep(stage.control_plane.admin_token)
    made = Api(find_access(stage.control_plane.url, token, stage.control_plane.ca_file, {}), connections=8)
    yield made
    made.close()


def wait_until_current(stage: Stage, fleet: Fleet) -> None:
    """Wait until every ConfigMap says what its machine is, and every Node shows the same."""

    def behind() -> list[str]:
        config_maps, shown = by_name(stage.control_plane, CONFIG_MAPS), by_name(stage.control_plane, "/api/v1/nodes")
        return [
            machine.name
            for machine in fleet.machines
            if machine.name not in config_maps or not agrees(machine, config_maps[machine.name], shown[machine.name])
        ]

    wait_for(lambda: not behind(), timeout_seconds=SECONDS, what=lambda: f"these to be current: {behind()[:5]}")


def wait_until_live(stage: Stage) -> None:
    """Wait until every Lease is one of now."""

    def live() -> bool:
        leases = by_name(stage.control_plane, LEASES)
        now = datetime.now(UTC) + timedelta(seconds=HEARTBEAT_SECONDS)
        return all(machine.name in leases and not is_stale(leases[machine.name], now) for machine in MACHINES)

    wait_for(live, timeout_seconds=SECONDS, what="every Lease to be current")


def writes(stage: Stage) -> Counter[str]:
    """Count what the API server was made to apply, by resource and by its own metrics."""
    found: Counter[str] = Counter()
    for name, value in parse_metrics(stage.control_plane.raw("GET", "/metrics")[1].decode()).items():
        # An agent applies, and nobody else here does while nobody adds nodes.
        if name.startswith("apiserver_request_total{") and 'verb="APPLY"' in name:
            found[name.partition('resource="')[2].partition('"')[0]] += int(value)
    return found


def test_all_are_published_and_at_rest_only_heartbeats_are_written(stage: Stage, api: Api) -> None:
    with running(api, MACHINES) as fleet:
        wait_until_current(stage, fleet)
        wait_until_live(stage)
        # What is under way comes to its end: a write is there before it is counted.
        begun = fleet.tally.requests["heartbeat"]
        wait_for(
            lambda: fleet.tally.requests["heartbeat"] >= begun + len(MACHINES),
            timeout_seconds=SECONDS,
            what="a heartbeat of each",
        )
        before = by_name(stage.control_plane, CONFIG_MAPS)
        counted, sent = writes(stage), fleet.tally.requests.copy()
        renewals = sent["heartbeat"]
        wait_for(
            lambda: fleet.tally.requests["heartbeat"] >= renewals + 2 * len(MACHINES),
            timeout_seconds=SECONDS,
            what="two heartbeats of each",
        )
        written = writes(stage) - counted
        assert by_name(stage.control_plane, CONFIG_MAPS) == before
        since = fleet.tally.requests - sent
    assert set(written) == {"leases"}
    assert set(since) == {"check", "heartbeat"}
    # No answer in time ("0"), or a request to come later (429): a busy machine has its share of both.
    assert {failure.rpartition(" ")[2] for failure in fleet.tally.failures} <= {"0", "429"}


def test_what_happens_to_the_machines_is_in_the_cluster(stage: Stage, api: Api) -> None:
    with running(api, MACHINES, changes_a_second=40.0, seed=7) as fleet:
        wait_for(lambda: fleet.tally.changes > 200, timeout_seconds=SECONDS, what="two hundred changes")
        shown = by_name(stage.control_plane, "/api/v1/nodes")
        assert any(node["metadata"]["labels"].get(MIG_STATE) == "pending" for node in shown.values())
    history = fleet.machines
    assert any(machine.lost for machine in history)
    # What was not written yet, because it came too often, is written by whoever goes on from there.
    with running(api, history) as fleet:
        wait_until_current(stage, fleet)


def test_nodes_that_are_deleted_and_made_again_are_published_again(stage: Stage, api: Api) -> None:
    again = MACHINES[:10]
    with running(api, MACHINES):
        wait_until_live(stage)
        for machine in again:
            stage.api.request("DELETE", f"/api/v1/nodes/{machine.name}")
        gone = {machine.name for machine in again}
        wait_for(
            lambda: not gone & by_name(stage.control_plane, CONFIG_MAPS).keys(),
            timeout_seconds=SECONDS,
            what="the garbage collector",
        )
        for machine in again:
            stage.add_node(machine.name, machine.shape)
        uids = {name: node["metadata"]["uid"] for name, node in by_name(stage.control_plane, "/api/v1/nodes").items()}

        def owners() -> dict[str, str]:
            found = by_name(stage.control_plane, CONFIG_MAPS)
            return {name: each["metadata"]["ownerReferences"][0]["uid"] for name, each in found.items()}

        wait_for(
            lambda: all(owners().get(name) == uids[name] for name in gone), timeout_seconds=SECONDS, what="the new ones"
        )


def test_an_api_server_that_restarts_is_found_again(stage: Stage, api: Api) -> None:
    with running(api, MACHINES, changes_a_second=5.0, seed=3) as fleet:
        wait_until_live(stage)
        stage.control_plane.stop_component("kube-apiserver")
        wait_for(lambda: fleet.tally.failures.total() > 20, timeout_seconds=SECONDS, what="the agents to notice")
        asked, began = fleet.tally.requests.total(), datetime.now(UTC)
        stage.control_plane.start_component("kube-apiserver")
        tried = fleet.tally.requests.total() - asked
        seconds = (datetime.now(UTC) - began).total_seconds()
        wait_until_live(stage)
        # Each has a heartbeat and perhaps a change to bring on; never a loop.
        assert tried < len(MACHINES) * (4 + seconds)


def test_the_command_says_what_it_did(stage: Stage) -> None:
    token = stage.keep(stage.control_plane.admin_token)
    flags = ["l4-1=3", "--prefix", "made-", "--create-nodes", "--labels", "own"]
    flags += ["--for", "3", "--changes", "1", "--heartbeat", "1"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "bench.fleet", *flags, *stage.flags(token)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "webhook")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["machines"], report["published"], report["failures"]) == (3, 3, {})
    assert report["requests"]["machine"] >= 3
    assert stage.node("made-l4-1-0")["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-L4"
    assert stage.node("made-l4-1-0")["metadata"]["labels"][LINK_SHAPE_LABEL] == "none"
    for number in range(3):
        stage.api.request("DELETE", f"/api/v1/nodes/made-l4-1-{number}")

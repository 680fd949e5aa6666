"""A fleet's scheduling, with a server in memory for each node."""

import threading
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from bench.fleet.churn import Machine
from bench.fleet.fleet import Fleet, Plan

from api_server import Server
from podberth.agent.api_requests import ApiRequest, SendResult

MACHINES = [Machine(f"n{number}", "dgx-a100-8") for number in range(10)]


class Cluster:
    """Servers by node, and what was done to the Nodes; counts how many requests are on the way at once."""

    def __init__(self) -> None:
        self.servers: dict[str, Server] = defaultdict(Server)
        self.patches: dict[str, list[Any]] = defaultdict(list)
        self.busiest = 0
        self._on_the_way: list[str] = []
        self._lock = threading.Lock()

    def send(self, request: ApiRequest) -> SendResult:
        """Answer one request."""
        path = request.path.partition("?")[0].removesuffix("/status")
        node = path.rpartition("/")[2]
        with self._lock:
            assert node not in self._on_the_way, "two hands on one machine"
            self._on_the_way.append(node)
            self.busiest = max(self.busiest, len(self._on_the_way))
        try:
            if request.purpose == "machine":
                self.patches[node].append(orjson.loads(request.body or b""))
                return SendResult(200, {"metadata": {"uid": "u"}})
            return self.servers[node].answer(request, datetime.now(UTC).timestamp())
        finally:
            with self._lock:
                self._on_the_way.remove(node)


def churned(seed: int) -> Cluster:
    cluster = Cluster()
    plan = Plan(machines=MACHINES, heartbeat_seconds=120.0, changes_a_second=1000.0, seed=seed)
    fleet = Fleet(plan, cluster.send, workers=3)
    fleet.run(lambda: fleet.tally.changes >= 100 and len(cluster.patches) == len(MACHINES))
    assert cluster.busiest <= 3
    return cluster


def test_the_same_seed_is_the_same_history_of_each_machine_however_its_threads_took_turns() -> None:
    one, other, another = churned(1), churned(1), churned(2)
    for node, patches in one.patches.items():
        same = other.patches[node]
        assert patches[: len(same)] == same[: len(patches)]
    assert any(another.patches[node][:3] != patches[:3] for node, patches in one.patches.items())


def test_a_change_of_a_machine_is_on_its_node_and_published_at_once() -> None:
    cluster = Cluster()
    fleet = Fleet(Plan(machines=MACHINES, heartbeat_seconds=120.0), cluster.send, workers=2)
    thread = threading.Thread(target=fleet.run, args=(lambda: fleet.tally.changes == 1,))
    thread.start()
    fleet.let("n4", lambda machine: replace(machine, lost=frozenset({2})))
    thread.join(60)
    assert not thread.is_alive()
    assert [machine.name for machine in fleet.machines if machine.lost] == ["n4"]
    assert cluster.patches == {"n4": [{"status": {"allocatable": {"nvidia.com/gpu": "7"}}}]}


def test_a_refused_write_of_a_node_is_repeated_until_it_succeeds() -> None:
    cluster, refused = Cluster(), 0

    def send(request: ApiRequest) -> SendResult:
        nonlocal refused
        if request.purpose == "machine" and refused < 3:
            refused += 1
            return SendResult(503, said="away")
        return cluster.send(request)

    fleet = Fleet(Plan(machines=MACHINES[:1], heartbeat_seconds=120.0), send, workers=1)
    fleet.let("n0", lambda machine: replace(machine, shape="dgx-a100-8-mig-single"))
    fleet.let("n0", lambda machine: replace(machine, lost=frozenset({2})))
    fleet.run(lambda: fleet.settled == 1)
    # Both parts, of both changes: 56 instances but those of the GPU that was lost.
    labels, status = cluster.patches["n0"][-2:]
    assert labels["metadata"]["labels"]["nvidia.com/mig.strategy"] == "single"
    assert status["status"]["allocatable"]["nvidia.com/gpu"] == "49"
    assert fleet.tally.failures == {"machine 503": 3}


def test_a_patch_with_a_lost_answer_and_a_later_change_are_both_written() -> None:
    cluster, lost = Cluster(), False

    def send(request: ApiRequest) -> SendResult:
        nonlocal lost
        answer = cluster.send(request)
        if request.purpose == "machine" and not lost:
            lost = True
            return SendResult(0, said="no answer")
        return answer

    fleet = Fleet(Plan(machines=MACHINES[:1], heartbeat_seconds=120.0), send, workers=1)
    fleet.let("n0", lambda machine: replace(machine, lost=frozenset({2})))
    fleet.let("n0", lambda machine: replace(machine, lost=frozenset()))
    fleet.run(lambda: fleet.settled == 1)
    first, *_, last = cluster.patches["n0"]
    assert first == {"status": {"allocatable": {"nvidia.com/gpu": "7"}}}
    assert last["status"]["allocatable"]["nvidia.com/gpu"] == "8"


def test_a_machine_to_which_things_keep_happening_does_not_hold_up_the_others() -> None:
    cluster = Cluster()
    fleet = Fleet(Plan(machines=MACHINES[:2], heartbeat_seconds=120.0), cluster.send, workers=1)

    def again(machine: Machine) -> Machine:
        fleet.let("n0", again)
        return machine

    fleet.let("n0", again)
    fleet.run(lambda: "n1" not in fleet.behind or fleet.tally.changes > 100)
    assert "n1" not in fleet.behind


def test_all_come_up_within_the_ramp_and_are_reported_once_they_are_there() -> None:
    cluster = Cluster()
    plan = Plan(machines=MACHINES, heartbeat_seconds=120.0, ramp_seconds=0.2)
    fleet = Fleet(plan, cluster.send, workers=2)
    assert fleet.settled == 0
    fleet.run(lambda: fleet.settled == len(MACHINES))
    assert fleet.tally.as_document()["requests"] == {"heartbeat": 10, "node": 10, "read": 10, "write": 10}
    assert fleet.troubles == {}
    assert {len(server.renewals) for server in cluster.servers.values()} <= {0, 1}


def test_failures_are_counted_and_reported() -> None:
    def refuse(_request: ApiRequest) -> SendResult:
        return SendResult(403, said="no")

    fleet = Fleet(Plan(machines=MACHINES, heartbeat_seconds=120.0), refuse, workers=2)
    fleet.run(lambda: fleet.tally.failures.total() == len(MACHINES))
    assert fleet.tally.failures == {"node 403": 10}


def test_a_bug_in_a_turn_ends_the_fleet() -> None:
    def fault(_request: ApiRequest) -> SendResult:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        Fleet(Plan(machines=MACHINES, heartbeat_seconds=120.0), fault, workers=2).run(lambda: False)

"""Two hundred nodes keep their topology current whatever happens to them, and podberth's answers follow."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from bench.fleet.churn import Machine

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.agent.api import Api, find_access

from .access import grant
from .agent.running_fleet import running
from .both_ends import (
    HEARTBEAT_SECONDS,
    MADE_AGAIN_SECONDS,
    SETTLES_SECONDS,
    BothEnds,
    Document,
    registered,
    token_file,
)
from .following import Following

COUNTS = {
    "hgx-h100-8": 50,
    "dgx-a100-8": 40,
    "dgx-a100-8-mig-single": 40,
    "a100-pcie-4": 30,
    "l4-4": 20,
    "gb200-tray": 20,
}
MACHINES = [Machine(f"{shape}-{number}", shape) for shape, count in COUNTS.items() for number in range(count)]

# What each is about: tolerations, NVLink, MIG by memory and by profile, the product.
PODS = (
    gpu_pod(1),
    gpu_pod(4),
    gpu_pod(8),
    gpu_pod(1, annotations={"podberth.io/gpu-memory": "10Gi"}),
    gpu_pod(1, resource="nvidia.com/mig-4g.20gb"),
    gpu_pod(2, annotations={"podberth.io/gpu-product": "A100", "podberth.io/gpu-memory": "60Gi"}),
)

# No answer, or one that says that it will pass.
OUTAGE = {"0", "429", "500", "503", "504"}
# Of a Node that is not there.
DELETED = {"node 404", "machine 404"}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothEnds]:
    """Yield the two in a cluster of their own, settled."""
    directory = tmp_path_factory.mktemp("both-ends")
    with ControlPlane.start(directory / "control-plane") as plane:
        grant(plane)
        plane.add_nodes([registered(machine) for machine in MACHINES])
        access = find_access(plane.url, token_file(plane, directory), plane.ca_file, {})
        following = Following(plane, directory / "following", PODS)
        with (
            closing(Api(access, connections=8)) as api,
            running(api, MACHINES, heartbeat_seconds=HEARTBEAT_SECONDS) as fleet,
            following,
        ):
            made = BothEnds(plane, fleet, following)
            with made.probing():
                made.settled()
                yield made
        plane.check()


def outage(failures: set[str]) -> bool:
    """Return whether all that failed did so because the API server was away."""
    return {failure.rpartition(" ")[2] for failure in failures} <= OUTAGE


def undisturbed(both: BothEnds) -> bool:
    """Return whether no request has failed but for want of an answer in time, of which a busy machine has its share."""
    return outage(both.failures())


def right_sized(answers: list[Document]) -> bool:
    """Return whether the pod that states its memory gets a MIG instance.

    As soon as a node has instances, the pod whose profile is not among them is warned.
    """
    by_memory, by_profile = answers[3], answers[4]
    warned = "nvidia.com/mig-4g.20gb]: no known node offers it" in str(by_profile["validation"]["warnings"])
    sized = "nvidia.com/mig-3g.20gb instead of nvidia.com/gpu" in str(by_memory["warnings"])
    assert sized == warned
    return sized


def test_two_hundred_are_known_and_each_policy_has_its_say(both: BothEnds) -> None:
    assert len(MACHINES) == 200
    answers = both.settled()
    one, four, eight, _, _, product = (answer["warnings"] for answer in answers)
    assert both.following.metric("topology_nodes") == 200
    # Those of arm64 are not for just any pod.
    assert "180 of true" in str(one)
    assert "tolerates nvidia.com/gpu:NoSchedule, sku=gpu:NoSchedule" in str(one)
    assert "; 4 GPUs in one NVLink domain: prefers 90 of 180 nodes" in str(four)
    assert "; 8 GPUs in one NVLink domain: prefers 90 of 130 nodes" in str(eight)
    assert "; GPU model A100: prefers " in str(product)
    assert not right_sized(answers)
    assert undisturbed(both)


def test_whatever_happens_to_one_node_is_followed(both: BothEnds) -> None:
    name, fleet = "dgx-a100-8-0", both.fleet
    whole = both.settled()
    pending = Machine(name, "dgx-a100-8", target="dgx-a100-8-mig-mixed")
    cut = Machine(name, "dgx-a100-8-mig-mixed")
    assert not right_sized(both.follows(name, lambda: fleet.let(name, lambda _: pending)))
    assert right_sized(both.follows(name, lambda: fleet.let(name, lambda _: cut)))
    assert both.follows(name, lambda: fleet.let(name, lambda _: Machine(name, "dgx-a100-8"))) == whole
    both.follows(name, lambda: fleet.let(name, lambda machine: replace(machine, lost=frozenset({3}))))
    assert both.follows(name, lambda: fleet.let(name, lambda machine: replace(machine, lost=frozenset()))) == whole
    both.follows(name, lambda: both.cordon(name))
    assert both.follows(name, lambda: both.cordon(name, cordoned=False)) == whole
    assert undisturbed(both)


def test_a_node_that_is_deleted_and_made_again_is_followed(both: BothEnds) -> None:
    whole = both.settled()
    name = "hgx-h100-8-0"
    both.follows(name, lambda: both.delete(name), timeout_seconds=MADE_AGAIN_SECONDS)
    assert both.follows(name, lambda: both.make_again(name), timeout_seconds=MADE_AGAIN_SECONDS) == whole
    assert outage(both.failures() - DELETED)


def test_many_things_at_once_are_followed(both: BothEnds) -> None:
    before, changes = both.settled(), both.fleet.tally.changes
    cordoned = [f"l4-4-{number}" for number in range(5)]
    deleted = [f"{shape}-{number}" for shape in COUNTS for number in (10, 11)]
    with both.churning():
        both.cordon(*cordoned)
        both.delete(*deleted)
        wait_for(lambda: both.fleet.tally.changes > changes + 50, timeout_seconds=SETTLES_SECONDS, what="50 changes")
    assert both.settled() != before
    with both.churning():
        both.make_again(*deleted)
        both.cordon(*cordoned, cordoned=False)
        wait_for(lambda: both.fleet.tally.changes > changes + 150, timeout_seconds=SETTLES_SECONDS, what="150 changes")
    both.settled()
    assert any(machine.lost for machine in both.fleet.machines)
    assert [machine.shape for machine in both.fleet.machines] != [machine.shape for machine in MACHINES]
    assert outage(both.failures() - DELETED)


def test_an_apiserver_that_restarts_meanwhile_loses_nothing(both: BothEnds) -> None:
    before, failed = both.settled(), both.fleet.tally.failures.total()
    with both.churning():
        both.control_plane.stop_component("kube-apiserver", crash=True)
        try:
            wait_for(
                lambda: both.fleet.tally.failures.total() > failed + 50,
                timeout_seconds=SETTLES_SECONDS,
                what="the agents to notice",
            )
            # What it last knew is in force.
            both.following.answers()
        finally:
            both.control_plane.start_component("kube-apiserver")
    assert both.settled() != before
    assert outage(both.failures())


def test_an_etcd_that_stands_still_meanwhile_loses_nothing(both: BothEnds) -> None:
    before = both.settled()
    with both.without_etcd():
        # Whatever it has been through: whole, or not.
        both.fleet.let("hgx-h100-8-1", lambda machine: replace(machine, lost=frozenset(() if machine.lost else {5})))
        # Heartbeats run out where a busy API server takes long to miss it: the watch lasts, and says nothing.
        assert both.following.answers() == before or both.following.metric("topology_stale_nodes") > 0
        assert both.following.metric("topology_nodes") == len(MACHINES)
    assert both.settled() != before
    assert outage(both.failures())

"""`podberth serve --topology cluster` on a control plane of its own: the answers follow the cluster."""

import os
import signal
from collections.abc import Iterator

import pytest

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.topology.shapes import simulate

from .following import FOLLOWS_SECONDS, RECOVERS_SECONDS, Following, grant


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as started:
        grant(started)
        yield started
        started.check()


@pytest.fixture(scope="module")
def following(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    following = Following(plane, tmp_path_factory.mktemp("following"))
    following.add("hgx-h100-8", "hgx-0")
    following.add("hgx-h100-8", "hgx-1")
    following.add("a100-pcie-4", "pcie-0")
    following.add("l4-1", "l4-0")
    with following:
        yield following


def test_when_it_is_ready_it_knows_the_whole_cluster(following: Following) -> None:
    assert following.answers() == following.built()
    assert following.metric("topology_nodes") == 4
    for resource in ("nodes", "configmaps", "leases"):
        assert following.metric("watch_objects", resource=resource) == 4
        assert following.metric("watch_lists_total", reason="start", resource=resource) == 1


def test_a_new_node_counts_whichever_of_node_and_topology_comes_first(following: Following) -> None:
    before = following.settled()
    node, config_map = simulate("dgx-a100-8-mig-mixed", "mig-0")
    following.publish(config_map)
    following.control_plane.add_nodes([node])
    before = following.changed(before)
    node, config_map = simulate("hgx-h100-8", "hgx-2")
    following.control_plane.add_nodes([node])
    before = following.changed(before)
    following.publish(config_map)
    following.settled()


def test_a_change_of_the_mig_layout_is_followed(following: Following) -> None:
    before = following.settled()
    node, config_map = simulate("dgx-a100-8-mig-single", "mig-0")
    following.publish(config_map)
    following.patch("mig-0", {"metadata": {"labels": node["metadata"]["labels"]}})
    gone = {"nvidia.com/mig-1g.5gb": None, "nvidia.com/mig-2g.10gb": None, "nvidia.com/mig-3g.20gb": None}
    amounts = {**gone, **node["status"]["capacity"]}
    following.patch("mig-0", {"status": {"capacity": amounts, "allocatable": amounts}}, status=True)
    following.changed(before)


def test_a_lost_gpu_and_its_return_are_followed(following: Following) -> None:
    before = following.settled()
    following.patch("hgx-0", {"status": {"allocatable": {"nvidia.com/gpu": "7"}}}, status=True)
    following.changed(before)
    following.patch("hgx-0", {"status": {"allocatable": {"nvidia.com/gpu": "8"}}}, status=True)
    following.returned(before)


def test_a_gpu_that_its_agent_calls_unhealthy_makes_its_node_transient(following: Following) -> None:
    before = following.settled()
    _, config_map = simulate("hgx-h100-8", "hgx-0")
    sick = config_map["data"]["topology.json"].replace('"index":3,', '"index":3,"problem":"XID 79",')
    following.publish({**config_map, "data": {"topology.json": sick}})
    following.changed(before)
    following.publish(config_map)
    following.returned(before)


def test_cordon_and_uncordon_are_followed(following: Following) -> None:
    before = following.settled()
    following.patch("hgx-0", {"spec": {"unschedulable": True}})
    following.changed(before)
    following.patch("hgx-0", {"spec": {"unschedulable": False}})
    following.returned(before)


def test_a_deleted_node_is_gone_and_one_made_again_is_back(following: Following) -> None:
    before = following.settled()
    following.delete("hgx-1")
    following.changed(before)
    following.add("hgx-h100-8", "hgx-1")
    following.returned(before)


def test_a_node_whose_heartbeat_runs_out_is_stale_until_the_next(following: Following) -> None:
    before = following.settled()
    following.beat("hgx-1", seconds=1)
    wait_for(
        lambda: following.metric("topology_stale_nodes") == 1, timeout_seconds=1 + FOLLOWS_SECONDS, what="a stale node"
    )
    stale = following.changed(before)
    # By another clock, two hours behind: that it changes is what counts.
    following.beat("hgx-1", seconds=3600, ago=7200)
    wait_for(lambda: following.answers() == before, timeout_seconds=FOLLOWS_SECONDS, what="a fresh node")
    assert stale != before
    following.beat("hgx-1")
    following.returned(before)


def test_a_lying_topology_is_told_counted_and_left_out(following: Following) -> None:
    before = following.settled()
    _, config_map = simulate("hgx-h100-8", "hgx-1")
    lie = {"topology.json": '{"schemaVersion":"v1","gpus":[{"index":0},{"index":0}]}'}
    following.publish({**config_map, "data": lie})
    unread = {"resource": "configmaps", "reason": "unreadable"}
    wait_for(
        lambda: following.metric("watch_left_out", reason=unread["reason"], resource=unread["resource"]) == 1,
        timeout_seconds=FOLLOWS_SECONDS,
        what="the lie to be counted",
    )
    following.settled()
    following.publish({**config_map, "data": {"topology.json": "{}"}})
    following.publish({**config_map, "data": lie})
    [told] = [line for line in following.lines("topology") if "hgx-1" in line["problem"]]
    assert told["level"] == "warning"
    following.publish(config_map)
    following.returned(before)


def test_policies_change_under_a_live_topology_and_the_reverse(following: Following) -> None:
    before = following.settled()
    text = following.policy_file.read_text()
    following.policy_file.write_text(text.replace("', linked '", "', chained '"))
    wait_for(lambda: following.answers() != before, timeout_seconds=5, what="the new policy to decide")
    chained = following.settled()
    following.patch("hgx-0", {"spec": {"unschedulable": True}})
    assert "chained" in str(following.changed(chained))
    following.patch("hgx-0", {"spec": {"unschedulable": False}})
    following.policy_file.write_text(text)
    wait_for(lambda: following.answers() == before, timeout_seconds=5, what="the first policy to decide")


def test_an_apiserver_that_restarts_is_found_again_and_nothing_turns_stale_meanwhile(following: Following) -> None:
    before = following.settled()
    following.beat("hgx-0", seconds=5)
    following.settled()
    # Held still, so that the cluster changes while it cannot see it.
    os.kill(following.podberth.pid, signal.SIGSTOP)
    try:
        following.control_plane.stop_component("kube-apiserver", crash=True)
        following.control_plane.start_component("kube-apiserver")
        following.delete("hgx-1")
        following.patch("l4-0", {"spec": {"unschedulable": True}})
        following.beat("hgx-0")
    finally:
        os.kill(following.podberth.pid, signal.SIGCONT)
    following.changed(before, RECOVERS_SECONDS)
    assert following.metric("topology_stale_nodes") == 0
    lists = following.podberth.metrics()
    assert lists['podberth_watch_lists_total{reason="expired",resource="nodes"}'] >= 1
    following.add("hgx-h100-8", "hgx-1")
    following.patch("l4-0", {"spec": {"unschedulable": False}})
    following.returned(before)


def test_while_the_apiserver_is_away_the_last_known_state_is_in_force(following: Following) -> None:
    before = following.settled()
    following.beat("hgx-0", seconds=6)
    following.settled()
    following.control_plane.stop_component("kube-apiserver", crash=True)
    try:
        wait_for(
            lambda: following.metric("watch_contact_age_seconds", resource="leases") > 7,
            timeout_seconds=20,
            what="the heartbeat to be older than it lasts",
        )
        assert following.answers() == before
        assert following.podberth.probe() == (200, "ok\n")
        assert following.lines("nodes: the watch is lost; the last known state stays in force")
    finally:
        following.control_plane.start_component("kube-apiserver")
    following.beat("hgx-0")
    following.returned(before, RECOVERS_SECONDS)
    following.patch("hgx-0", {"spec": {"unschedulable": True}})
    following.changed(before, RECOVERS_SECONDS)
    following.patch("hgx-0", {"spec": {"unschedulable": False}})
    following.returned(before)

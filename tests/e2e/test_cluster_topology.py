"""`podberth serve --topology cluster` on a control plane of its own: the answers follow the cluster."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from controlplane.api import Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.api.protocol import OBJECTS
from podberth.server.self_signed import ensure
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE

from .access import grant
from .following import FOLLOWS_SECONDS, RECOVERS_SECONDS, RESOURCES, Following
from .podberth_process import MACHINE, POLICIES, Podberth


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
    node, config_map = simulate("dgx-a100-8-mig-mixed", "mig-1")
    following.publish(config_map)
    following.control_plane.add_nodes([node])
    before = following.changed(before)
    node, config_map = simulate("hgx-h100-8", "hgx-2")
    following.control_plane.add_nodes([node])
    before = following.changed(before)
    following.publish(config_map)
    following.settled()


def test_a_change_of_the_mig_layout_is_followed(following: Following) -> None:
    following.add("dgx-a100-8-mig-mixed", "mig-0")
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


def test_heartbeats_that_go_on_are_no_change(following: Following) -> None:
    before = following.settled()
    version = following.metric("watch_restarts_total", reason="bug", resource="leases")
    for _ in range(50):
        following.beat("hgx-0")
    assert following.metric("watch_restarts_total", reason="bug", resource="leases") == version == 0
    assert following.settled() == before


def test_a_lying_topology_is_reported_counted_and_left_out(following: Following) -> None:
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
    assert following.reported("topology")
    following.publish({**config_map, "data": {"topology.json": "{}"}})
    following.publish({**config_map, "data": lie})
    [entry] = [line for line in following.lines("topology") if "hgx-1" in line["problem"]]
    assert entry["level"] == "warning"
    following.publish(config_map)
    following.returned(before)


LIES: dict[str, dict[str, Any]] = {
    "too-long": {"data": {"topology.json": '{"gpus":[' + " " * 300_000 + "]}"}},
    "no-json": {"data": {"topology.json": "{"}},
    "no-document": {"data": {}},
    "bytes": {"data": None, "binaryData": {"topology.json": "/w=="}},
    "too-many": {"data": {"topology.json": json.dumps({"gpus": [{"index": number} for number in range(65)]})}},
    "no-profile": {"data": {"topology.json": '{"gpus":[{"index":0}],"migInstances":[{"gpu":0,"profile":"huge"}]}'}},
    "newer": {"metadata": {"name": "newer", "labels": {"podberth.io/topology": "v2"}}},
}


def test_whatever_is_published_costs_only_itself(following: Following) -> None:
    before = following.settled()
    objects = following.metric("watch_objects", resource="configmaps")
    for name, lie in LIES.items():
        _, config_map = simulate("l4-1", name)
        following.publish({**config_map, **lie})
    _, config_map = simulate("l4-1", "nobody")
    following.publish(config_map)
    elsewhere = {**config_map, "metadata": {"name": "hgx-0", "labels": config_map["metadata"]["labels"]}}
    path = "/api/v1/namespaces/default/configmaps"
    following.control_plane.api.request("POST", path, elsewhere)
    wanted = {"unreadable": len(LIES), "no node": 1}
    wait_for(
        lambda: all(
            following.metric("watch_left_out", reason=reason, resource="configmaps") == count
            for reason, count in wanted.items()
        ),
        timeout_seconds=FOLLOWS_SECONDS,
        what="what is left out to be counted",
    )
    # One of the same name in another namespace is nobody's business here.
    assert following.metric("watch_objects", resource="configmaps") == objects + len(LIES) + 1
    wait_for(
        lambda: (
            {f"ConfigMap {name}" for name in LIES}
            <= {line["problem"].split(":")[0] for line in following.lines("topology")}
        ),
        timeout_seconds=FOLLOWS_SECONDS,
        what="the log to name what is left out",
    )
    assert following.settled() == before
    for name in (*LIES, "nobody"):
        following.delete(name)
    following.control_plane.api.request("DELETE", f"{path}/hgx-0")
    wait_for(
        lambda: following.metric("watch_left_out", reason="unreadable", resource="configmaps") == 0,
        timeout_seconds=FOLLOWS_SECONDS,
        what="nothing to be left out",
    )


def test_policies_change_under_a_live_topology_and_the_reverse(following: Following) -> None:
    before = following.settled()
    text = following.policy_file.read_text()
    following.write_policy(text.replace("', linked '", "', chained '"))
    wait_for(lambda: following.answers() != before, timeout_seconds=RECOVERS_SECONDS, what="the new policy to decide")
    chained = following.settled()
    following.patch("hgx-0", {"spec": {"unschedulable": True}})
    assert "chained" in str(following.changed(chained))
    following.patch("hgx-0", {"spec": {"unschedulable": False}})
    following.write_policy(text)
    wait_for(lambda: following.answers() == before, timeout_seconds=RECOVERS_SECONDS, what="the first policy to decide")


def test_what_it_has_no_business_with_is_refused_to_it(following: Following) -> None:
    token = following.token_file.read_text().strip()
    api = Api(following.control_plane.url, token, following.control_plane.ca_file)
    try:
        for resource in (*RESOURCES, *OBJECTS):
            assert api.raw("GET", resource.path)[0] == 200
        system = f"/api/v1/namespaces/{NAMESPACE}"
        refused = [
            ("GET", f"{system}/secrets"),
            ("GET", f"{system}/configmaps/hgx-0"),
            ("DELETE", f"{system}/configmaps/hgx-0"),
            ("GET", "/api/v1/configmaps"),
            ("GET", "/api/v1/namespaces/kube-system/configmaps"),
            ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"),
            ("GET", "/api/v1/pods"),
            ("DELETE", "/api/v1/nodes/hgx-0"),
        ]
        assert {(method, path): api.raw(method, path)[0] for method, path in refused} == dict.fromkeys(refused, 403)
    finally:
        api.close()


def test_without_its_rights_it_says_so_and_ends_with_code_3(following: Following, tmp_path: Path) -> None:
    control_plane = following.control_plane
    token = control_plane.create_token(NAMESPACE, "default")
    (tmp_path / "token").write_text(token)
    shutil.copy(following.kubeconfig(), tmp_path / "kubeconfig")
    ended = serve_to_its_end(tmp_path)
    assert ended.returncode == 3
    # Whichever of the three is asked first.
    assert ": got 403 " in ended.stderr
    assert ' is forbidden: User "system:serviceaccount:podberth-system:default" cannot list ' in ended.stderr
    assert "want 200; grant ServiceAccount podberth-system/default: list " in ended.stderr


def test_a_certificate_of_another_authority_is_not_trusted(following: Following, tmp_path: Path) -> None:
    document = json.loads(following.kubeconfig().read_text())
    ensure(tmp_path / "tls", ("127.0.0.1",), datetime.now(UTC))
    authority = base64.b64encode((tmp_path / "tls" / "ca.crt").read_bytes()).decode()
    document["clusters"][0]["cluster"]["certificate-authority-data"] = authority
    (tmp_path / "kubeconfig").write_text(json.dumps(document))
    (tmp_path / "token").write_text("anything")
    ended = serve_to_its_end(tmp_path)
    assert ended.returncode == 3
    assert "its certificate is not trusted" in ended.stderr


def serve_to_its_end(directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a podberth that cannot begin."""
    command = [sys.executable, "-m", "podberth", "serve", "--policies", str(POLICIES), "--topology", "cluster"]
    command += ["--kubeconfig", str(directory / "kubeconfig"), "--self-signed", str(directory / "own")]
    command += ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]
    return subprocess.run(command, env=MACHINE, capture_output=True, text=True, timeout=180, check=False)


def test_a_token_that_is_rotated_on_disk_is_taken_up(following: Following) -> None:
    before = following.settled()
    # No longer good for anything: whoever goes on with the old one is found out when its watch is over.
    following.token_file.write_text("expired")
    following.control_plane.stop_component("kube-apiserver", crash=True)
    following.control_plane.start_component("kube-apiserver")
    wait_for(
        lambda: following.metric("watch_restarts_total", reason="refused", resource="nodes") >= 1,
        timeout_seconds=RECOVERS_SECONDS,
        what="the old token to be refused",
    )
    assert following.answers() == before
    following.renew_token()
    following.patch("l4-0", {"spec": {"unschedulable": True}})
    following.changed(before, RECOVERS_SECONDS)
    following.patch("l4-0", {"spec": {"unschedulable": False}})
    following.returned(before)


def test_it_waits_for_an_apiserver_that_is_not_there_yet_and_is_not_ready(following: Following, tmp_path: Path) -> None:
    shutil.copy(following.token_file, tmp_path / "token")
    shutil.copy(following.kubeconfig(), tmp_path / "kubeconfig")
    following.control_plane.stop_component("kube-apiserver", crash=True)
    try:
        with closing(Podberth(tmp_path / "serve", None, kubeconfig=tmp_path / "kubeconfig")) as podberth:
            podberth.begin()
            reasons = [f"{resource.name} of the cluster are not listed" for resource in (*RESOURCES, *OBJECTS)]

            def waits() -> bool:
                status, text = podberth.probe()
                return status == 503 and all(reason in text for reason in reasons)

            wait_for(waits, what="a probe that says what it waits for")
            following.control_plane.start_component("kube-apiserver")
            podberth.start()
            assert podberth.metrics()["podberth_topology_nodes"] == following.metric("topology_nodes")
    finally:
        following.control_plane.start_component("kube-apiserver")
    following.settled(RECOVERS_SECONDS)


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
    assert following.metric("watch_lists_total", reason="expired", resource="nodes") >= 1
    following.add("hgx-h100-8", "hgx-1")
    following.patch("l4-0", {"spec": {"unschedulable": False}})
    following.returned(before)


def test_while_the_apiserver_is_away_the_last_known_state_is_in_force(following: Following) -> None:
    before = following.settled()
    # Longer than a busy machine takes to bring it to podberth and to end the API server, or it runs out before that.
    following.beat("hgx-0", seconds=10)
    following.settled()
    following.control_plane.stop_component("kube-apiserver", crash=True)
    try:
        wait_for(
            lambda: following.metric("watch_contact_age_seconds", resource="leases") > 11,
            what="the heartbeat to be older than it lasts",
        )
        assert following.answers() == before
        assert following.podberth.probe() == (200, "ok\n")
        assert following.reported("nodes: the watch is lost; the last known state stays in force")
    finally:
        following.control_plane.start_component("kube-apiserver")
    following.beat("hgx-0")
    following.returned(before, RECOVERS_SECONDS)
    following.patch("hgx-0", {"spec": {"unschedulable": True}})
    following.changed(before, RECOVERS_SECONDS)
    following.patch("hgx-0", {"spec": {"unschedulable": False}})
    following.returned(before)

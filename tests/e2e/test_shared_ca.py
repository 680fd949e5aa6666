"""Replicas that share a certificate authority, before a real apiserver: whatever happens, no creation is refused."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.api import Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.cluster.shared_ca import KINDS
from podberth.wellknown import NAMESPACE

from .access import TOKEN, grant
from .load import Verdict, load
from .manifest import annotation
from .replicas import SECONDS, SECRET, SECRET_PATH, Replica, Replicas

Document = dict[str, Any]

# Leaves are renewed every eight seconds or so; what is trusted for two seconds counts.
FLAGS = ("--leaf-life", "15s", "--ca-life", "1h", "--ca-trust-seconds", "2")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane.start(tmp_path_factory.mktemp("control-plane")) as started:
        grant(started, "shared-ca")
        yield started
        started.check()


@pytest.fixture
def replicas(plane: ControlPlane, tmp_path: Path) -> Iterator[Replicas]:
    made = Replicas(plane, tmp_path / "replicas", FLAGS)
    yield made
    made.close()


@pytest.fixture
def lasting(plane: ControlPlane, tmp_path: Path) -> Iterator[Replicas]:
    """Replicas whose leaves outlast any test."""
    made = Replicas(plane, tmp_path / "replicas", ("--leaf-life", "5m", *FLAGS[2:]))
    yield made
    made.close()


def wait_for_error(replica: Replica) -> list[str]:
    """Return what a replica says that cannot be done."""
    message = "certificate authorities: cannot be looked after"
    lines = wait_for(lambda: replica.lines(message), timeout_seconds=SECONDS, what="an error in the log")
    problems: list[str] = lines[-1]["problems"]
    return problems


def test_two_that_start_at_the_same_moment_agree_on_one_authority(replicas: Replicas) -> None:
    replicas.start()
    authorities = replicas.authorities()
    assert authorities["next"] is None
    assert authorities["previous"] == []
    assert set(replicas.bundles()) == {authorities["current"]["certificate"]}

    def writes() -> list[Document]:
        return [line for each in replicas.each for line in each.lines("certificate authorities: stored")]

    stored = wait_for(lambda: found if len(found := writes()) > 1 else None, what=lambda: f"two writes; got {writes()}")
    # One that made it, and one (the same or the other) that put it to use.
    assert [line["stage"] for line in sorted(stored, key=lambda line: line["time"])] == ["spreading", "none"]


def test_leaves_are_renewed_and_the_authority_rotated_under_load(plane: ControlPlane, replicas: Replicas) -> None:
    replicas.start()
    first = replicas.authorities()["current"]["certificate"]
    with load(plane, "rotation") as creating:
        status, output, errors = replicas.podberth("certs", "rotate", "--wait", "90s")
        assert status == 0, (output, errors)
    second = replicas.authorities()["current"]["certificate"]
    assert first != second
    assert set(replicas.bundles()) == {second}
    assert set(creating.counts) == {Verdict.RIGHT}, creating.refusals[:3]
    assert replicas.balancer.closed_by_server == 0
    wanted = {"renewal is due", "the authority was rotated"}
    for each in replicas.each:
        wait_for(
            lambda each=each: wanted <= {line["reason"] for line in each.lines("signed a certificate")},  # type: ignore[misc]
            timeout_seconds=SECONDS,
            what=f"{wanted} of both replicas",
        )


def test_a_replica_killed_in_the_midst_of_a_rotation_leaves_it_to_the_other(
    plane: ControlPlane, replicas: Replicas
) -> None:
    replicas.start()
    first = replicas.authorities()["current"]["certificate"]
    with load(plane, "killed") as creating:
        assert replicas.podberth("certs", "rotate")[0] == 0
        wait_for(
            lambda: all(bundle.count("BEGIN CERTIFICATE") == 2 for bundle in replicas.bundles()),
            timeout_seconds=SECONDS,
            what="both authorities to be trusted",
        )
        balancer, port = replicas.balancer, replicas.each[0].port
        tried, connections = balancer.tried[port], balancer.open_to(port)
        replicas.each[0].stop(crash=True)
        creating.more(10)
        most = connections + balancer.tried[port] - tried
        wait_for(
            lambda: replicas.authorities()["current"]["certificate"] != first,
            timeout_seconds=SECONDS,
            what="the other to go on",
        )
        replicas.each[0].start()
        wait_for(
            lambda: len({line["authority"] for line in replicas.each[0].lines("signed a certificate")}) == 2,
            timeout_seconds=SECONDS,
            what="a leaf of the other authority",
        )
        assert first in replicas.bundles()[0]  # its leaves may still be in force
        creating.more(10)
    # A call that was in flight to the killed process is lost, and failurePolicy Fail says so; nothing else is.
    assert creating.counts[Verdict.UNMUTATED] == 0
    assert all("x509" not in said and "certificate" not in said for said in creating.refusals), creating.refusals
    assert creating.counts[Verdict.REFUSED] <= most


def test_a_secret_that_was_deleted_is_made_again_and_nobody_notices(plane: ControlPlane, replicas: Replicas) -> None:
    replicas.start()
    first = replicas.authorities()["current"]["certificate"]
    with load(plane, "deleted") as creating:
        plane.api.request("DELETE", SECRET_PATH)
        wait_for(
            lambda: plane.raw("GET", SECRET_PATH)[0] == 200 and (replicas.authorities()["current"] is not None),
            timeout_seconds=SECONDS,
            what="another authority",
        )
        authorities = replicas.authorities()
        assert authorities["current"]["certificate"] != first
        assert [each["certificate"] for each in authorities["previous"]] == [first]
        both = {authorities["current"]["certificate"] + first}
        wait_for(lambda: set(replicas.bundles()) == both, timeout_seconds=SECONDS, what="both to be trusted")
        wait_for(
            lambda: all(len({line["authority"] for line in each.lines("signed")}) == 2 for each in replicas.each),
            timeout_seconds=SECONDS,
            what="leaves of it",
        )
    assert set(creating.counts) == {Verdict.RIGHT}, creating.refusals[:3]


def test_replicas_seal_records_with_one_key_and_put_it_back_where_an_earlier_version_has_written_it_away(
    plane: ControlPlane, replicas: Replicas
) -> None:
    def key() -> str:
        return str(plane.api.read(SECRET_PATH)["data"].get("record.key", ""))

    replicas.start()
    first = wait_for(key, timeout_seconds=SECONDS, what="a key of records")
    wait_for(
        lambda: all(each.lines("loaded") and "record key" in str(each.lines("loaded")) for each in replicas.each),
        timeout_seconds=SECONDS,
        what="both to know it",
    )
    path = "/api/v1/namespaces/default/pods?dryRun=All"
    sealed = {annotation(plane.api.request("POST", path, gpu_pod())) for _ in range(8)}
    assert len(sealed) == 1
    assert '"=":"' in sealed.pop()

    gone = [{"op": "remove", "path": "/data/record.key"}]
    plane.kubectl("patch", "secret", SECRET, "-n", NAMESPACE, "--type=json", "-p", json.dumps(gone))
    assert wait_for(key, timeout_seconds=SECONDS, what="the key again") == first


def test_a_secret_that_is_not_podberths_is_left_alone_and_reported(plane: ControlPlane, replicas: Replicas) -> None:
    replicas.start()
    good = plane.api.read(SECRET_PATH)
    broken = {"data": {"authorities.json": "e30="}}  # {}
    with load(plane, "corrupt") as creating:
        changed = plane.api.request("PATCH", SECRET_PATH, broken, "application/merge-patch+json")
        problem = ""
        for each in replicas.each:
            [problem] = wait_for_error(each)
            assert problem.startswith(
                "Secret podberth-system/podberth-ca: got no 'schemaVersion', want the authorities"
            )
            failed = partial(each.metric, 'reload_total{result="error",what="certificate"}')
            wait_for(failed, timeout_seconds=SECONDS, what="a failure to be counted")
            wait_for(each.ready, timeout_seconds=SECONDS, what="a replica to be as ready as before")
        status, output, _ = replicas.podberth("certs", "status")
        assert status == 1
        assert f"problem: {problem}" in output
        now = plane.api.read(SECRET_PATH)
        assert now["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
        repaired = {"data": good["data"]}
        plane.api.request("PATCH", SECRET_PATH, repaired, "application/merge-patch+json")
        before = replicas.metrics("certificate_not_after_seconds")
        wait_for(
            lambda: all(
                now > then for now, then in zip(replicas.metrics("certificate_not_after_seconds"), before, strict=True)
            ),
            timeout_seconds=SECONDS,
            what="leaves to be renewed again",
        )
    assert set(creating.counts) == {Verdict.RIGHT}, creating.refusals[:3]


def test_a_cabundle_that_was_taken_away_comes_back(replicas: Replicas) -> None:
    replicas.start()
    replicas.register()  # as somebody who replaces the manifests does; a replica may be faster than a look at it
    wanted = {replicas.authorities()["current"]["certificate"]}
    wait_for(lambda: set(replicas.bundles()) == wanted, timeout_seconds=SECONDS, what="the caBundles to come back")
    wait_for(replicas.called, timeout_seconds=SECONDS, what="podberth to be trusted again")


def test_the_api_server_may_go_away_and_come_back(plane: ControlPlane, replicas: Replicas) -> None:
    replicas.start()
    plane.stop_component("kube-apiserver")
    try:
        for each in replicas.each:
            assert wait_for_error(each)
            wait_for(each.ready, timeout_seconds=SECONDS, what="a replica to be as ready as before")
    finally:
        plane.start_component("kube-apiserver")
    wait_for(replicas.called, timeout_seconds=SECONDS, what="podberth to be called")
    before = replicas.metrics("certificate_not_after_seconds")
    wait_for(
        lambda: min(replicas.metrics("certificate_not_after_seconds")) > max(before),
        timeout_seconds=SECONDS,
        what="leaves to be renewed again",
    )


def test_a_leaked_key_is_out_of_use_long_before_its_leaves_are(plane: ControlPlane, lasting: Replicas) -> None:
    lasting.start()
    first = lasting.authorities()["current"]["certificate"]
    with load(plane, "leaked") as creating:
        # Spreading and hurried draining take the margin of 2 s each, and a look or two between; not a leaf's 5 minutes.
        status, output, errors = lasting.podberth("certs", "rotate", "--force", "--wait", "140s")
        assert status == 0, (output, errors)
    assert all(first not in bundle for bundle in lasting.bundles())
    assert set(creating.counts) == {Verdict.RIGHT}, creating.refusals[:3]


def test_status_says_in_which_stage_a_rotation_is_and_what_is_presented(replicas: Replicas) -> None:
    status, output, _ = replicas.podberth("certs", "status")
    assert status == 1
    assert "problem: MutatingWebhookConfiguration podberth: caBundle: got 0 certificates" in output
    status, _, errors = replicas.podberth("certs", "rotate")
    assert status == 2
    assert "got none, want one; podberth serve --ca-secret makes it" in errors
    replicas.start()
    address = f"127.0.0.1:{replicas.each[0].port}"
    status, output, errors = replicas.podberth("certs", "status", "--connect", address, "-o", "json")
    assert status == 0, (output, errors)
    report = json.loads(output)
    assert report["stage"] == "none"
    [current] = report["authorities"]
    assert current["role"] == "current"
    assert [each["complete"] for each in report["caBundles"]] == [True, True]
    assert [each["name"] for each in report["presented"]] == ["podberth.podberth-system.svc"]
    assert replicas.podberth("certs", "rotate")[0] == 0
    status, _, errors = replicas.podberth("certs", "rotate")
    assert status == 2
    assert "a rotation is under way" in errors
    status, output, _ = replicas.podberth("certs", "status")
    # Spreading, or what follows it two seconds later.
    assert "rotation: the next authority" in output
    assert current["sha256"] in output


def test_the_service_account_can_do_this_and_no_more(plane: ControlPlane, replicas: Replicas) -> None:
    token = (replicas.kubeconfig.parent / TOKEN).read_text()
    api = Api(plane.url, token, plane.ca_file)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other"}, "data": {}}
    secrets = SECRET_PATH.rpartition("/")[0]
    allowed = (
        ("POST", secrets, {**secret, "metadata": {"name": "podberth-ca"}}),
        ("GET", SECRET_PATH, None),
        ("PUT", SECRET_PATH, {**secret, "metadata": {"name": "podberth-ca"}}),
        *(("GET", f"{path}/podberth", None) for path in KINDS.values()),
        *(("PATCH", f"{path}/podberth", {}) for path in KINDS.values()),
    )
    refused = (
        ("GET", secrets, None),
        ("GET", f"{secrets}/other", None),
        ("DELETE", SECRET_PATH, None),
        ("GET", "/api/v1/namespaces/kube-system/secrets/any", None),
        ("POST", "/api/v1/namespaces/default/secrets", secret),
        *(("PUT", f"{path}/podberth", {}) for path in KINDS.values()),
        *(("DELETE", f"{path}/podberth", None) for path in KINDS.values()),
        *(("PATCH", f"{path}/another", {}) for path in KINDS.values()),
        *(("GET", path, None) for path in KINDS.values()),
    )

    def statuses(requests: tuple[tuple[str, str, Any], ...]) -> set[int]:
        kinds = {"PATCH": "application/merge-patch+json"}
        return {
            api.raw(method, path, body, kinds.get(method, "application/json"))[0] for method, path, body in requests
        }

    assert statuses(allowed) == {200, 201}
    assert statuses(refused) == {403}
    api.close()

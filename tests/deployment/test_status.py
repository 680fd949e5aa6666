"""`podberth status` on a real API server: an installation that is well, and one part after another that is not."""

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.ports import Ports
from controlplane.wait import wait_for
from e2e.dra import allocated_claim, partitionable
from e2e.manifest import read
from e2e.podberth_process import POLICIES
from floors import COMPONENT, policies
from pages import ROOT, page
from podberth.pki.issue import Validity, new_authority
from snapshots import policy

from .live import KINDS, SECONDS, TEAM, Live, lease, podberth

[BLOCK] = re.findall(r"^```sh\n(kubectl create .*?)^```$", page("docs/status.md"), re.MULTILINE | re.DOTALL)

SHIPPED = sum(each["kind"] == "GPUPolicy" for file in POLICIES.glob("*/policy.yaml") for each in read(file))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Yield an installation without faults; each test that breaks something repairs it."""
    directory = tmp_path_factory.mktemp("status")
    with ControlPlane.start(directory / "cluster") as started:
        installation = Live(started, directory)
        try:
            installation.install()
            installation.wait_healthy()
            yield installation
        finally:
            installation.close()


@pytest.fixture(scope="module")
def viewer(live: Live) -> Path:
    """Return the kubeconfig of somebody with the roles of a viewer, bound as the documentation says."""
    return live.viewer(BLOCK)


def rows(live: Live, kubeconfig: Path | None = None) -> dict[tuple[str, str], list[Any]]:
    """Return the rows of the status as JSON by section and name, and those that it has of each."""
    done = live.status("-o", "json", kubeconfig=kubeconfig)
    document = json.loads(done.stdout)
    schema = json.loads((ROOT / "docs" / "schema" / "status-v1.json").read_text())
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(document)) == []
    found: dict[tuple[str, str], list[Any]] = {}
    for section in document["sections"]:
        for row in section["rows"]:
            found.setdefault((section["name"], row["name"]), []).append(row)
    wanting = [row for each in found.values() for row in each if row["state"] in {"attention", "unread"}]
    assert document["healthy"] is not wanting
    assert done.returncode == (1 if wanting else 0)
    return found


def attention(live: Live) -> dict[tuple[str, str], str]:
    """Return what wants attention."""
    found = rows(live).items()
    return {key: row["text"] for key, each in found for row in each if row["state"] == "attention"}


def test_a_viewer_sees_a_healthy_installation_on_one_screen(live: Live, viewer: Path) -> None:
    done = live.status(kubeconfig=viewer)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"podberth on Kubernetes v1\.\d+\.\S+: healthy", lines[0])
    assert 24 <= len(lines) <= 40
    assert {line[0] for line in lines[1:] if line} == {"─", "✓", "·"}
    assert "2 of 2 replicas ready, podberth:0.1.0" in done.stdout
    assert f"and GPUPolicies; {SHIPPED} in force" in done.stdout
    notes = [row["name"] for each in rows(live, viewer).values() for row in each if row["state"] != "ok"]
    assert notes == ["callers"]  # this API server shows no certificate: tests/e2e/test_client_authentication.py has one


def test_a_viewer_may_read_no_secret_and_of_other_namespaces_lists_alone(live: Live, viewer: Path) -> None:
    who = ("--kubeconfig", str(viewer))
    for verb, what, namespace in (
        ("get", "secrets/podberth-ca", "podberth-system"),
        ("list", "secrets", "podberth-system"),
        ("get", "pods", "default"),
        ("get", "pods/log", "default"),
        ("list", "configmaps", "default"),
        ("get", "pods/proxy", "podberth-agent"),
        ("create", "pods", "podberth-system"),
        ("patch", "mutatingwebhookconfigurations/podberth", "default"),
    ):
        done = live.control_plane.kubectl("auth", "can-i", verb, what, "-n", namespace, *who, check=False)
        assert done.stdout.strip() == "no", (verb, what)


def test_without_rights_each_part_says_which_right_it_wants_and_the_rest_is_shown(live: Live) -> None:
    found = rows(live, live.stranger("default"))
    assert found["installed", "crd"][0]["state"] == "ok"  # whoever is known may ask what is served
    wanted = {row["facts"]["want"] for each in found.values() for row in each if row["state"] == "unread"}
    assert wanted == {
        "get deployments.apps podberth in podberth-system",
        "get deployments.apps podberth-controller in podberth-system",
        "get daemonsets.apps podberth-agent in podberth-agent",
        "get mutatingwebhookconfigurations.admissionregistration.k8s.io podberth",
        "get validatingwebhookconfigurations.admissionregistration.k8s.io podberth",
        "get validatingadmissionpolicies.admissionregistration.k8s.io podberth-agent",
        "list gpupolicies.podberth.io",
        "list gpupolicyexceptions.podberth.io",
        "list namespacedgpupolicies.podberth.io",
        "list nodes",
        "list configmaps in podberth-system",
        "list leases.coordination.k8s.io in podberth-system",
        "list pods in podberth-system",
        "list events",
        "list resourceslices.resource.k8s.io",
        "list resourceclaims.resource.k8s.io",
    }
    assert found["policies", "objects"][0]["text"] == (
        "could not be read: forbidden; want list gpupolicies.podberth.io"
    )


def test_what_claims_hold_of_a_drivers_devices_is_not_free(live: Live, viewer: Path) -> None:
    slices = [*partitionable("gpu-1", {}, cut=0, whole=2)]
    claim = allocated_claim("gpu-1", "gpu-0")
    claim["spec"] = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}
    said = json.dumps({"status": {"allocation": claim.pop("status")["allocation"]}})
    live.control_plane.add_namespace("team")
    live.control_plane.apply(*slices, claim)
    kubectl = live.control_plane.kubectl
    kubectl("patch", "resourceclaim", "gpus", "-n", "team", "--subresource=status", "--type=merge", "-p", said)
    try:
        [row] = rows(live, viewer)["topology", "free"]
        assert "1 of 2 gpu.nvidia.com, at most 1 on one node" in row["facts"]["free"]
    finally:
        kubectl("delete", "resourceslices", "--all")
        kubectl("delete", "resourceclaim", "gpus", "-n", "team")


def test_a_heartbeat_that_has_run_out_is_named(live: Live) -> None:
    live.control_plane.apply(lease("gpu-1", renewed=datetime.now(UTC) - timedelta(minutes=10)))
    try:
        assert attention(live) == {("topology", "heartbeats"): "silent on 1 node, ignored: gpu-1; see the agents' logs"}
    finally:
        live.control_plane.apply(lease("gpu-1"))
        live.wait_healthy()


def test_a_missing_configuration_is_named_and_so_is_a_policy_that_came_in_meanwhile_and_is_broken(live: Live) -> None:
    kubectl = live.control_plane.kubectl
    configuration = live.control_plane.get("validatingwebhookconfiguration", "podberth")
    metadata = {key: configuration["metadata"][key] for key in ("name", "labels") if key in configuration["metadata"]}
    kubectl("delete", "validatingwebhookconfiguration", "podberth")
    broken = policy("broken", "  mutations:\n  - labels: {a: object.nonsense}")
    try:
        kinds = attention(live)
        assert kinds["installed", "validating"].startswith("ValidatingWebhookConfiguration podberth: got none: ")
        # Nobody judges it now: what the API server still sends to podberth would refuse it.
        wait_for(
            lambda: kubectl("apply", "-f", "-", input=broken, check=False).returncode == 0,
            timeout_seconds=SECONDS,
            what="the API server to ask nobody about policies",
        )
        wait_for(
            lambda: ("policies", "broken") in attention(live),
            timeout_seconds=SECONDS,
            what="the finding about the broken policy",
        )
        found = rows(live)
        assert found["policies", "objects"][0]["text"] == "0 active, 1 broken"
        assert re.search(r"^gpupolicy/broken:\d+:\d+ spec\.mutations", found["policies", "broken"][0]["text"])
    finally:
        kubectl("delete", "gpupolicy", "broken", "--ignore-not-found")
        live.control_plane.create({**configuration, "metadata": metadata})
        live.wait_healthy()


def test_on_the_default_install_an_object_compiles_and_one_switches_a_shipped_policy_off(live: Live) -> None:
    kubectl = live.control_plane.kubectl
    own, off = (
        policy("own", "  mutations:\n  - labels: {a.example/b: \"'c'\"}"),
        policy("gang-topology", "  disabled: true"),
    )
    file = POLICIES / "gang-topology" / "policy.yaml"

    def columns(name: str) -> str:
        return " ".join(kubectl("get", "gpupolicy", name).stdout.split()[-3:-1])

    def objects() -> str:
        return str(rows(live)["policies", "objects"][0]["text"])

    try:
        assert not kubectl("apply", "-f", "-", input=own).stderr
        said = kubectl("apply", "-f", "-", input=off).stderr
        assert f"podberth: switches off the policy of this name in {file} until it is deleted" in said
        wait_for(lambda: columns("own") == "True True", timeout_seconds=SECONDS, what=lambda: columns("own"))
        wait_for(
            lambda: columns("gang-topology") == "Unknown False",
            timeout_seconds=SECONDS,
            what=lambda: columns("gang-topology"),
        )
        assert objects() == "1 active, disabled: gang-topology"
        assert f"; {SHIPPED} in force" in rows(live)["policies", "source"][0]["text"]
    finally:
        kubectl("delete", "gpupolicy", "own", "gang-topology", "--ignore-not-found")
        live.wait_healthy()


def test_a_policy_for_every_pod_and_the_entry_that_sends_them_want_each_other(live: Live) -> None:
    plane = live.control_plane
    everyone = policy("everyone", "  scope: All\n  mutations:\n  - labels: {a.example/b: \"'c'\"}")
    stored = plane.get("mutatingwebhookconfiguration", "podberth")
    narrow = [each for each in stored["webhooks"] if not each["name"].startswith("other-")]
    [entry] = [each for each in narrow if each["name"] == "pods.mutate.podberth.io"]
    conditions = [each for each in entry["matchConditions"] if each["name"] != "asks-for-accelerators"]
    other = {**entry, "name": "other-pods.mutate.podberth.io", "failurePolicy": "Ignore", "matchConditions": conditions}

    def send(webhooks: list[Any]) -> None:
        path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/podberth"
        plane.api.request("PATCH", path, {"webhooks": webhooks}, "application/merge-patch+json")

    def until(state: str, text: str) -> None:
        def said() -> Any:
            return rows(live)["policies", "every pod"][0]

        wait_for(
            lambda: said()["state"] == state and text in said()["text"],
            timeout_seconds=SECONDS,
            what=lambda: f"{state}: {text}; got {said()}",
        )

    try:
        plane.kubectl("apply", "-f", "-", input=everyone)
        until("attention", "everyone: scope All, and the MutatingWebhookConfiguration sends pods with GPUs")
        send([*narrow, other])
        until("ok", "sent, as policies of scope All need it")
        plane.kubectl("delete", "gpupolicy", "everyone")
        until("attention", "the MutatingWebhookConfiguration sends every pod, and no policy of scope All needs it")
    finally:
        plane.kubectl("delete", "gpupolicy", "everyone", "--ignore-not-found")
        send(narrow)
        live.wait_healthy()


def test_an_authority_that_expires_and_signs_for_nobody_is_named(live: Live) -> None:
    now = datetime.now(UTC)
    other = new_authority("somebody's", Validity(now - timedelta(days=99), now + timedelta(days=1, hours=1)))
    with live.unable_to_write():
        live.trust(base64.b64encode(other.pem).decode())
        found = attention(live)
        assert re.search(
            r"^caBundle: somebody's expires at .*, with less than a sixth", found["certificates", "trusted"]
        )
        assert found["certificates", "served"].startswith("signed by an authority that caBundle lacks: podberth-")


def test_an_entry_without_an_authority_is_named(live: Live) -> None:
    with live.unable_to_write():
        live.trust("")
        assert attention(live)["certificates", "trusted"].startswith("no authority: MutatingWebhookConfiguration")


def test_a_guard_that_is_gone_is_named(live: Live) -> None:
    kubectl = live.control_plane.kubectl
    what = ("validatingadmissionpolicybinding", "podberth-exemption")
    document = kubectl("get", *what, "-o", "yaml").stdout
    kubectl("delete", *what)
    try:
        said = attention(live)["installed", "guards"]
        assert said.startswith("missing: ValidatingAdmissionPolicyBinding podberth-exemption: ")
    finally:
        kubectl("create", "-f", "-", input=document)
        live.wait_healthy()


def test_a_floor_that_is_not_kept_or_not_whole_is_named(live: Live, viewer: Path) -> None:
    def floor() -> str:
        [found] = rows(live, viewer)["outages", "floor"]
        assert found["state"] == "attention"
        return str(found["text"])

    plane = live.control_plane
    plane.apply(*read(COMPONENT / "params.yaml"), *policies())
    try:
        assert floor().startswith("its params grow stale without a controller; ")
        plane.kubectl("delete", "mutatingadmissionpolicybinding", "podberth-floor")
        assert floor().startswith("missing: MutatingAdmissionPolicyBinding podberth-floor; ")
    finally:
        for each in (*read(COMPONENT / "params.yaml"), *policies()):
            named = (each["kind"].lower(), each["metadata"]["name"], "-n", each["metadata"].get("namespace", "default"))
            plane.kubectl("delete", *named, "--ignore-not-found")
        live.wait_healthy()


def test_who_was_denied_lately_is_named_by_the_events_and_counted_by_the_metrics(live: Live, viewer: Path) -> None:
    with live.refused_job("denied the request"):
        found = rows(live, viewer)
    [refused] = found["denied lately", "refused"]
    assert refused["facts"]["object"] == "Job team-a/train"
    assert "podberth mig-right-size: " in refused["text"]
    assert found["denied lately", "events"][0]["state"] == "note"
    assert found["denied lately", "counted"][0]["facts"]["deny"][0].startswith("mig-right-size ")


def test_a_pod_that_was_let_through_is_named_until_it_is_gone(live: Live, viewer: Path) -> None:
    kubectl = live.control_plane.kubectl
    asked = gpu_pod(resource="nvidia.com/mig-4g.5gb", name="unseen")
    asked["metadata"]["namespace"] = TEAM

    def choose(policy: str) -> None:
        for kind in KINDS:
            value = {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": policy}
            kubectl("patch", kind, "podberth", "--type=json", "-p", json.dumps([value]))

    live.stop()
    try:
        choose("Ignore")
        wait_for(
            lambda: kubectl("create", "-f", "-", input=json.dumps(asked), check=False).returncode == 0,
            timeout_seconds=SECONDS,
            what="a pod to be let through",
        )
        live.start()
        found = rows(live, viewer)
        assert found["outages", "fail closed"][0]["state"] == "note"
        [line] = found["outages", "let through"]
        assert (line["state"], line["facts"]["denied"]) == ("attention", [f"{TEAM}/unseen"])
        assert line["facts"]["policies"] == ["mig-right-size"]
        choose("Fail")
        kubectl("delete", "pod", "-n", TEAM, "unseen", "--force", "--grace-period=0")
        live.wait_healthy()
        found = rows(live, viewer)
        assert found["outages", "fail closed"][0]["state"] == "ok"
        assert found["outages", "let through"][0]["facts"]["pods"] == []
    finally:
        choose("Fail")
        kubectl("delete", "pod", "-n", TEAM, "unseen", "--ignore-not-found", "--force", "--grace-period=0")
        live.start()
        live.wait_healthy()


def test_a_program_that_makes_tokens_is_run_once(live: Live, tmp_path: Path) -> None:
    """It may take seconds, or ask a person; it says not until when the token counts."""
    runs = tmp_path / "runs"
    status = {"token": live.control_plane.admin_token}
    version = "client.authentication.k8s.io/v1"
    said = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho run >> {runs}\necho '{said}'\n")
    program.chmod(0o755)
    document = json.loads(live.control_plane.kubectl("config", "view", "--raw", "-o", "json").stdout)
    document["users"][0]["user"] = {
        "exec": {"apiVersion": version, "command": str(program), "interactiveMode": "Never"}
    }
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(document))
    assert live.status(kubeconfig=kubeconfig).stdout.splitlines()[0].endswith(": healthy")
    assert runs.read_text().splitlines() == ["run"]


def test_without_podberth_its_metrics_are_not_reached_and_who_is_refused_for_it_is_named(live: Live) -> None:
    live.stop()
    try:
        with live.refused_job("failed calling webhook"):
            found = rows(live)
        assert found["denied lately", "events"][0]["state"] == "attention"
        assert 'failed calling webhook "pods.mutate.podberth.io"' in found["denied lately", "refused"][0]["text"]
        assert found["certificates", "metrics"][0]["state"] == "note"
        assert "2 of 2 replicas" in found["certificates", "metrics"][0]["text"]
        assert found["certificates", "trusted"][0]["state"] == "ok"
        assert ("certificates", "served") not in found
        assert found["policies", "source"][0]["state"] == "note"
    finally:
        live.start()


def test_a_cluster_that_is_not_there_is_3(live: Live, tmp_path: Path) -> None:
    ports = Ports()
    try:
        nobody = live.control_plane.kubeconfig.read_text().replace(
            live.control_plane.url, f"https://127.0.0.1:{ports.take()}"
        )
        (tmp_path / "kubeconfig").write_text(nobody)
        done = podberth("status", "--kubeconfig", str(tmp_path / "kubeconfig"))
    finally:
        ports.release()
    assert (done.returncode, done.stdout) == (3, "")
    assert re.search(r"^podberth: GET https://127\.0\.0\.1:\d+/version: the connection failed: ", done.stderr)

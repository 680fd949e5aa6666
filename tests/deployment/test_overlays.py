"""Every overlay and component on a real API server, strictly validated; and the pods that come of them."""

import argparse
import shutil
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from e2e.registration import CLOSED, for_every_pod
from pages import ROOT
from podberth.cli import live_flags
from podberth.cli.agent import configure
from podberth.cli.check import configure as configure_check
from podberth.errors import PolicyError
from podberth.files.loading import FileSource
from podberth.settings import read_settings
from podberth.wellknown import NAMESPACE

from .rendering import COMPONENTS, MANIFESTS, OVERLAYS, STRICT, Document, composed, documents, only, overlay, unfolded

AGENTS = "podberth-agent"
WITHOUT_OTHERS = tuple(each for each in COMPONENTS if each not in ("gpu-metrics", "monitoring"))
SECONDS = 60.0


@pytest.mark.parametrize("name", [each for each in OVERLAYS if each != "cert-manager"])
def test_an_overlay_is_taken(installed: ControlPlane, name: str) -> None:
    installed.kubectl("apply", *STRICT, "-k", f"{MANIFESTS}/overlays/{name}")


@pytest.mark.shared("crds/cert-manager", "crds/prometheus-operator")
@pytest.mark.usefixtures("others")
def test_certificates_and_monitors_are_taken_by_their_operators_definitions(
    installed: ControlPlane, tmp_path: Path
) -> None:
    installed.kubectl("apply", *STRICT, "-k", f"{MANIFESTS}/overlays/cert-manager")
    installed.kubectl("apply", *STRICT, "-k", str(composed(tmp_path, ["gpu-metrics", "monitoring"])))


@pytest.mark.parametrize("name", WITHOUT_OTHERS)
def test_a_component_is_taken(installed: ControlPlane, tmp_path: Path, name: str) -> None:
    installed.kubectl("apply", *STRICT, "-k", str(composed(tmp_path, [name])))


def test_applying_it_again_takes_no_replica_away(installed: ControlPlane) -> None:
    installed.kubectl("scale", "--replicas=4", "-n", NAMESPACE, "deployment/podberth")
    before = _deployment(installed)
    installed.kubectl("apply", "-k", f"{MANIFESTS}/overlays/fail-closed")
    assert _deployment(installed) == before
    assert before["replicas"] == 4


def test_applying_it_again_says_of_nothing_that_it_is_configured(installed: ControlPlane) -> None:
    """Whoever upgrades reads what changed; kubectl says so of each field that the API server spells in another way."""
    again = ("apply", "--dry-run=server", "-k", f"{MANIFESTS}/overlays/fail-closed")
    said = [each.split()[:2] for each in installed.kubectl(*again).stdout.splitlines()]
    # kubectl sends the selector of a disruption budget each time: its patch strategy is "replace".
    assert {what for what, how in said if how != "unchanged"} == {"poddisruptionbudget.policy/podberth"}


def _deployment(control_plane: ControlPlane) -> Any:
    return control_plane.get("deployment", "podberth", "-n", NAMESPACE)["spec"]


# ---- the pods -------------------------------------------------------------------------------------------------------


def test_the_webhooks_pods_are_admitted_and_there_are_two(installed: ControlPlane) -> None:
    wait_for(lambda: len(_pods(installed, NAMESPACE)) >= 2, timeout_seconds=SECONDS, what="two replicas")
    [replicas] = installed.get("replicasets", "-n", NAMESPACE)["items"]
    assert "conditions" not in replicas["status"]  # ReplicaFailure: a pod was refused


def test_what_restricted_forbids_is_refused_beside_the_webhook(installed: ControlPlane) -> None:
    pod = {**gpu_pod(), "metadata": {"name": "root"}}
    answer = installed.api.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", pod)
    assert answer.status == HTTPStatus.FORBIDDEN
    assert 'violates PodSecurity "restricted:latest"' in answer.document["message"]


@pytest.fixture
def gpu_nodes(installed: ControlPlane) -> Iterator[None]:
    """Add a machine with GPUs and a taint of somebody's, one without, and the operator's RuntimeClass."""
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
    installed.apply({**runtime, "handler": "nvidia"})
    labels = {"nvidia.com/gpu.present": "true"}
    tainted = gpu_node("deployment-gpu", labels=labels)
    tainted["spec"] = {"taints": [{"key": "example.com/team", "value": "a", "effect": "NoSchedule"}]}
    plain = gpu_node("deployment-cpu", labels={})
    installed.add_nodes([tainted, plain])
    yield
    installed.kubectl("delete", "node", "deployment-gpu", "deployment-cpu")


@pytest.mark.usefixtures("gpu_nodes")
def test_an_agent_runs_on_each_node_with_gpus_whatever_its_taints(installed: ControlPlane) -> None:
    wait_for(
        lambda: [each["spec"].get("nodeName") for each in _pods(installed, AGENTS)] == ["deployment-gpu"],
        timeout_seconds=SECONDS,
        what="the agent's pod",
    )


@pytest.mark.parametrize("name", [*(each for each in COMPONENTS if each.startswith("agent-")), "gpu-metrics"])
def test_the_pods_of_agents_are_admitted_in_their_namespace(installed: ControlPlane, tmp_path: Path, name: str) -> None:
    rendered = documents(installed.kubectl("kustomize", str(composed(tmp_path, [name]))).stdout)
    for daemon_set in (each for each in rendered if each["kind"] == "DaemonSet"):
        spec = daemon_set["spec"]["template"]["spec"]
        spec.pop("runtimeClassName", None)  # the GPU operator makes that
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "agent"}, "spec": spec}
        answer = installed.api.ask("POST", f"/api/v1/namespaces/{AGENTS}/pods?dryRun=All", pod)
        assert answer.status == HTTPStatus.CREATED, answer.document


def test_the_agent_needs_nothing_that_restricted_forbids(installed: ControlPlane) -> None:
    template = only(overlay(installed, "self-signed"), "DaemonSet", AGENTS)["spec"]["template"]
    spec = {
        key: each for key, each in template["spec"].items() if key not in ("serviceAccountName", "runtimeClassName")
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "agent"}, "spec": spec}
    answer = installed.api.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", pod)
    assert answer.status == HTTPStatus.CREATED, answer.document


def _pods(control_plane: ControlPlane, namespace: str) -> list[Any]:
    return list(control_plane.api.read(f"/api/v1/namespaces/{namespace}/pods")["items"])


# ---- what the programs make of it -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OVERLAYS)
def test_serve_understands_its_variables(control_plane: ControlPlane, name: str) -> None:
    [container] = only(overlay(control_plane, name), "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["serve"]
    settings = read_settings({}, {each["name"]: each["value"] for each in container["env"]})
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports == {"webhook": settings.listen.port, "metrics": settings.metrics_listen.port}
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert str(settings.policies) == mounts["policies"].rpartition("/")[0]
    assert str(settings.tls_cert) == f"{mounts['tls']}/tls.crt" if "tls" in mounts else settings.tls_cert is None


def test_the_grace_of_a_pod_is_what_draining_takes(control_plane: ControlPlane) -> None:
    pod = only(overlay(control_plane, "self-signed"), "Deployment")["spec"]["template"]["spec"]
    env = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
    assert pod["terminationGracePeriodSeconds"] == read_settings({}, env).drain_seconds + 35


def test_a_replica_that_answers_in_a_reviews_time_is_ready(control_plane: ControlPlane) -> None:
    """All replicas compile a changed policy at the same moment: a probe that is less patient finds none ready."""
    objects = overlay(control_plane, "self-signed")
    [container] = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    timeout = max(each["timeoutSeconds"] for each in _webhooks(objects) if each["name"] in CLOSED)
    assert container["readinessProbe"].get("timeoutSeconds", 1) == timeout


@pytest.mark.parametrize("name", [None, "agent-labels", "agent-nfd-labels", "dev", "gpu-metrics"])
def test_the_agents_understand_their_arguments(control_plane: ControlPlane, tmp_path: Path, name: str | None) -> None:
    chosen = composed(tmp_path, ["agent-amd", name] if name else ["agent-amd"])
    rendered = documents(control_plane.kubectl("kustomize", str(chosen)).stdout)
    found = {}
    for daemon_set in (AGENTS, f"{AGENTS}-amd"):
        template = only(rendered, "DaemonSet", daemon_set)["spec"]["template"]
        command, *arguments = template["spec"]["containers"][0]["args"]
        parser = argparse.ArgumentParser()
        configure(parser)
        found[daemon_set] = parser.parse_args(arguments)
        assert command == "agent"
    assert [each.vendor for each in found.values()] == [None, "amd"]
    if name != "dev":  # its agents play NVIDIA's machine
        assert len({(each.labels, each.metrics_listen, each.pod_resources) for each in found.values()}) == 1


def test_agents_with_a_live_label_have_what_it_needs(control_plane: ControlPlane, tmp_path: Path) -> None:
    chosen = composed(tmp_path, ["agent-labels", "gpu-metrics", "agent-free-labels"])
    rendered = documents(control_plane.kubectl("kustomize", str(chosen)).stdout)
    [container] = only(rendered, "DaemonSet", AGENTS)["spec"]["template"]["spec"]["containers"]
    parser = argparse.ArgumentParser()
    configure(parser)
    found = parser.parse_args(container["args"][1:])
    assert (found.free_labels, found.labels, found.interval) == (True, "own", 10.0)
    assert str(found.pod_resources).endswith("kubelet.sock")


@pytest.mark.parametrize(
    ("components", "root", "context"),
    [
        ([], False, {"allowPrivilegeEscalation": False}),
        (["gpu-metrics"], True, {"allowPrivilegeEscalation": False}),
        (["agent-bottlerocket"], False, {"allowPrivilegeEscalation": False}),
        (["agent-gpu-operator"], False, {"allowPrivilegeEscalation": False}),
        (["agent-mig"], True, {"allowPrivilegeEscalation": True, "add": ["SYS_ADMIN"]}),
        (["gpu-metrics", "agent-mig"], True, {"allowPrivilegeEscalation": True, "add": ["SYS_ADMIN"]}),
        (["agent-gke"], False, {"allowPrivilegeEscalation": True, "privileged": True}),
        (
            ["agent-mig", "agent-gke"],
            True,
            {"allowPrivilegeEscalation": True, "privileged": True, "add": ["SYS_ADMIN"]},
        ),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else None,
)
def test_agents_have_the_privileges_that_their_components_are_about_and_no_others(
    control_plane: ControlPlane, tmp_path: Path, components: list[str], root: bool, context: dict[str, Any]
) -> None:
    rendered = documents(control_plane.kubectl("kustomize", str(composed(tmp_path, components))).stdout)
    spec = only(rendered, "DaemonSet", AGENTS)["spec"]["template"]["spec"]
    [container] = spec["containers"]
    user = 0 if root else 65532
    assert {key: spec["securityContext"][key] for key in ("runAsNonRoot", "runAsUser", "runAsGroup")} == {
        "runAsNonRoot": not root,
        "runAsUser": user,
        "runAsGroup": user,
    }
    found = {**container["securityContext"]}
    capabilities = found.pop("capabilities")
    assert capabilities.pop("drop") == ["ALL"]
    assert {**found, **capabilities} == {**context, "readOnlyRootFilesystem": True}


def test_a_shipped_policy_is_changed_in_a_copy_that_all_three_load(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Names are unique among the files that one reads: who reads image and ConfigMap loads nothing of either."""
    (tmp_path / "policies" / "own").mkdir(parents=True)
    shutil.copytree(ROOT / "policies" / "spot-and-priority", tmp_path / "policies" / "shipped")
    shutil.copytree(ROOT / "policies" / "spot-and-priority", tmp_path / "policies" / "own", dirs_exist_ok=True)
    chosen = composed(tmp_path, ["self-signed", "audit", "controller", "own-policies"])
    rendered = documents(control_plane.kubectl("kustomize", str(chosen)).stdout)
    read = set(_policies_read(rendered))
    assert read == {"/etc/podberth/policies/own"}
    [directory] = read
    FileSource(tmp_path / "policies" / Path(directory).name, None).load()
    with pytest.raises(PolicyError, match="is already in"):
        FileSource(tmp_path / "policies", None).load()


def _policies_read(rendered: list[Document]) -> Iterator[str]:
    """Yield what webhook, controller and audit read; each has the ConfigMap where the others do."""
    job = only(rendered, "CronJob", "podberth-audit")["spec"]["jobTemplate"]["spec"]
    for template in (
        only(rendered, "Deployment")["spec"]["template"],
        only(rendered, "Deployment", "podberth-controller")["spec"]["template"],
        job["template"],
    ):
        [container] = template["spec"]["containers"]
        mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        assert mounts["policies"] == "/etc/podberth/policies/own"
        variables = {each["name"]: each.get("value") for each in container.get("env", ())}
        flags = [each.removeprefix("--policies=") for each in container["args"] if each.startswith("--policies=/")]
        yield from [variables["PODBERTH_POLICIES"]] if "PODBERTH_POLICIES" in variables else flags


def test_webhook_and_audit_judge_by_files_and_objects(control_plane: ControlPlane, tmp_path: Path) -> None:
    chosen = composed(tmp_path, ["self-signed", "audit"])
    rendered = documents(control_plane.kubectl("kustomize", str(chosen)).stdout)
    [webhook] = only(rendered, "Deployment")["spec"]["template"]["spec"]["containers"]
    settings = read_settings({}, {each["name"]: each["value"] for each in webhook["env"]})
    job = only(rendered, "CronJob", "podberth-audit")["spec"]["jobTemplate"]["spec"]
    [audit] = job["template"]["spec"]["containers"]
    parser = argparse.ArgumentParser()
    configure_check(parser)
    assert (settings.policies, settings.topology) == (Path("/etc/podberth/policies"), "cluster")
    assert parser.parse_args(audit["args"][1:]).policies == ["/etc/podberth/policies", "cluster"]


def test_the_audit_is_one_at_a_time_understands_its_arguments_and_is_admitted(
    installed: ControlPlane, tmp_path: Path
) -> None:
    rendered = documents(installed.kubectl("kustomize", str(composed(tmp_path, ["audit"]))).stdout)
    spec = only(rendered, "CronJob", "podberth-audit")["spec"]
    template = spec["jobTemplate"]["spec"]["template"]
    [container] = template["spec"]["containers"]
    command, *arguments = container["args"]
    parser = argparse.ArgumentParser()
    configure_check(parser)
    assert (command, live_flags.wanted(parser.parse_args(arguments))) == ("check", True)
    assert spec["concurrencyPolicy"] == "Forbid"
    installed.apply(only(rendered, "ServiceAccount", "podberth-audit"))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "audit"}, "spec": template["spec"]}
    answer = installed.api.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", pod)
    assert answer.status == HTTPStatus.CREATED, answer.document


# ---- what an overlay changes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("component", "closed"),
    [("fail-closed", set(CLOSED)), ("fail-closed-updates", {"pods-update.validate.podberth.io"})],
)
def test_fail_closed_changes_failure_policies_and_nothing_else(
    control_plane: ControlPlane, tmp_path: Path, component: str, closed: set[str]
) -> None:
    """Each closes the entries of pods that ask for accelerators; those of all others are always open."""
    before = documents(control_plane.kubectl("kustomize", str(composed(tmp_path, []))).stdout)
    after = documents(control_plane.kubectl("kustomize", str(composed(tmp_path, [component]))).stdout)
    old, new = _webhooks(before), _webhooks(after)
    assert [{**each, "failurePolicy": None} for each in old] == [{**each, "failurePolicy": None} for each in new]
    assert {each["name"] for each in new if each["failurePolicy"] == "Fail"} == closed
    others = [[each for each in one if "webhooks" not in each] for one in (before, after)]
    assert others[0] == others[1]


def test_dev_is_one_replica(control_plane: ControlPlane) -> None:
    objects = overlay(control_plane, "dev")
    assert only(objects, "Deployment")["spec"]["replicas"] == 1
    assert not {"PodDisruptionBudget", "HorizontalPodAutoscaler"} & {each["kind"] for each in objects}


def test_the_entries_for_every_pod_are_those_that_the_tests_of_scope_all_use(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    chosen = composed(tmp_path, ["fail-closed", "all-pods"])
    objects = documents(control_plane.kubectl("kustomize", str(chosen)).stdout)
    wanted = {each["name"]: each for configuration in for_every_pod() for each in configuration["webhooks"]}
    assert unfolded({each["name"]: each for each in _webhooks(objects)}) == unfolded(wanted)


@pytest.mark.parametrize("name", [each for each in OVERLAYS if each != "fail-closed"])
def test_nothing_fails_closed_that_nobody_chose(control_plane: ControlPlane, name: str) -> None:
    assert {each["failurePolicy"] for each in _webhooks(overlay(control_plane, name))} == {"Ignore"}


def _webhooks(objects: list[Document]) -> list[Document]:
    return [
        webhook for each in objects if each["kind"].endswith("WebhookConfiguration") for webhook in each["webhooks"]
    ]

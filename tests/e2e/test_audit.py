"""`podberth check --cluster --report` on a real API server, with a token of the audit's own ServiceAccount."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from controlplane.api import Api
from controlplane.client import of_files
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from crds import FOLDER
from podberth.check.report.policy_report import NAME
from podberth.checking.policy_reports import MANAGER
from podberth.kube.documents import load_documents
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE
from snapshots import policy

from .access import write_kubeconfig
from .podberth_process import ROOT

pytestmark = pytest.mark.shared("crds/wg-policy", "crds/openreports", "crds/jobset")

REPORTS = "/apis/wgpolicyk8s.io/v1alpha2"
SECONDS = 60.0
FEW = policy(
    "few", "\n  validations:\n  - {expression: gpu.count < 4, message: too many}\n  validationActions: [Audit]"
)
CLAIMED = policy(
    "claimed",
    "\n  validations:\n  - {expression: 'gpu.claims.all(claim, claim.count < 4)', message: too many}"
    "\n  validationActions: [Deny]",
)
LABEL = policy("label", "\n  mutations:\n  - {labels: {example.com/team: \"'a'\"}, reason: \"'labelled'\"}")
PODS = 250
# No kubelet is there to say that a pod has ended.
AT_ONCE = ("--grace-period=0", "--force", "--wait=true")


def container(gpus: int) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}


def pod(name: str, namespace: str, gpus: int) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container(gpus)]}}


def template(gpus: int, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container(gpus)], **spec}}


def deployment(name: str, namespace: str, gpus: int) -> dict[str, Any]:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template(gpus)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def job(name: str, namespace: str, gpus: int) -> dict[str, Any]:
    spec = {"template": template(gpus, restartPolicy="Never")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def job_set(name: str, namespace: str, gpus: int) -> dict[str, Any]:
    inner = {"spec": {"parallelism": 2, "completions": 2, **job("", "", gpus)["spec"]}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicatedJobs": [{"name": "w", "replicas": 1, "template": inner}]},
    }


class Audited:
    """A cluster with workloads, and the audit's way into it."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        """Mint a token, and write two policies."""
        self.plane = plane
        self.directory = directory
        token = plane.create_token(NAMESPACE, "podberth-audit")
        (directory / "token").write_text(token)
        self.kubeconfig = write_kubeconfig(plane, directory / "token")
        self.api = Api(plane.url, token, plane.ca_file)
        self.policies = directory / "policies"
        self.policies.mkdir()
        for name, text in (("few", FEW), ("label", LABEL)):
            (self.policies / f"{name}.yaml").write_text(text)

    def check(self, *flags: str, policies: str = "") -> tuple[int, Any, str]:
        """Run the check; return its exit code, report and talk."""
        command = [sys.executable, "-I", "-m", "podberth", "check", "--cluster", "-o", "json"]
        command += ["--kubeconfig", str(self.kubeconfig), "--page", "50", "--policies", policies or str(self.policies)]
        done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    def reports(self) -> dict[str, Any]:
        """Return the reports by namespace."""
        found = self.plane.api.read(f"{REPORTS}/policyreports")["items"]
        return {each["metadata"]["namespace"]: each for each in found}


def let_in(plane: ControlPlane) -> None:
    """Give the audit its rights, and the guard that holds it to its own reports."""
    folder = ROOT / "manifests/components/audit"
    plane.kubectl("apply", *of_files(folder / "rbac.yaml", folder / "guard.yaml"))


def install(plane: ControlPlane, *files: Path) -> None:
    plane.kubectl("create", *of_files(*files))
    plane.await_crds()


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        plane.add_namespace(NAMESPACE)
        let_in(plane)
        install(
            plane,
            ROOT / "manifests/base/gpupolicy-crd.yaml",
            FOLDER / "wg-policy/wgpolicyk8s.io_policyreports.yaml",
            FOLDER / "jobset/jobset.x-k8s.io_jobsets.yaml",
        )
        node, config_map = simulate("hgx-h100-8", "hgx-0")
        plane.apply(config_map)
        plane.add_nodes([node])
        for name in ("one", "two", "three"):
            plane.add_namespace(name)
        plane.create(*(pod(f"p{number}", "one", 5 if number < 3 else 1) for number in range(PODS)))
        plane.create(deployment("d", "two", 8), job("j", "two", 1), job_set("gang", "two", 8), pod("p", "three", 1))
        wait_for(
            lambda: len(plane.api.read("/api/v1/namespaces/two/pods")["items"]) == 3,
            timeout_seconds=SECONDS,
            what="the controllers' pods",
        )
        made = Audited(plane, tmp_path_factory.mktemp("audit"))
        with closing(made.api):
            yield made
        plane.check()


def test_each_top_owner_is_judged_once_over_many_pages(audited: Audited) -> None:
    code, report, talk = audited.check()
    live = report["live"]
    assert (code, live["missing"], live["error"]) == (0, [], 0), talk
    # The pods, the Deployment, the Job and the JobSet; not what the first two have made: a ReplicaSet and three pods.
    assert (live["workloads"], live["spokenFor"]) == (PODS + 4, 4)
    counts = {each["policy"]: each for each in live["policies"]}
    assert (counts["few"]["audited"], counts["label"]["changed"]) == (5, PODS + 4)
    assert "not served here, so there are none: " in talk
    assert "no node is known" not in talk


def test_as_deny_and_one_namespace(audited: Audited) -> None:
    code, report, _ = audited.check("--as", "deny", "--namespace", "two")
    assert (code, report["live"]["denied"], report["live"]["workloads"]) == (1, 2, 3)
    denied = {f"{each['kind']}/{each['name']}" for each in report["results"] if each["verdict"] == "denied"}
    assert denied == {"Deployment/d", "JobSet/gang"}


def test_reports_are_taken_by_the_real_definition_and_a_second_run_writes_nothing(audited: Audited) -> None:
    code, _, talk = audited.check("--report")
    assert code == 0, talk
    reports = audited.reports()
    assert sorted(reports) == ["one", "two"]
    assert reports["one"]["summary"] == {"fail": 3, "error": 0, "warn": 0, "pass": PODS - 3, "skip": 0}
    [first, *_] = reports["two"]["results"]
    assert (first["policy"], first["rule"], first["result"], first["scored"]) == ("few", "validations", "fail", True)
    assert {each["resources"][0]["kind"] for each in reports["two"]["results"]} == {"Deployment", "JobSet"}
    managers = {each["manager"] for each in reports["one"]["metadata"]["managedFields"]}
    assert (managers, reports["one"]["metadata"]["name"]) == ({MANAGER}, NAME)
    code, _, talk = audited.check("--report")
    assert (code, audited.reports()) == (0, reports)
    assert "reports: 0 written, 0 removed" in talk


def test_a_finding_keeps_its_time_and_a_namespace_without_any_loses_its_report(audited: Audited) -> None:
    audited.check("--report")
    before = audited.reports()
    audited.plane.kubectl("delete", "pod", "-n", "one", "p0", *AT_ONCE)
    code, _, talk = audited.check("--report")
    after = audited.reports()
    assert (code, after["two"]) == (0, before["two"]), talk
    kept = [each for each in before["one"]["results"] if each["resources"][0]["name"] != "p0"]
    assert after["one"]["results"] == kept
    audited.plane.kubectl("delete", "pod", "-n", "one", "p1", "p2", *AT_ONCE)
    foreign = {"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport"}
    audited.plane.apply({**foreign, "metadata": {"name": "kyverno", "namespace": "three"}})
    _, _, talk = audited.check("--report")
    assert "1 removed" in talk
    assert sorted(audited.reports()) == ["three", "two"]


def test_a_report_of_the_name_that_somebody_else_keeps_stays_theirs(audited: Audited) -> None:
    audited.plane.add_namespace("theirs")
    audited.plane.create(pod("p", "theirs", 5))
    [foreign] = audited.plane.apply(
        {
            "apiVersion": "wgpolicyk8s.io/v1alpha2",
            "kind": "PolicyReport",
            "metadata": {"name": NAME, "namespace": "theirs"},
            "results": [{"policy": "other", "result": "pass"}],
        }
    )
    code, _, talk = audited.check("--report", "--namespace", "theirs")
    assert code == 3
    assert "PolicyReport theirs/podberth: " in talk
    assert audited.reports()["theirs"]["metadata"]["resourceVersion"] == foreign["metadata"]["resourceVersion"]
    audited.plane.kubectl("delete", "policyreport,pod", "-n", "theirs", "--all", *AT_ONCE)


def test_a_namespace_that_the_webhook_leaves_out_has_no_findings(audited: Audited) -> None:
    audited.plane.add_namespace("storage")
    audited.plane.create(pod("p", "storage", 5))
    _, report, _ = audited.check("--report", "--namespace", "storage")
    assert (report["live"]["workloads"], report["live"]["exempt"]) == (1, 0)
    assert "storage" in audited.reports()
    [configuration] = load_documents((ROOT / "manifests/base/validating-webhook.yaml").read_text(), "webhook.yaml")[0]
    for entry in configuration.document["webhooks"]:
        if "namespaceSelector" in entry:
            entry["namespaceSelector"]["matchExpressions"][0]["values"].append("storage")
    audited.plane.apply(configuration.document)
    code, report, talk = audited.check("--report", "--namespace", "storage")
    assert (code, report["live"]["workloads"], report["live"]["exempt"]) == (0, 0, 1), talk
    assert "storage" not in audited.reports()
    audited.plane.kubectl("delete", "validatingwebhookconfiguration", "podberth")
    audited.plane.kubectl("delete", "pod", "-n", "storage", "p", *AT_ONCE)


def test_policies_of_the_cluster_judge_alone_or_over_those_of_files(audited: Audited) -> None:
    audited.plane.kubectl("apply", "-f", "-", input=FEW.replace("[Audit]", "[Warn]"))
    code, report, talk = audited.check("--fail-on", "warn", "--namespace", "two", policies="cluster")
    assert (code, report["live"]["warned"], [each["policy"] for each in report["live"]["policies"]]) == (1, 2, ["few"])
    assert "checked with 1 policy of the cluster" in talk
    together = ("--policies", "cluster", "--namespace", "two")
    code, report, talk = audited.check("--fail-on", "warn", *together)
    judged = [each["policy"] for each in report["live"]["policies"]]
    assert (code, report["live"]["warned"], judged) == (1, 2, ["few", "label"])
    assert f"checked with 2 policies in {audited.policies}, and GPUPolicies of the cluster" in talk
    # An object that is disabled switches off the one of its name.
    audited.plane.kubectl("patch", "gpupolicy", "few", "--type=merge", "-p", '{"spec": {"disabled": true}}')
    _, report, _ = audited.check(*together)
    assert [each["policy"] for each in report["live"]["policies"]] == ["label"]
    audited.plane.kubectl("delete", "gpupolicy", "few")


@contextmanager
def without(audited: Audited, *groups: str, lost: str) -> Iterator[None]:
    """Take the audit's rights to API groups away, until ``lost`` is refused, and give them back at the end."""
    role = audited.plane.get("clusterrole", "podberth-audit")
    patch = json.dumps({"rules": [each for each in role["rules"] if each["apiGroups"][0] not in groups]})
    audited.plane.kubectl("patch", "clusterrole", "podberth-audit", "--type=merge", "-p", patch)
    try:
        wait_for(lambda: not allowed(audited, lost), timeout_seconds=SECONDS, what="the right to be gone")
        yield
    finally:
        let_in(audited.plane)
        wait_for(lambda: allowed(audited, lost), timeout_seconds=SECONDS, what="the right to be back")


def allowed(audited: Audited, path: str) -> bool:
    return audited.api.ask("GET", f"{path}?limit=1").status == HTTPStatus.OK


def test_what_may_not_be_listed_is_named_and_nothing_is_removed(audited: Audited) -> None:
    audited.check("--report")
    before = audited.reports()
    with without(audited, "apps", "jobset.x-k8s.io", lost="/apis/apps/v1/deployments"):
        code, report, talk = audited.check("--report")
    assert code == 3, talk
    missing = {each.partition(":")[0] for each in report["live"]["missing"]}
    assert {"apps/v1 Deployment", "jobset.x-k8s.io/v1alpha2 JobSet"} <= missing
    assert audited.reports().keys() == before.keys()
    said = [each["message"] for each in audited.reports()["two"]["results"] if each["result"] == "error"]
    assert any("Deployment" in each for each in said)


def test_where_no_report_may_be_written_what_was_found_is_shown(audited: Audited) -> None:
    with without(audited, "wgpolicyk8s.io", lost=f"{REPORTS}/policyreports"):
        code, report, talk = audited.check("--report", "--namespace", "two")
    assert (code, report["live"]["workloads"]) == (3, 3)
    assert "reports: none is written: GET " in talk


def claim_template(name: str, namespace: str, gpus: int) -> dict[str, Any]:
    request = {"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": gpus}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def test_what_a_claim_asks_for_counts_as_it_does_for_the_webhook(audited: Audited, tmp_path: Path) -> None:
    (tmp_path / "claimed.yaml").write_text(CLAIMED)
    audited.plane.add_namespace("claims")
    claiming = deployment("d", "claims", 0)
    claiming["spec"]["replicas"] = 0  # no controller has pods to make, and none to clear away
    claiming["spec"]["template"]["spec"] = {
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpus"}]}}],
        "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "eight"}],
    }
    audited.plane.create(claim_template("eight", "claims", 8), claiming)
    code, report, talk = audited.check("--namespace", "claims", policies=str(tmp_path))
    assert (code, report["live"]["denied"], report["live"]["missing"]) == (1, 1, []), talk
    assert report["live"]["unknownKinds"] == {}


# What a run uses is in the tests above, or they would fail; this is the rest.
REFUSED = (
    ("GET", "/api/v1/secrets"),
    ("GET", "/api/v1/configmaps"),
    ("GET", "/api/v1/namespaces/two/pods/p"),
    ("GET", "/api/v1/pods?watch=true"),
    ("DELETE", "/api/v1/namespaces/three/pods/p"),
    ("POST", "/api/v1/namespaces/three/pods"),
    ("PATCH", "/apis/apps/v1/namespaces/two/deployments/d"),
    ("GET", f"{REPORTS}/namespaces/two/policyreports/podberth"),
    ("DELETE", f"{REPORTS}/namespaces/two/policyreports"),
    ("GET", "/apis/wgpolicyk8s.io/v1alpha2/clusterpolicyreports"),
    ("PATCH", "/apis/podberth.io/v1alpha1/gpupolicies/few"),
)


@pytest.mark.parametrize(("method", "path"), REFUSED)
def test_what_it_does_not_need_is_refused(audited: Audited, method: str, path: str) -> None:
    body: dict[str, Any] | None = {} if method in ("POST", "PATCH") else None
    assert audited.api.ask(method, path, body).status == HTTPStatus.FORBIDDEN


def test_reports_of_openreports_are_written_where_there_are_no_others(tmp_path: Path) -> None:
    with ControlPlane.start(tmp_path / "plane") as plane:
        plane.add_namespace(NAMESPACE)
        let_in(plane)
        plane.add_namespace("one")
        plane.create(pod("p", "one", 5))
        audited = Audited(plane, tmp_path)
        audited.api.close()
        code, _, talk = audited.check("--report")
        assert code == 3
        assert (
            "--report: got a cluster without reports, want wgpolicyk8s.io/v1alpha2 or openreports.io/v1alpha1" in talk
        )
        install(plane, FOLDER / "openreports/openreports.io_reports.yaml")
        code, _, talk = audited.check("--report")
        assert code == 0, talk
        [report] = plane.api.read("/apis/openreports.io/v1alpha1/reports")["items"]
        assert report["summary"]["fail"] == 1
        _, _, talk = audited.check("--report")
        assert "0 written" in talk
        plane.check()

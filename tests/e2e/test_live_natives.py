"""Live workloads are judged by native policies as a real API server judges their creation, in a dry run."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest

from controlplane.client import of_files
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from natives import apply_configuration, binding, mutating, policy, rule
from podberth.wellknown import NAMESPACE

from .access import enter
from .podberth_process import ROOT

Document = dict[str, Any]
SECONDS: Final = 60.0
NAMESPACES: Final = {"one": {"team": "a"}, "two": {"team": "b"}}
COLLECTIONS: Final = {
    "Pod": "/api/v1/namespaces/{}/pods",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
}
_SET_BY_THE_CLUSTER: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_APPS: Final = {"resourceRules": [rule(apiGroups=["apps", "batch"], resources=["*"])]}
_PODS: Final = {"resourceRules": [rule(apiGroups=[""], resources=["pods"])]}
_TEAM: Final = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
_REPLICAS: Final = "object.kind != 'Deployment' || object.spec.replicas <= int(params.data.most)"
_BARE: Final = "!has(object.metadata.ownerReferences) && object.metadata.labels[?'app'].orValue('') != 'small'"
_FRESH: Final = "object.metadata.generation == 1 && !has(object.metadata.resourceVersion)"


def bound(name: str, *actions: str, **spec: Any) -> Document:
    return binding(*actions, name=name, policyName=name, **spec)


MOST: Final = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "most", "namespace": "one"}}
NATIVES: Final = (
    policy(_REPLICAS, name="most", matchConstraints=_APPS, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}),
    bound("most", paramRef={"name": "most", "namespace": "one", "parameterNotFoundAction": "Deny"}),
    policy(_BARE, name="bare", matchConstraints={**_PODS, **_TEAM}),
    bound("bare", "Warn"),
    policy("object.spec.suspend == false", name="awake", matchConstraints={**_APPS, **_TEAM}, failurePolicy="Ignore"),
    bound("awake"),
    policy(_FRESH, name="fresh", matchConstraints=_APPS),
    bound("fresh"),
    *mutating(
        "cost", apply_configuration("Object{metadata: Object.metadata{labels: {'cost': 'a'}}}"), matchConstraints=_APPS
    ),
)


def _template(app: str) -> Document:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def _workloads(namespace: str) -> list[Document]:
    def made(version: str, kind: str, name: str, **spec: Any) -> Document:
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}

    selected = {"selector": {"matchLabels": {"app": "a"}}, "template": _template("a")}
    small = made("v1", "Pod", "small", **_template("small")["spec"])
    small["metadata"]["labels"] = {"app": "small"}
    job = {"spec": {"template": {**_template("a"), "spec": {**_template("a")["spec"], "restartPolicy": "Never"}}}}
    labelled = made("apps/v1", "DaemonSet", "labelled", **selected)
    labelled["metadata"]["labels"] = {"cost": "a"}
    return [
        made("v1", "Pod", "bare", **_template("a")["spec"]),
        small,
        made("apps/v1", "Deployment", "few", replicas=1, **selected),
        made("apps/v1", "Deployment", "many", replicas=3, **selected),
        made("apps/v1", "StatefulSet", "set", replicas=0, serviceName="s", **selected),
        labelled,
        made("batch/v1", "CronJob", "asleep", schedule="0 0 1 1 *", suspend=True, jobTemplate=job),
        made("batch/v1", "CronJob", "awake", schedule="0 0 1 1 *", jobTemplate=job),
    ]


class Judged:
    """A cluster with workloads that were created before its native policies, and the audit's way into it."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        """Write the audit's kubeconfig, and a folder with one GPUPolicy that concerns no workload."""
        self.plane, self.directory = plane, directory
        self.kubeconfig = enter(plane, directory, account="podberth-audit")

    def check(self, *flags: str) -> tuple[int, Any, str]:
        """Run the check; return its exit code, report and talk."""
        command = [sys.executable, "-I", "-m", "podberth", "check", "-o", "json", *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout), done.stderr

    def check_cluster(self) -> tuple[int, Any, str]:
        """Check by the cluster's own policies, with the rights of the audit."""
        return self.check("--cluster", "--kubeconfig", str(self.kubeconfig), "--policies", "cluster")

    def stored(self) -> list[Document]:
        """Return the workloads as they are stored."""
        return [
            self.plane.api.read(f"{COLLECTIONS[each['kind']].format(namespace)}/{each['metadata']['name']}")
            for namespace in NAMESPACES
            for each in _workloads(namespace)
        ]

    def answer(self, stored: Document) -> tuple[str, tuple[str, ...], bool]:
        """Return (denial, warnings, whether the label was added) of another object's creation with this content."""
        made = deepcopy(stored)
        made.pop("status")
        for key in _SET_BY_THE_CLUSTER:
            made["metadata"].pop(key, None)
        made["metadata"]["name"] += "-again"
        path = COLLECTIONS[made["kind"]].format(made["metadata"]["namespace"])
        response = self.plane.api.ask("POST", f"{path}?dryRun=All", made)
        if response.status != 201:
            return str(response.document["message"]).partition(" is forbidden: ")[2], response.warnings, False
        before = made["metadata"].get("labels", {})
        return "", response.warnings, response.document["metadata"].get("labels", {}) != before

    def answers(self) -> Mapping[tuple[str, ...], tuple[str, tuple[str, ...], bool]]:
        """Return the API server's answers by kind, namespace and name."""
        return {
            (each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]): self.answer(each)
            for each in self.stored()
        }


def _ours(report: Any) -> Mapping[tuple[str, ...], tuple[str, tuple[str, ...], bool]]:
    """Return the decisions on the objects themselves, in the same form."""
    found: dict[tuple[str, ...], tuple[str, tuple[str, ...], bool]] = {}
    for each in report["results"]:
        if each["path"] == "" and each["namespace"] in NAMESPACES:
            denial = "".join(one["message"] for one in each["denials"])
            warnings = tuple(one["message"] for one in each["warnings"])
            changed = any(one["policy"] == "cost" for one in each["changes"])
            found[each["kind"], each["namespace"], each["name"]] = denial, warnings, changed
    return found


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        plane.add_namespace(NAMESPACE)
        plane.kubectl("apply", *of_files(ROOT / "manifests/components/audit/rbac.yaml"))
        for name, labels in NAMESPACES.items():
            plane.add_namespace(name, labels)
            plane.create(*_workloads(name))
        plane.create({**MOST, "data": {"most": "2"}})
        plane.create(*NATIVES)
        yield Judged(plane, tmp_path_factory.mktemp("judged"))
        plane.check()


def test_without_the_right_to_read_params_the_binding_is_named_and_judges_nothing(judged: Judged) -> None:
    _, report, talk = judged.check_cluster()
    assert "podberth: not judged by: v1 ConfigMap, params of ValidatingAdmissionPolicyBinding most: " in talk
    assert report["live"]["missing"] == []
    assert not [one for each in report["results"] for one in each["denials"] if one["policy"] == "most"]


def test_live_workloads_are_judged_as_the_api_server_judges_their_creation(judged: Judged) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "params"}
    account = {"kind": "ServiceAccount", "name": "podberth-audit", "namespace": NAMESPACE}
    version, metadata = "rbac.authorization.k8s.io/v1", {"name": "params", "namespace": "one"}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["most"], "verbs": ["list"]}]
    judged.plane.create(
        {"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules},
        {"apiVersion": version, "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [account]},
    )
    wait_for(
        lambda: judged.plane.api.read(f"{COLLECTIONS['Deployment'].format('one')}/few")["status"].get("replicas") == 1,
        timeout_seconds=SECONDS,
        what="a pod of a Deployment",
    )
    code, report, talk = judged.check_cluster()
    assert (code, report["live"]["missing"]) == (1, []), talk
    found = _ours(report)
    wait_for(
        lambda: judged.answers() == {each: found.get(each, ("", (), False)) for each in judged.answers()},
        timeout_seconds=SECONDS,
        what="answers like podberth's",
    )
    outcomes = set(found.values())
    assert any(denial for denial, _, _ in outcomes)
    assert any(warnings for _, warnings, _ in outcomes)
    assert any(changed for _, _, changed in outcomes)


def test_a_snapshot_with_the_policies_is_judged_alike(judged: Judged) -> None:
    _, of_cluster, _ = judged.check_cluster()
    kinds = "deployments,daemonsets,statefulsets,cronjobs,pods,configmaps,namespaces,validatingadmissionpolicies"
    kinds += ",validatingadmissionpolicybindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings"
    snapshot = judged.directory / "live.json"
    snapshot.write_text(judged.plane.kubectl("get", kinds, "-A", "-o", "json").stdout)
    code, report, talk = judged.check("--against", str(snapshot))
    assert code == 1, talk
    assert _ours(report) == _ours(of_cluster)

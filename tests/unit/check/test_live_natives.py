"""Live workloads and native policies: `check --against` judges by those of the folder and of the snapshot."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders import JSON
from natives import apply_configuration, binding, mutating, policy, rule
from podberth.cli.main import main
from snapshots import policy as gpu_policy

OURS = gpu_policy("ours", "\n  mutations:\n  - {labels: {ours: \"'a'\"}}")
DEPLOYMENTS = {"resourceRules": [rule(apiGroups=["apps"], resources=["deployments"])]}
PODS = {"resourceRules": [rule(apiGroups=[""], resources=["pods"])]}
LABEL = apply_configuration("Object{metadata: Object.metadata{labels: {'cost': 'a'}}}")


def deployment(name: str = "web", namespace: str = "shop", **metadata: Any) -> JSON:
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "uid": name, "generation": 7, **metadata},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": pod},
        "status": {"replicas": 3},
    }


def pod_of(owner: JSON, **labels: str) -> JSON:
    """Return a running pod that a Deployment has made."""
    template = owner["spec"]["template"]
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": uid, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-x",
            "namespace": owner["metadata"]["namespace"],
            "uid": f"{name}-x",
            "labels": {"app": name, **labels},
            "ownerReferences": [reference],
        },
        "spec": {**template["spec"], "nodeName": "n"},
        "status": {"phase": "Running"},
    }


class Place:
    """A folder with policies, and a snapshot."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        (folder / "policies").mkdir()
        self.policies(OURS)

    def policies(self, *documents: JSON | str) -> None:
        text = "\n---\n".join(each if isinstance(each, str) else json.dumps(each) for each in documents)
        (self.folder / "policies" / f"{len(list(self.folder.rglob('*.yaml')))}.yaml").write_text(text)

    def check(self, *items: JSON, arguments: tuple[str, ...] = ()) -> tuple[int, JSON, str]:
        """Check a snapshot of these objects; return (exit code, report, talk)."""
        (self.folder / "live.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        flags = ["--against", str(self.folder / "live.json"), "--policies", str(self.folder / "policies"), "-o", "json"]
        code = main(["check", *flags, *arguments])
        printed = self._capsys.readouterr()
        return code, json.loads(printed.out), printed.err


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    return Place(tmp_path, capsys)


def test_the_workload_and_its_pods_are_judged_each_by_what_matches(place: Place) -> None:
    denying = policy("object.spec.replicas < 3", matchConstraints=DEPLOYMENTS)
    warning = policy("has(object.spec.nodeName)", name="pods", matchConstraints=PODS)
    place.policies(denying, binding(), warning, binding("Warn", name="pods", policyName="pods"))
    owner = deployment()
    code, report, talk = place.check(owner, pod_of(owner))
    document, template = report["results"]
    assert (code, document["verdict"], document["path"]) == (1, "denied", "")
    assert document["denials"][0]["message"] == (
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.spec.replicas < 3"
    )
    assert (template["path"], len(template["warnings"])) == ("spec.template", 1)
    live = report["live"]
    assert (live["workloads"], live["denied"], live["warned"], live["spokenFor"]) == (1, 1, 1, 1)
    assert "2 ValidatingAdmissionPolicies: p, pods" in talk


def test_policies_params_and_namespaces_of_the_snapshot_count(place: Place) -> None:
    constraints = {**DEPLOYMENTS, "namespaceSelector": {"matchLabels": {"team": "a"}}}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    judging = policy("object.spec.replicas <= int(params.data.most)", paramKind=kind, matchConstraints=constraints)
    bound = binding(paramRef={"name": "most", "parameterNotFoundAction": "Deny"})
    params = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "most", "namespace": "shop"}}
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}}
    rest = judging, bound, shop, deployment(), deployment("other", "elsewhere")
    code, report, _ = place.check({**params, "data": {"most": "2"}}, *rest)
    assert (code, [each["name"] for each in report["results"] if each["denials"]]) == (1, ["web"])
    assert report["live"]["unknownKinds"] == {}
    assert place.check({**params, "data": {"most": "3"}}, *rest)[0] == 0


def test_an_object_is_judged_without_the_fields_that_the_cluster_has_set_since(place: Place) -> None:
    untouched = (
        "object.metadata.generation == 1 && !has(object.metadata.resourceVersion) && !has(object.status.replicas)"
    )
    place.policies(policy(untouched, matchConstraints=DEPLOYMENTS), binding())
    assert place.check(deployment(resourceVersion="7"))[0] == 0


def test_what_a_mutating_policy_wrote_on_every_live_pod_is_no_change(place: Place) -> None:
    place.policies(*mutating("p", LABEL, matchConstraints=PODS))
    owner = deployment()

    def changed(*pods: JSON) -> tuple[int, list[str]]:
        _, report, _ = place.check(owner, *pods)
        [result] = report["results"]
        return report["live"]["changed"], [each["policy"] for each in result["changes"]]

    without = pod_of(owner)
    without["metadata"]["uid"] = "another"
    assert changed() == (1, ["p"])
    assert changed(without) == (1, ["p"])
    assert changed(pod_of(owner, cost="a"), without) == (1, ["p"])
    assert changed(pod_of(owner, cost="a")) == (0, [])


def test_a_workload_of_which_podberth_sees_nothing_counts_only_where_a_native_policy_acts(place: Place) -> None:
    place.policies(policy("object.metadata.name != 'web'", matchConstraints=DEPLOYMENTS), binding())
    code, report, _ = place.check(deployment("web", "kube-system"), deployment("other", "kube-system"))
    live = report["live"]
    assert (code, live["denied"], live["workloads"], live["exempt"]) == (1, 1, 1, 1)
    assert {each["name"] for each in report["results"]} == {"web"}


def test_a_policy_that_podberth_cannot_compile_is_an_error_and_not_silence(place: Place) -> None:
    code, report, _ = place.check(policy("object.nothing.?berth"), binding(), deployment())
    assert (code, report["live"]["error"]) == (2, 0)
    [wrong] = [each for each in report["results"] if each["errors"]]
    assert (wrong["kind"], wrong["name"]) == ("ValidatingAdmissionPolicy", "p")


def test_a_broken_policy_of_the_folder_is_a_wrong_usage(place: Place) -> None:
    place.policies(policy("object."), binding())
    code, _, talk = place.check(deployment())
    assert code == 2
    assert "spec.validations[0].expression" in talk


def test_the_text_names_what_a_native_policy_does(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.policies(*mutating("p", LABEL, matchConstraints=PODS))
    place.check(deployment())
    flags = ["--against", str(place.folder / "live.json"), "--policies", str(place.folder / "policies")]
    assert main(["check", *flags]) == 0
    assert "changed by p: 1 workload" in capsys.readouterr().out

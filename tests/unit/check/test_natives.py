"""Native policies beside manifests: what is judged, where findings stand, and what is named as not judged."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import floors
from exceptions import exception
from natives import apply_configuration, binding, json_patch, mutating, policy, rule
from podberth.cli.main import main
from snapshots import policy as gpu_policy

Results = list[dict[str, Any]]

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      containers:
      - {name: web, image: nginx}
"""
_PODS = {"resourceRules": [rule(apiGroups=[""], resources=["pods"])]}
_NEVER = [{"name": "never", "expression": "false"}]
_SELECTS = "  podSelector: {matchLabels: {a: b}}\n"
_DEPLOYMENTS = {"resourceRules": [rule(apiGroups=["apps"], resources=["deployments"])]}


class Place:
    """A folder with policies and one with manifests."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capsys = folder, capsys
        for name in ("policies", "manifests"):
            (folder / name).mkdir()

    def put(self, name: str, *documents: Any) -> None:
        text = "---\n".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in documents)
        (self._folder / name).write_text(dedent(text), encoding="utf-8")

    def check(self, *arguments: str) -> tuple[int, Results, str]:
        """Return exit code, results and talk."""
        folders = ("--policies", str(self._folder / "policies"), str(self._folder / "manifests"))
        code = main(["check", "-o", "json", *folders, *arguments])
        printed = self._capsys.readouterr()
        return code, json.loads(printed.out)["results"], printed.err

    def printed(self) -> str:
        """Return what was written to stderr."""
        return self._capsys.readouterr().err


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    """Return the folders, without files."""
    return Place(tmp_path, capsys)


def _in_a_day() -> str:
    return (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def messages(result: dict[str, Any], key: str) -> list[str]:
    return [each["message"].rpartition(": ")[2] for each in result[key]]


def test_a_document_and_its_pods_are_judged_each_by_what_matches(place: Place) -> None:
    place.put("policies/p.yaml", policy("object.spec.replicas > 1", matchConstraints=_DEPLOYMENTS), binding())
    pods = {**binding("Warn", name="pods"), "spec": {"policyName": "pods", "validationActions": ["Warn"]}}
    place.put("policies/pods.yaml", policy("has(object.spec.nodeName)", name="pods", matchConstraints=_PODS), pods)
    place.put("manifests/web.yaml", DEPLOYMENT)
    code, [document, template], talk = place.check()
    assert (code, document["verdict"], document["path"], document["line"]) == (1, "denied", "", 2)
    assert messages(document, "denials") == ["failed expression: object.spec.replicas > 1"[19:]]
    assert (template["verdict"], template["path"]) == ("unchanged", "spec.template")
    assert messages(template, "warnings") == ["has(object.spec.nodeName)"]
    assert "2 ValidatingAdmissionPolicies: p, pods" in talk


def test_an_object_without_pods_is_judged_and_counts_as_skipped_only_where_nothing_matches(place: Place) -> None:
    place.put(
        "policies/p.yaml",
        policy("object.data.key == 'b'", matchConstraints={"resourceRules": [rule(resources=["configmaps"])]}),
        binding(),
    )
    place.put("manifests/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {key: b}\n")
    place.put("manifests/b.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\n")
    code, results, _ = place.check()
    assert (code, [each["verdict"] for each in results]) == (0, ["unchanged", "skipped"])


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_policies_params_and_namespaces_may_be_among_the_manifests(place: Place, jobs: str) -> None:
    kind = {"apiVersion": "v1", "kind": "LimitRange"}
    constraints = {**_DEPLOYMENTS, "namespaceSelector": {"matchLabels": {"team": "a"}}}
    place.put("policies/own.yaml", gpu_policy("own", "\n  mutations:\n  - labels: {a: \"'b'\"}"))
    place.put("manifests/p.yaml", policy("params.metadata.name == 'x'", paramKind=kind, matchConstraints=constraints))
    place.put("manifests/b.yaml", binding(paramRef={"name": "limits", "parameterNotFoundAction": "Allow"}))
    place.put("manifests/params.yaml", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: limits, namespace: shop}\n")
    labels = "metadata: {name: shop, labels: {team: a}}\n"
    place.put("manifests/shop.yaml", f"apiVersion: v1\nkind: Namespace\n{labels}")
    place.put("manifests/web.yaml", DEPLOYMENT)
    code, results, _ = place.check("--jobs", jobs)
    denied = [each for each in results if each["verdict"] == "denied"]
    assert (code, [each["name"] for each in denied]) == (1, ["web"])


def test_params_that_are_not_given_are_noted(place: Place) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    missing = binding(paramRef={"name": "limits", "parameterNotFoundAction": "Allow"})
    place.put("policies/p.yaml", policy("false", paramKind=kind, matchConstraints=_DEPLOYMENTS), missing)
    place.put("manifests/web.yaml", DEPLOYMENT)
    code, [document, _], _ = place.check()
    assert (code, document["verdict"]) == (0, "unchanged")
    assert "no ConfigMap limits is in the given files" in document["notes"][0]["message"]


def test_a_broken_policy_is_an_error_at_its_line_wherever_it_is(place: Place) -> None:
    broken = (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec: {}\n"
    )
    place.put("manifests/p.yaml", broken)
    place.put("policies/own.yaml", gpu_policy("own", "\n  mutations:\n  - labels: {a: \"'b'\"}"))
    code, [result], _ = place.check()
    assert (code, result["verdict"], result["errors"][0]["line"]) == (2, "error", 4)
    place.put("policies/p.yaml", broken)
    code, _, talk = place.check()
    assert code == 2
    assert "policies/p.yaml:4" in talk


def test_what_mutating_policies_write_is_in_the_changes_before_validation(place: Place) -> None:
    writes = "[JSONPatch{op: 'add', path: '/spec/containers/0/imagePullPolicy', value: 'Never'}]"
    place.put("policies/m.yaml", *mutating("m", json_patch(writes), matchConstraints=_PODS))
    labels = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"
    place.put("policies/d.yaml", *mutating("d", apply_configuration(labels), matchConstraints=_DEPLOYMENTS))
    wants = policy("object.spec.containers.all(c, c.imagePullPolicy == 'Never')", matchConstraints=_PODS)
    place.put("policies/v.yaml", wants, binding())
    place.put("manifests/a.yaml", DEPLOYMENT)
    code, [of_object, of_pods], _ = place.check()
    assert (code, of_object["verdict"], of_pods["verdict"]) == (0, "mutated", "mutated")
    assert [(each["policy"], each["path"]) for each in of_object["changes"]] == [("d", "/metadata/labels")]
    container = "/spec/template/spec/containers/0/imagePullPolicy"
    assert [(each["policy"], each["path"]) for each in of_pods["changes"]] == [("m", container)]


def test_what_is_not_known_of_a_kind_is_an_error_that_names_it(place: Place) -> None:
    place.put("policies/m.yaml", *mutating("m", apply_configuration("Object{spec: Object.spec{type: 'NodePort'}}")))
    place.put("manifests/a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {}\n")
    code, [result], _ = place.check()
    assert (code, result["verdict"]) == (2, "error")
    assert "applyConfiguration of v1 Service" in result["errors"][0]["message"]


def test_a_kind_of_no_definition_is_an_error_where_a_rule_may_match_it(place: Place) -> None:
    place.put("policies/p.yaml", policy("true", matchConstraints=_DEPLOYMENTS), binding())
    place.put("manifests/a.yaml", "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: a}\n")
    assert place.check()[0] == 0
    place.put("policies/p.yaml", policy("true"), binding())
    code, [result], _ = place.check()
    assert (code, result["verdict"]) == (2, "error")
    assert "CustomResourceDefinition" in result["errors"][0]["message"]


def test_a_pod_in_an_exempt_namespace_is_judged_all_the_same(place: Place) -> None:
    place.put("policies/p.yaml", policy("false", matchConstraints=_PODS), binding())
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "kube-system"}}
    place.put("manifests/a.yaml", {**pod, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    code, [result], _ = place.check()
    assert (code, result["verdict"]) == (1, "denied")
    [note] = result["notes"]
    assert note["message"] == "what is in kube-system never reaches podberth, so only native policies judge it"


def test_mutating_policies_write_in_exempt_namespaces_and_others_say_nothing_there(place: Place) -> None:
    labels = apply_configuration("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")
    place.put("manifests/a.yaml", DEPLOYMENT.replace("shop", "kube-system"))
    place.put("policies/d.yaml", *mutating("d", labels, matchConstraints=_DEPLOYMENTS, matchConditions=_NEVER))
    code, [result], _ = place.check()
    assert (code, result["verdict"], result["changes"], len(result["notes"])) == (0, "skipped", [], 1)
    place.put("policies/m.yaml", *mutating("m", labels, matchConstraints=_PODS))
    code, [result], _ = place.check()
    assert (code, result["verdict"], result["path"]) == (0, "mutated", "spec.template")
    assert [(each["policy"], each["path"]) for each in result["changes"]] == [("m", "/spec/template/metadata")]
    place.put(
        "manifests/a.yaml", DEPLOYMENT.replace("shop", "kube-system").replace("name: web, image", "name: 1, image")
    )
    code, [result], _ = place.check()
    assert (code, result["verdict"], result["changes"]) == (0, "skipped", [])


def test_an_exception_is_compared_with_the_pod_that_mutating_policies_made(place: Place) -> None:
    denies = "\n  scope: All\n  validationActions: [Deny]\n  validations:\n  - expression: 'false'"
    place.put("policies/own.yaml", gpu_policy("own", denies))
    place.put("policies/e.yaml", exception("e", "own", namespace="shop", more=_SELECTS, until=_in_a_day()))
    place.put("manifests/a.yaml", DEPLOYMENT)
    code, [result], _ = place.check()
    assert (code, result["verdict"]) == (1, "denied")
    labels = apply_configuration("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")
    place.put("policies/m.yaml", *mutating("m", labels, matchConstraints=_PODS))
    code, [result], _ = place.check()
    assert (code, result["verdict"]) == (0, "mutated")
    assert "exception e until" in result["notes"][0]["message"]


def test_podberths_writes_are_seen_by_native_policies(place: Place) -> None:
    place.put("policies/own.yaml", gpu_policy("own", "\n  scope: All\n  mutations:\n  - labels: {a: \"'b'\"}"))
    place.put("policies/p.yaml", policy("object.metadata.labels.a == 'b'", matchConstraints=_PODS), binding())
    place.put("manifests/web.yaml", DEPLOYMENT)
    code, results, _ = place.check()
    assert (code, [each["verdict"] for each in results]) == (0, ["mutated"])


def test_lint_judges_native_policies(place: Place, tmp_path: Path) -> None:
    place.put("policies/p.yaml", policy("authorizer.path('/x').check('get').allowed()"), binding())
    assert main(["lint", str(tmp_path / "policies")]) == 0
    place.put("policies/p.yaml", policy("object.nothing"), binding())
    assert main(["lint", str(tmp_path / "policies")]) == 1


@pytest.mark.parametrize("kind", [["Pod"], {"a": "b"}])
def test_a_kind_that_is_no_text_is_an_error_of_its_document(place: Place, kind: object) -> None:
    place.put("manifests/a.yaml", {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}})
    place.put("policies/own.yaml", gpu_policy("own", "\n  mutations:\n  - labels: {a: \"'b'\"}"))
    assert [each["verdict"] for each in place.check()[1]] == ["error"]
    place.put("policies/p.yaml", policy("true"), binding())
    code, [result], _ = place.check()
    assert (code, result["verdict"]) == (2, "error")


def test_a_given_namespace_has_the_label_of_its_name_for_every_policy(place: Place) -> None:
    label = {"kubernetes.io/metadata.name": "shop"}
    selected = {**_DEPLOYMENTS, "namespaceSelector": {"matchLabels": label}}
    kind = {"apiVersion": "v1", "kind": "Namespace"}
    reference = {"selector": {"matchLabels": label}, "parameterNotFoundAction": "Deny"}
    made = policy("params.metadata.name == 'other'", paramKind=kind, matchConstraints=selected)
    place.put("policies/p.yaml", made, binding(paramRef=reference))
    own = "\n  scope: All\n  matchConstraints:\n    resourceRules:\n    - {apiGroups: [''], apiVersions: [v1], "
    own += "operations: [CREATE], resources: [pods]}\n    namespaceSelector: {matchLabels: "
    own += "{kubernetes.io/metadata.name: shop}}\n  mutations:\n  - labels: {a: \"'b'\"}"
    place.put("policies/own.yaml", gpu_policy("own", own))
    place.put("manifests/shop.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n")
    place.put("manifests/web.yaml", DEPLOYMENT)
    _, [_, document, template], _ = place.check()
    assert messages(document, "denials") == ["params.metadata.name == 'other'"]
    assert template["verdict"] == "mutated"


def test_two_of_one_name_are_said_at_each_and_with_the_folders_place(place: Place) -> None:
    place.put("policies/p.yaml", policy("true"), binding())
    place.put("manifests/same.yaml", policy("true"), binding())
    _, results, talk = place.check()
    assert not [each for each in results if each["warnings"]]
    assert "given twice" not in talk
    place.put("manifests/other.yaml", policy("false"))
    _, results, talk = place.check()
    found = [each["warnings"][0]["message"] for each in results if each["warnings"]]
    assert [each.partition(" is given ")[2].partition(",")[0].rpartition("/")[2] for each in found] == [
        "p.yaml:1",
        "in a checked file",
    ]
    assert "policies/p.yaml:1 and in a checked file, and differs: the last counts" in talk


def test_another_version_of_a_matched_group_is_named_as_not_judged(place: Place) -> None:
    place.put("policies/p.yaml", policy("true", matchConstraints=_DEPLOYMENTS), binding())
    place.put("manifests/a.yaml", DEPLOYMENT.replace("apps/v1", "apps/v1beta1"))
    code, results, _ = place.check()
    said = [error["message"] for each in results for error in each["errors"]]
    assert code == 2
    assert said == ["not judged by native policies: Kubernetes 1.36 does not serve apps/v1beta1 Deployment by default"]


_ROLE = """
apiVersion: v1
kind: List
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: deployers, namespace: shop}
  rules: [{verbs: [deploy], apiGroups: [apps], resources: [deployments], resourceNames: [web]}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: deployers, namespace: shop}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployers}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: builders}]
"""
_DEPLOYS = "authorizer.requestResource.check('deploy').allowed()"


def test_authorizer_is_asked_about_the_user_and_the_rights_that_are_given(place: Place, tmp_path: Path) -> None:
    place.put("policies/p.yaml", policy(_DEPLOYS, matchConstraints=_DEPLOYMENTS), binding())
    place.put("manifests/d.yaml", DEPLOYMENT)
    rights = tmp_path / "rights.yaml"
    rights.write_text(_ROLE, encoding="utf-8")
    code, results, said = place.check()
    assert (code, results[0]["verdict"]) == (2, "error")
    assert "give --authorizer FILE" in results[0]["errors"][0]["message"]
    assert "ValidatingAdmissionPolicy p reads authorizer: judged for the user podberth:check" in said
    code, results, _ = place.check("--authorizer", str(rights))
    assert (code, results[0]["verdict"]) == (1, "denied")
    code, results, said = place.check("--authorizer", str(rights), "--user", "eve", "--group", "builders")
    assert (code, results[0]["verdict"]) == (0, "unchanged")
    assert "judged for the user eve" in said


def test_the_user_is_that_of_gpu_policies_too(place: Place) -> None:
    validations = "  validationActions: [Deny]\n  validations: [{expression: request.userInfo.username == 'eve'}]"
    place.put("policies/p.yaml", gpu_policy("p", validations))
    asks = "image: nginx, resources: {limits: {nvidia.com/gpu: 1}}"
    place.put("manifests/d.yaml", DEPLOYMENT.replace("image: nginx", asks))
    assert place.check()[0] == 1
    assert place.check("--user", "eve")[0] == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--group", "a"], "--group: got a without --user, want both"),
        (["--authorizer", "none.yaml"], "none.yaml"),
        (["--authorizer", "manifests"], "got no binding of a role"),
    ],
)
def test_flags_that_name_no_user_or_rights_are_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flags: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    place.put("policies/p.yaml", policy("true"), binding())
    place.put("manifests/d.yaml", DEPLOYMENT)
    assert main(["check", "manifests", *flags]) == 2
    assert said in place.printed()


_TOLERATES = gpu_policy(
    "tolerates",
    "  matchConditions: [{name: gpus, expression: gpu.count > 0}]\n"
    "  mutations: [{tolerations: \"[{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]\"}]\n",
)
_TRAIN = DEPLOYMENT.replace("image: nginx", "image: nginx, resources: {limits: {nvidia.com/gpu: 1}}")
_TAINTED = {"nodes": "known", "nvidia.com_gpu": "whole nvidia.com/gpu:NoSchedule sku=gpu:NoSchedule"}


def test_where_the_floor_is_among_the_files_podberth_decides_in_its_place(place: Place) -> None:
    place.put("policies/own.yaml", _TOLERATES)
    place.put("manifests/web.yaml", _TRAIN)
    _, bare, _ = place.check()
    place.put("policies/floor.yaml", *floors.policies(), floors.params(_TAINTED))
    code, having, _ = place.check()
    assert code == 0
    assert [each["changes"] for each in having] == [each["changes"] for each in bare]
    assert [each["verdict"] for each in having] == [each["verdict"] for each in bare]


def test_beside_another_native_policy_the_floors_writes_are_undone_by_name(place: Place) -> None:
    labels = apply_configuration("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")
    place.put("policies/own.yaml", _TOLERATES, *mutating("z", labels, matchConstraints=_PODS))
    place.put("policies/floor.yaml", *floors.policies(), floors.params(_TAINTED))
    place.put("manifests/web.yaml", _TRAIN)
    code, (pod,), _ = place.check()
    assert code == 0
    assert "podberth decides in place of the floor" in {each["reason"] for each in pod["changes"]}
    [*_, written] = [each["value"] for each in pod["changes"] if each["path"].endswith("/tolerations")]
    assert written == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]

"""``podberth explain`` with native policies in the policies' folder."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import floors
from natives import apply_configuration, binding, mutating, policy, rule
from podberth.cli.main import main
from podberth.kube.patch import apply
from podberth.workload.templates import templates
from snapshots import policy as gpu_policy

_WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 5
  template: {spec: {containers: [{name: c, image: i}]}}
"""
_LABEL = apply_configuration("Object{metadata: Object.metadata{labels: {'team': variables.team}}}")
_OWN = gpu_policy("own", "  scope: All\n  mutations:\n  - labels: {own: \"object.metadata.labels['team']\"}")


class Place:
    """A folder with policies, and a file with the objects."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capsys = folder, capsys
        (folder / "policies").mkdir()
        self.put("web.yaml", _WEB)

    def put(self, name: str, *documents: Any) -> str:
        text = "---\n".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in documents)
        (self._folder / name).write_text(text, encoding="utf-8")
        return str(self._folder / name)

    def explain(self, *arguments: str, code: int = 0, file: str = "web.yaml") -> list[dict[str, Any]]:
        """Return the results."""
        given = (str(self._folder / file), "--policies", str(self._folder / "policies"), "-o", "json")
        assert main(["explain", *given, *arguments]) == code
        found: list[dict[str, Any]] = json.loads(self._capsys.readouterr().out)["results"]
        return found

    def text(self) -> list[str]:
        """Return the lines of the text."""
        main(["explain", str(self._folder / "web.yaml"), "--policies", str(self._folder / "policies")])
        return self._capsys.readouterr().out.splitlines()


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    """Return the folder, with a Deployment."""
    return Place(tmp_path, capsys)


def _pods(**changes: Any) -> dict[str, Any]:
    return {"matchConstraints": {"resourceRules": [rule(apiGroups=[""], resources=["pods"], **changes)]}}


def test_native_policies_stand_before_and_behind_podberths_with_what_they_read_and_wrote(place: Place) -> None:
    sees = policy("object.metadata.labels['own'] == 'a'", **_pods())
    made = mutating("m", _LABEL, variables=[{"name": "team", "expression": "'a'"}], **_pods())
    place.put("policies/p.yaml", sees, binding(), *made, _OWN)
    [pod] = place.explain()
    assert (pod["path"], pod["verdict"]) == ("spec.template", "mutated")
    assert [each["path"] for each in pod["patch"] if "labels" in each["path"]]
    assert [(each["kind"], each["name"]) for each in pod["policies"]] == [
        ("MutatingAdmissionPolicy", "m"),
        ("GPUPolicy", "own"),
        ("ValidatingAdmissionPolicy", "p"),
    ]
    [mutated], _, [validated] = (each["reviews"] for each in pod["policies"])
    assert mutated["expressions"][0]["value"] == {"metadata": {"labels": {"team": "a"}}}
    assert [each["path"] for each in mutated["variables"]] == ["variables.team"]
    assert mutated["changes"][0]["mutation"] == "m"
    assert (validated["matched"], validated["expressions"][0]["value"]) == (True, True)


def test_an_object_is_explained_where_a_native_policy_decides_on_it(place: Place) -> None:
    deployments = {"resourceRules": [rule(apiGroups=["apps"], resources=["deployments"])]}
    limit = policy("object.spec.replicas < 3", matchConstraints=deployments)
    place.put("policies/p.yaml", limit, binding())
    web, pod = place.explain(code=1)
    assert (web["kind"], web["path"], web["verdict"]) == ("Deployment", "", "denied")
    assert "denied request: failed expression" in web["denial"]
    assert pod["verdict"] == "unchanged"
    said = "matchConstraints.resourceRules: API group; got '', want apps"
    assert pod["policies"][0]["reviews"][0]["why"] == said
    lines = place.text()
    assert "ValidatingAdmissionPolicy p  applies" in lines
    assert "nodes before: not known; give --topology" not in lines[: lines.index("")]


def test_a_binding_that_does_not_match_says_why(place: Place) -> None:
    place.put(
        "policies/p.yaml",
        policy("true", **_pods()),
        binding(matchResources={"namespaceSelector": {"matchLabels": {"tier": "gold"}}}),
    )
    [pod] = place.explain()
    said = "matchResources of b: namespaceSelector: label tier of namespace default; got none, want gold"
    assert pod["policies"][0]["reviews"][0]["why"] == said


def test_the_condition_of_a_native_policy_that_is_false_is_named(place: Place) -> None:
    conditions = [{"name": "any", "expression": "true"}, {"name": "named", "expression": "has(object.spec.hostname)"}]
    place.put("policies/p.yaml", policy("true", matchConditions=conditions, **_pods()), binding())
    [pod] = place.explain()
    assert pod["policies"][0]["reviews"][0]["why"] == "matchConditions named: false"


def test_a_denial_by_a_mutation_ends_the_explanation(place: Place) -> None:
    wrong = apply_configuration("Object{spec: Object.spec{unknown: 1}}")
    place.put("policies/p.yaml", policy("true", **_pods()), binding(), *mutating("m", wrong, **_pods()))
    [pod] = place.explain(code=1)
    [mutated], [validated] = (each["reviews"] for each in pod["policies"])
    assert [each["action"] for each in mutated["decisions"]] == ["deny"]
    assert validated["why"] == "not asked: the object was denied before"


def test_what_cannot_be_judged_is_reported_and_ends_with_exit_code_2(place: Place) -> None:
    asks = policy("authorizer.requestResource.check('over').allowed()", **_pods())
    place.put("policies/p.yaml", asks, binding())
    [pod] = place.explain(code=2)
    assert "give --authorizer FILE" in pod["unjudged"][0]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    rules = [{"verbs": ["over"], "apiGroups": [""], "resources": ["pods"]}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    bound = {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [{"kind": "User", "name": "eve"}]}
    rights = place.put("rights.yaml", {**role, "rules": rules}, bound)
    [pod] = place.explain("--authorizer", rights, code=1)
    [pod] = place.explain("--authorizer", rights, "--user", "eve")
    [part] = pod["policies"][0]["reviews"][0]["expressions"][0]["parts"]
    assert part["parts"][0]["value"]["allowed"] is True


def test_one_policy_can_be_chosen_and_one_that_is_refused_is_an_error(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = gpu_policy("own", "  scope: All\n  mutations:\n  - labels: {own: \"'a'\"}")
    place.put("policies/p.yaml", policy("true", **_pods()), binding(), plain)
    [pod] = place.explain("--policy", "p")
    assert [each["name"] for each in pod["policies"]] == ["p"]
    broken = place.put("policies/p.yaml", policy("object.spec >"), binding())
    assert main(["explain", place.put("web.yaml", _WEB), "--policies", str(Path(broken).parent)]) == 2
    assert "spec.validations[0].expression" in capsys.readouterr().err


def test_the_floor_is_shown_and_podberth_decides_in_its_place(place: Place) -> None:
    writes = "[{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]"
    place.put(
        "policies/all.yaml",
        gpu_policy("own", f'  mutations:\n  - tolerations: "{writes}"'),
        *floors.policies(),
        floors.params({"nodes": "known", "nvidia.com_gpu": "whole sku=gpu:NoSchedule"}),
    )
    web = _WEB.replace("image: i", "image: i, resources: {limits: {nvidia.com/gpu: 1}}")
    place.put("web.yaml", web.replace("name: web", "name: web, namespace: shop"))
    found = place.explain()[-1]
    asked = {each["name"]: each["reviews"][0]["matched"] for each in found["policies"]}
    assert asked["podberth-floor"]
    assert not asked["podberth-floor-names"]
    made = apply(templates(yaml.safe_load(web), namespace="shop")[0].pod, found["patch"])
    assert [each["key"] for each in made["spec"]["tolerations"]][2:] == ["nvidia.com/gpu"]
    assert "podberth.io/floor" not in json.dumps(made)

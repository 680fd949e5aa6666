"""Native policies beside a suite: in the API server's order, with params, rights and objects of any kind."""

import json
from typing import Any

import pytest

from natives import apply_configuration, binding, json_patch, mutating, policy, rule
from podberth.native.documents import others_of
from podberth.policy.parse import ParsedPolicies, parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.coverage import Observer, percent
from podberth.suite.natives import SuiteNatives
from podberth.suite.runner import CaseResult, SuiteSettings, run_suite
from snapshots import environment
from snapshots import policy as gpu_policy

_POD = "pod: {metadata: {name: p}, spec: {containers: [{name: main, image: i}]}}"
_PODS = {"resourceRules": [rule(apiGroups=[""], resources=["pods"])]}
_LABEL = apply_configuration("Object{metadata: Object.metadata{labels: {'team': 'a'}}}")
_SMALL = "{metadata: {name: p}, spec: {containers: [{name: c}]}}"
_RIGHTS = """
objects:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: over}
  rules: [{verbs: [over], apiGroups: [""], resources: [pods]}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: over}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: over}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: admins}]
"""


class Ran:
    """The results of a suite, and what its observer has."""

    def __init__(self, cases: str, *documents: Any, head: str = "") -> None:
        texts = [
            (f"{at}.yaml", each if isinstance(each, str) else json.dumps(each)) for at, each in enumerate(documents)
        ]
        self.policies: ParsedPolicies = parse_policies(texts, others_of(texts))
        assert not self.policies.problems
        suite, problems = parse_suite(f"{head}\ncases:\n{cases}", "tests.yaml")
        assert suite is not None, problems
        self.observer = Observer(keep_answers=True)
        self.natives = SuiteNatives(suite, self.policies, environment(), self.observer)
        assert not self.natives.judge.problems
        settings = SuiteSettings(natives=self.natives)
        result = run_suite(suite, self.policies, environment(), settings, self.observer)
        self.cases = result.cases

    @property
    def only(self) -> CaseResult:
        [case] = self.cases
        return case


def said(case: CaseResult) -> list[str]:
    return [each.message for each in case.violations]


def test_a_native_mutation_comes_before_podberths_own_and_validation_after_both() -> None:
    own = gpu_policy("own", "  scope: All\n  mutations:\n  - labels: {own: \"object.metadata.labels['team']\"}")
    sees = policy("object.metadata.labels['own'] == 'a'", matchConstraints=_PODS)
    expect = "expect: {verdict: mutated, patched: {metadata: {labels: {team: a, own: a}}}}"
    ran = Ran(f"- {{name: c, {_POD}, {expect}}}", sees, binding(), *mutating("m", _LABEL), own)
    assert not said(ran.only)
    assert not list(ran.natives.unmatched())
    assert percent(ran.natives.coverage()) < 100  # the validation was never false
    assert [each.times for each in ran.natives.coverage()] == [1, 1]


@pytest.mark.parametrize(
    ("documents", "expect"),
    [
        (
            (policy("false", matchConstraints=_PODS), binding()),
            "{verdict: denied, denials: [\"'p' with binding 'b'\"]}",
        ),
        ((policy("false", matchConstraints=_PODS), binding("Warn")), "{verdict: unchanged, warnings: ['failed expr']}"),
        (
            mutating("m", json_patch("[JSONPatch{op: 'test', path: '/kind', value: 'Job'}]")),
            "{verdict: unchanged, denials: []}",
        ),
        (mutating("m", json_patch("[JSONPatch{op: 'remove', path: '/x/y'}]")), "{verdict: denied, denials: ['m']}"),
    ],
)
def test_what_a_policy_decides_is_the_verdict_of_the_case(documents: tuple[Any, ...], expect: str) -> None:
    assert not said(Ran(f"- {{name: c, {_POD}, expect: {expect}}}", *documents).only)


def test_an_object_of_any_kind_is_judged_by_native_policies() -> None:
    web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 5}}"
    limit = policy(
        "object.spec.replicas <= int(params.data.most)",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConstraints={"resourceRules": [rule(apiGroups=["apps"], resources=["deployments"])]},
    )
    params = {"name": "most", "namespace": "shop", "parameterNotFoundAction": "Deny"}
    held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "most", "namespace": "shop"}}
    documents = (limit, binding(paramRef=params), {**held, "data": {"most": "3"}})
    cases = f"- {{name: a, object: {web}, expect: {{verdict: denied}}}}\n"
    cases += f"- {{name: b, object: {web}, params: {{most: {{most: '5'}}}}, expect: {{verdict: unchanged}}}}\n"
    cases += f"- {{name: c, object: {web}, namespace: {{name: other}}, expect: {{verdict: denied}}}}\n"
    assert [said(each) for each in Ran(cases, *documents).cases] == [[], [], []]


def test_rights_among_the_objects_answer_authorizer() -> None:
    asks = policy("authorizer.requestResource.check('over').allowed()", matchConstraints=_PODS)
    cases = f"- {{name: a, {_POD}, user: {{username: eve, groups: [admins]}}, expect: {{verdict: unchanged}}}}\n"
    cases += f"- {{name: b, {_POD}, user: bob, expect: {{verdict: denied}}}}\n"
    assert [said(each) for each in Ran(cases, asks, binding(), head=_RIGHTS).cases] == [[], []]
    [unjudged] = said(Ran(f"- {{name: c, {_POD}, expect: {{verdict: denied}}}}", asks, binding()).only)
    assert "in a suite these among its objects" in unjudged


@pytest.mark.parametrize(
    ("case", "documents", "message"),
    [
        (f"{_POD}", (policy("lists.range(20000).size() > 0"), binding()), "is not judged"),
        (
            f"review: {{operation: UPDATE, object: &p {_SMALL}, oldObject: *p}}",
            (policy("true", matchConstraints={"resourceRules": [rule(operations=["*"])]}), binding()),
            "got UPDATE of pods, which ValidatingAdmissionPolicy p may match; podberth judges creations alone",
        ),
        ("object: {apiVersion: v1, kind: Pod}", (policy("true"), binding()), "got a Pod; write it as pod"),
        ("object: {apiVersion: a.b/v1, kind: Thing}", (policy("true"), binding()), "give its CustomResourceDefinition"),
    ],
)
def test_what_cannot_be_judged_is_a_finding(case: str, documents: tuple[Any, ...], message: str) -> None:
    [found] = said(Ran(f"- {{name: c, {case}, expect: {{verdict: admitted}}}}", *documents).only)
    assert message in found


def test_an_update_that_no_native_policy_matches_is_judged_by_podberth_alone() -> None:
    update = f"review: {{operation: UPDATE, object: {_SMALL}, oldObject: {_SMALL}}}"
    assert not said(Ran(f"- {{name: c, {update}, expect: {{verdict: unchanged}}}}", policy("false"), binding()).only)


def test_a_policy_without_a_case_or_a_binding_is_a_finding() -> None:
    idle = policy("true", name="idle", matchConstraints={"resourceRules": [rule(resources=["secrets"])]})
    documents = (idle, binding(policyName="idle"), policy("true", name="alone"))
    ran = Ran(f"- {{name: c, {_POD}, expect: {{verdict: unchanged}}}}", *documents)
    assert {each.message for each in ran.natives.unmatched()} == {
        "idle applies to no case of the tests beside it; add one",
        "alone has no binding beside it, so it judges nothing; add one",
    }


def test_one_of_pod_object_and_review_is_wanted() -> None:
    for fields in ("", f"{_POD}, object: {{kind: A}}, "):
        suite, [problem] = parse_suite(f"cases:\n- {{name: c, {fields}expect: {{verdict: denied}}}}", "tests.yaml")
        assert suite is None
        assert problem.message == "want exactly one of pod, object and review"

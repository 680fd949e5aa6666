"""Lint says what an API server would refuse of native policies, and what of them has another effect than meant."""

import json
from typing import Any

import pytest

from natives import Document, apply_configuration, binding, json_patch, mutating, policy, rule
from podberth.cel.engine import Environment
from podberth.kube.schema import PodSchema
from podberth.lint.runner import LintReport, lint

KIND = {"apiVersion": "example.com/v1", "kind": "Limit"}
LIMIT = {**KIND, "metadata": {"name": "most"}, "spec": {}}


NAMED = "object.metadata.name != 'a'"
PODS = {"resourceRules": [rule(apiGroups=[""], resources=["pods"])]}


def linted(*documents: Document) -> LintReport:
    texts = [(f"policies/{index}.json", json.dumps(each)) for index, each in enumerate(documents)]
    return lint(texts, Environment(PodSchema.packaged()))


def said(*documents: Document) -> list[str]:
    return [f"{each.rule} {each.problem.where}: {each.problem.message}" for each in linted(*documents).findings]


def test_native_policies_that_an_api_server_takes_have_no_findings() -> None:
    with_params = policy("params.spec.most == 1", paramKind=KIND)
    patches = json_patch("[JSONPatch{op: 'remove', path: '/metadata/labels/a'}]")
    assert said(with_params, binding(paramRef={"name": "most", "parameterNotFoundAction": "Deny"}), LIMIT) == []
    assert said(*mutating("p", patches)) == []


def test_what_an_api_server_refuses_is_invalid() -> None:
    assert said(policy("object.metadata.name"), binding()) == [
        "invalid spec.validations[0].expression: got dyn, want bool"
    ]
    [found] = said(*mutating("p", json_patch("[JSONPatch{op: 1}]")))
    assert found.startswith("invalid spec.mutations[0].jsonPatch.expression: ")
    [found] = said(policy(NAMED), binding("Deny", "Warn"))
    assert found.startswith("invalid spec.validationActions")


@pytest.mark.parametrize("wrong", [{"oder": 1}, {"failurePolicy": "fail"}, {"matchConstraints": {}}])
def test_an_expression_is_compiled_whatever_else_is_wrong(wrong: dict[str, Any]) -> None:
    found = said(policy(NAMED, matchConditions=condition("zzz == 1"), **wrong), binding())
    assert "invalid spec.matchConditions[0].expression: undeclared reference to 'zzz'" in found
    assert len(found) == 2


def test_a_misspelt_field_of_a_mutation_makes_no_problem_of_an_absent_expression() -> None:
    misspelt = {"patchType": "JSONPatch", "jsonPach": {"expression": "[]"}}
    wrong = said(*mutating("p", misspelt, json_patch("[JSONPatch{op: 1}]")))
    assert [each.partition(":")[0] for each in wrong] == [
        "invalid spec.mutations[0].jsonPach",
        "invalid spec.mutations[1].jsonPatch.expression",
    ]


def test_an_object_that_is_no_params_of_a_policy_is_a_problem_as_before() -> None:
    [found] = said(policy(NAMED), binding(), LIMIT)
    assert "want podberth.io/v1alpha1 GPUPolicy" in found


def rules(*expressions: str, **spec: Any) -> list[str]:
    """Return the rule and the field of the findings about a bound ValidatingAdmissionPolicy, each pair once."""
    return list(dict.fromkeys(each.partition(":")[0] for each in said(policy(*expressions, **spec), binding())))


def condition(expression: str) -> list[Document]:
    return [{"name": "a", "expression": expression}]


CASES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "unreachable spec.matchConditions[0].expression": ((NAMED,), {"matchConditions": condition("1 > 2")}),
    "always-true spec.matchConditions[0].expression": ((NAMED,), {"matchConditions": condition("1 < 2")}),
    "constant-validation spec.validations[0].expression": (("object.kind == 'a' || 1 < 2",), {}),
    "constant-choice spec.validations[0].expression": (("1 < 2 ? object.a == 1 : object.a == 2",), {}),
    "refused-argument spec.validations[0].expression": (("quantity('8GB').isLessThan(quantity(object.a))",), {}),
    "never-equal spec.validations[0].expression": (
        ("object.spec.restartPolicy != 'never'",),
        {"matchConstraints": PODS},
    ),
    "compares-text spec.validations[0].expression": (
        ("object.spec.containers.all(c, c.?resources.?limits[?'memory'].orValue('0') <= '64Gi')",),
        {"matchConstraints": PODS},
    ),
    "unguarded-field spec.validations[0].expression": (
        ("object.metadata.labels['team'] != ''",),
        {"matchConstraints": PODS},
    ),
    "unused-variable spec.variables[0].name": ((NAMED,), {"variables": [{"name": "a", "expression": "1"}]}),
}


@pytest.mark.parametrize("finding", CASES)
def test_a_rule_reads_native_policies_too(finding: str) -> None:
    expressions, spec = CASES[finding]
    assert rules(*expressions, **spec) == [finding]


@pytest.mark.parametrize("finding", [each for each in CASES if "matchConstraints" in CASES[each][1]])
def test_a_rule_about_fields_of_pods_leaves_other_objects_alone(finding: str) -> None:
    expressions, _ = CASES[finding]
    assert rules(*expressions) == []


def test_what_a_mutation_reads_is_used_and_its_fields_are_guarded_as_others() -> None:
    reads = apply_configuration("Object{metadata: Object.metadata{labels: {'a': variables.a + object.metadata.name}}}")
    found = said(*mutating("p", reads, matchConstraints=PODS, variables=[{"name": "a", "expression": "'b'"}]))
    [name] = found  # a pod of a controller has a generateName
    assert name.startswith("unguarded-field spec.mutations[0].applyConfiguration.expression: a pod may have no")


def test_a_policy_without_a_binding_and_a_binding_without_a_policy_have_no_effect() -> None:
    assert said(policy(NAMED)) == [
        "unbound metadata.name: no ValidatingAdmissionPolicyBinding names it, so it is never evaluated; add one"
    ]
    found = said(policy(NAMED, name="pods"), binding(policyName="pods"), binding(name="other", policyName="pod"))
    lead = "unbound spec.policyName: no ValidatingAdmissionPolicy pod is beside it, so it has no effect"
    assert found == [f"{lead}; did you mean pods?"]
    [found_mutating] = said(mutating("p", json_patch("[JSONPatch{op: 'remove', path: '/a'}]"))[0], binding())[:1]
    assert "no MutatingAdmissionPolicyBinding names it" in found_mutating


def test_params_take_a_kind_and_a_reference() -> None:
    reference = {"name": "most", "parameterNotFoundAction": "Deny"}
    [found] = said(policy("params.spec.most == 1", paramKind=KIND), binding())
    assert found.startswith("unbound spec: ValidatingAdmissionPolicy p has a paramKind, and params is null")
    [found] = said(policy(NAMED), binding(paramRef=reference))
    assert found.startswith("unbound spec.paramRef: ValidatingAdmissionPolicy p has no paramKind, so this is ignored")


def test_of_two_documents_of_one_name_the_second_is_named() -> None:
    [found] = linted(policy(NAMED), binding(), policy("object.metadata.name != 'b'")).findings
    assert (found.rule, found.problem.file) == ("unbound", "policies/2.json")
    assert "another ValidatingAdmissionPolicy p is in policies/0.json:1" in found.problem.message

"""Native policies are read as strictly as the API server reads them. Each row was refused by a real one."""

from typing import Any

import pytest

from natives import binding, policy, read_all, rule
from podberth.native.model import ValidatingBindingSpec, ValidatingSpec


def problems(*documents: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.where, each.message) for each in read_all(*documents).problems]


def constraints(**fields: Any) -> dict[str, Any]:
    return {"matchConstraints": {"resourceRules": [rule()], **fields}}


@pytest.mark.parametrize(
    ("document", "where"),
    [
        (policy("true", matchConstraint={}), "spec.matchConstraint"),
        (policy(), "spec.validations"),
        (policy("true", matchConstraints={}), "spec.matchConstraints.resourceRules"),
        (policy("true", **constraints(resourceRules=[rule(operations=["CREATE", "*"])])), "operations"),
        (policy("true", **constraints(resourceRules=[rule(operations=["READ"])])), "operations[0]"),
        (policy("true", **constraints(resourceRules=[rule(resources=["*", "pods"])])), "resources"),
        (policy("true", **constraints(resourceRules=[rule(resources=["pods/*", "pods/log"])])), "resources[1]"),
        (policy("true", **constraints(resourceRules=[rule(resources=["*/*", "pods"])])), "resources"),
        (policy("true", **constraints(resourceRules=[rule(resourceNames=["a/b"])])), "resourceNames[0]"),
        (policy("true", **constraints(resourceRules=[rule(scope="Namespace")])), "scope"),
        (policy("true", **constraints(matchPolicy="Same")), "spec.matchConstraints.matchPolicy"),
        (policy("true", **constraints(objectSelector={"matchLabels": {"a": "b c"}})), "objectSelector.matchLabels.a"),
        (policy("true", failurePolicy="Deny"), "spec.failurePolicy"),
        (policy("true", variables=[{"name": "for", "expression": "1"}]), "spec.variables[0].name"),
        (policy("true", variables=[{"name": "a-b", "expression": "1"}]), "spec.variables[0].name"),
        (policy("true", matchConditions=[{"name": "a b", "expression": "true"}]), "spec.matchConditions[0].name"),
        (policy("true", matchConditions=[{"name": "a", "expression": "true"}] * 2), "spec.matchConditions[1].name"),
        (policy("true", auditAnnotations=[{"key": "a/b", "valueExpression": "'x'"}]), "spec.auditAnnotations[0].key"),
        (policy("true", paramKind={"apiVersion": "v1", "kind": "Config Map"}), "spec.paramKind.kind"),
        (policy("true", paramKind={"apiVersion": "a/b/c", "kind": "A"}), "spec.paramKind.apiVersion"),
        (policy(validations=[{"expression": "true", "reason": "Unauthorized"}]), "spec.validations[0].reason"),
        (policy(validations=[{"expression": "true", "message": " "}]), "spec.validations[0].message"),
        (policy(validations=[{"expression": "true", "message": "a\nb"}]), "spec.validations[0].message"),
        (policy(validations=[{"expression": " "}]), "spec.validations[0].expression"),
        (binding("Deny", "Warn"), "spec.validationActions"),
        (binding("Deny", "Deny"), "spec.validationActions"),
        (binding(validationActions=[]), "spec.validationActions"),
        (binding(paramRef={"name": "a"}), "spec.paramRef.parameterNotFoundAction"),
        (binding(paramRef={"parameterNotFoundAction": "Deny"}), "spec.paramRef"),
        (binding(paramRef={"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}), "spec.paramRef"),
        (binding(paramRef={"name": "a/b", "parameterNotFoundAction": "Deny"}), "spec.paramRef.name"),
        ({**policy("true"), "apiVersion": "admissionregistration.k8s.io/v1beta1"}, "apiVersion"),
        ({**policy("true"), "kind": "MutatingAdmissionPolicy"}, "spec.validations"),
    ],
)
def test_what_the_api_server_refuses_is_a_problem_at_its_field(document: dict[str, Any], where: str) -> None:
    [(field, _), *_] = problems(document)
    assert field.endswith(where)


@pytest.mark.parametrize(
    "document",
    [
        policy("true", failurePolicy=None, variables=None),
        policy(validations=[{"expression": "true", "message": "ends with a break\n", "messageExpression": ""}]),
        policy("true", **constraints(objectSelector=None)),
        policy("true", **constraints(resourceRules=[rule(resources=["pods", "*"])])),
        binding(matchResources={"objectSelector": {"matchLabels": {"a": "b"}}}),
        {**binding(), "metadata": {"name": "b", "namespace": "ignored", "uid": "x"}},
    ],
)
def test_what_the_api_server_takes_is_read(document: dict[str, Any]) -> None:
    assert not problems(document)


def test_of_two_of_one_name_the_last_counts() -> None:
    found = read_all(policy("true"), policy("false"), binding("Deny"), binding("Warn"))
    specs = [each.model.spec for each in found.policies]
    assert [each.validations[0].expression for each in specs if isinstance(each, ValidatingSpec)] == ["false"]
    bound = [each.spec for each in found.bindings]
    assert [each.validation_actions for each in bound if isinstance(each, ValidatingBindingSpec)] == [("Warn",)]
    both = "is given twice, in file.yaml:0 and in file.yaml:0, and differs: the last counts"
    kinds = ("ValidatingAdmissionPolicy p", "ValidatingAdmissionPolicyBinding b")
    assert found.notes == tuple(f"{each} {both}" for each in kinds)
    assert not read_all(policy("true"), policy("true")).notes

"""What of a ValidatingAdmissionPolicy is said as a GPUPolicy, and what is named."""

from typing import Any

import pytest
import yaml

from converted import back, converted
from natives import binding, policy
from podberth.convert.result import Converted
from podberth.convert.to_native import OF_UPDATES

PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
OF_PODS: dict[str, Any] = {"matchConstraints": {"resourceRules": [PODS]}}


def of(*documents: Any) -> Converted:
    return converted(yaml.safe_dump_all(documents))


def lines(found: Converted) -> list[str]:
    return [f"{each.where}: {each.message.removeprefix('left out: ')}" for each in found.left_out]


def test_a_policy_about_pods_with_its_binding() -> None:
    found = of(policy("object.spec.containers.size() == 1", **OF_PODS), binding("Warn"))
    assert not found.left_out
    [made] = found.documents
    assert made["metadata"] == {"name": "p"}
    assert made["spec"] == {
        "scope": "All",
        "validations": [{"expression": "object.spec.containers.size() == 1"}],
        "validationActions": ["Warn"],
    }
    assert back(back(found)).documents == found.documents


def test_several_bindings_are_several_policies_and_join_their_selectors() -> None:
    selectors = {"namespaceSelector": {"matchLabels": {"a": "b"}}}
    given = policy("1 == 2", matchConstraints={"resourceRules": [PODS], **selectors})
    other = {"matchResources": {"namespaceSelector": {"matchLabels": {"a": "c"}}}}
    found = of(given, binding(), binding("Warn", name="c", **other))
    assert [each["metadata"]["name"] for each in found.documents] == ["p.b", "p.c"]
    joined = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["c"]}]}
    assert found.documents[1]["spec"]["matchConstraints"]["namespaceSelector"] == joined


STATED = {"expression": "1 == 2"}
NULL_FIELDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *(({field: None}, {}) for field in ("paramKind", "matchConditions", "variables", "auditAnnotations")),
    ({"failurePolicy": None}, {}),
    *(({}, {field: None}) for field in ("paramRef", "matchResources")),
    ({}, {"matchResources": dict.fromkeys(("resourceRules", "excludeResourceRules", "namespaceSelector"))}),
    ({"validations": [STATED | dict.fromkeys(("message", "messageExpression", "reason"))]}, {}),
    ({"validations": [STATED | {"message": "", "messageExpression": ""}]}, {}),
]


@pytest.mark.parametrize(("given", "bound"), NULL_FIELDS)
def test_a_field_that_is_null_counts_as_absent(given: dict[str, Any], bound: dict[str, Any]) -> None:
    plain = of(policy("1 == 2", **OF_PODS), binding())
    assert of(policy(**{**OF_PODS, "validations": [STATED], **given}), binding(**bound)) == plain


def test_rules_about_more_than_pods_are_named() -> None:
    rules = [PODS | {"operations": ["*"], "resources": ["*"]}, PODS | {"resources": ["services"]}]
    found = of(policy("1 == 2", matchConstraints={"resourceRules": rules}), binding())
    assert len(found.documents) == 1
    why = "podberth is asked about creations and updates of pods alone"
    assert lines(found) == [f"spec.matchConstraints.resourceRules[{index}]: {why}" for index in (0, 1)]


def test_updates_that_podberth_is_not_asked_about_are_named() -> None:
    rules = [PODS, PODS | {"operations": ["UPDATE"], "resources": ["pods/ephemeralcontainers"]}]
    given: dict[str, Any] = {"matchConstraints": {"resourceRules": rules}}
    found = of(policy("1 == 2", **given), binding())
    assert len(found.documents) == 1
    why = "podberth is asked about updates that change the spec alone, and about no pod that is being deleted"
    assert lines(found) == [f"spec.matchConstraints.resourceRules[1]: {why}"]
    assert not lines(of(policy("1 == 2", matchConditions=list(OF_UPDATES), **given), binding()))


@pytest.mark.parametrize(
    ("given", "bound", "expected"),
    [
        (
            policy("true"),
            binding(matchResources={"resourceRules": [PODS]}),
            "spec.matchResources: a GPUPolicy has one list",
        ),
        (policy("true", **OF_PODS), binding(name="x", policyName="other"), ": no binding of it is given"),
        (
            policy("true", matchConstraints={"resourceRules": [PODS | {"resources": ["services"]}]}),
            binding(),
            "spec.matchConstraints.resourceRules: podberth is asked",
        ),
        (
            policy("params == null", paramKind={"apiVersion": "example.com/v1", "kind": "Limit"}, **OF_PODS),
            binding(paramRef={"name": "a", "parameterNotFoundAction": "Deny"}),
            "spec.paramKind: the params of a GPUPolicy are ConfigMaps",
        ),
        (
            policy("true", paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, **OF_PODS),
            binding(),
            "spec.paramKind: its binding names no params",
        ),
        (
            policy("object.spec.misspelt == 1", **OF_PODS),
            binding(),
            "spec.validations[0].expression: undefined field 'misspelt'",
        ),
    ],
)
def test_a_policy_that_cannot_be_said_is_named(given: Any, bound: Any, expected: str) -> None:
    found = of(given, bound)
    assert not found.documents
    assert any(line.startswith(expected) for line in lines(found)), lines(found)

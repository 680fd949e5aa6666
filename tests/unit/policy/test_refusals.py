from typing import Any

import pytest

from podberth.policy.model import CONCERNS, GPUPolicy
from podberth.policy.refusals import refusals

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
MUTATION = {"tolerations": "[]"}
VALIDATION = {"expression": "true"}
REFERENCE = {"name": "a", "parameterNotFoundAction": "Deny"}
KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


def refused(**spec: Any) -> list[tuple[str, str]]:
    document = {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": "p"}, "spec": spec}
    found = refusals(GPUPolicy.model_validate(document))
    return [(".".join(map(str, path)), message) for path, message in found]


@pytest.mark.parametrize(
    "spec",
    [
        {"mutations": [MUTATION, MUTATION]},
        {"mutations": [MUTATION], "validations": [VALIDATION], "validationActions": ["Deny", "Audit"]},
        {"auditAnnotations": [{"key": "a", "valueExpression": "'b'"}]},
        {"mutations": [MUTATION], "paramKind": KIND, "paramRef": REFERENCE},
        {"mutations": [{"nodeAffinity": {"preferred": "[]", "weight": 1}}, {"nodeAffinity": {"required": "[]"}}]},
        {
            "mutations": [MUTATION],
            "matchConstraints": {"resourceRules": [{**RULE, "resources": ["pods", "pods/exec"]}]},
        },
        {"validations": [{"expression": "a &&\nb", "message": "no"}], "validationActions": ["Warn"]},
    ],
)
def test_a_sound_policy_is_not_refused(spec: dict[str, Any]) -> None:
    assert refused(**spec) == []


def test_a_policy_that_does_nothing_is_refused() -> None:
    said = "the policy does nothing; want mutations, validations or auditAnnotations, or disabled: true"
    assert refused() == [("spec", said)]
    assert refused(disabled=True) == []


@pytest.mark.parametrize(
    ("spec", "where", "message"),
    [
        (
            {"matchConditions": [{"name": f"c{n}", "expression": "true"} for n in range(65)]},
            "spec.matchConditions",
            "got 65 entries, want at most 64",
        ),
        (
            {"auditAnnotations": [{"key": f"k{n}", "valueExpression": "'a'"} for n in range(21)]},
            "spec.auditAnnotations",
            "got 21 entries, want at most 20",
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": f"'{'a' * 5119}'"}]},
            "spec.auditAnnotations.0.valueExpression",
            "got 5121 bytes, want at most 5120",
        ),
        (
            {"matchConditions": [{"name": "c", "expression": "true"}] * 2},
            "spec.matchConditions.1.name",
            "duplicate name 'c'; want each name once",
        ),
        (
            {"variables": [{"name": "v", "expression": "1"}] * 2},
            "spec.variables.1.name",
            "duplicate name 'v'; want each name once",
        ),
        (
            {"mutations": [{**MUTATION, "name": "m"}] * 2},
            "spec.mutations.1.name",
            "duplicate name 'm'; want each name once",
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "'a'"}] * 2},
            "spec.auditAnnotations.1.key",
            "duplicate key 'k'; want each key once",
        ),
        ({"paramKind": KIND}, "spec.paramKind", "paramKind without paramRef; want both or neither"),
        ({"paramRef": REFERENCE}, "spec.paramRef", "paramRef without paramKind; want both or neither"),
        (
            {"paramKind": KIND, "paramRef": {**REFERENCE, "selector": {}}},
            "spec.paramRef",
            "want exactly one of name and selector",
        ),
        (
            {"paramKind": KIND, "paramRef": {"parameterNotFoundAction": "Deny"}},
            "spec.paramRef",
            "want exactly one of name and selector",
        ),
        (
            {"validations": [VALIDATION]},
            "spec.validationActions",
            "validations need validationActions; want [Deny], [Warn], [Audit], [Deny, Audit] or [Warn, Audit]",
        ),
        (
            {"validationActions": ["Deny"]},
            "spec.validationActions",
            "validationActions without validations; leave them out",
        ),
        (
            {"validations": [VALIDATION], "validationActions": ["Deny", "Warn"]},
            "spec.validationActions",
            "got Deny and Warn, which would report everything twice; want one of them",
        ),
        (
            {"validations": [VALIDATION], "validationActions": ["Warn", "Warn"]},
            "spec.validationActions",
            "got an action twice; want each once",
        ),
        (
            {"validations": [{"expression": "a &&\nb"}], "validationActions": ["Deny"]},
            "spec.validations.0",
            "an expression of several lines needs a message or a messageExpression",
        ),
        (
            {"mutations": [{"when": "true"}]},
            "spec.mutations.0",
            f"got none, want exactly one of {', '.join(CONCERNS)}",
        ),
        (
            {"mutations": [{"tolerations": None}]},
            "spec.mutations.0.tolerations",
            "got null, want a CEL expression as a string",
        ),
        ({"mutations": [{"topology": None}]}, "spec.mutations.0.topology", "got null, want an object"),
        ({"mutations": [{"nodeSelector": None}]}, "spec.mutations.0.nodeSelector", "got null, want an object"),
        (
            {"mutations": [{"nodeAffinity": {"preferred": None}}]},
            "spec.mutations.0.nodeAffinity.preferred",
            "got null, want a CEL expression as a string",
        ),
        (
            {"mutations": [{"nodeAffinity": {}}]},
            "spec.mutations.0.nodeAffinity",
            "want exactly one of required and preferred",
        ),
        (
            {"paramKind": KIND, "paramRef": {"name": None, "parameterNotFoundAction": "Deny"}},
            "spec.paramRef.name",
            "got null, want a string",
        ),
        (
            {"mutations": [{"tolerations": "[]", "labels": {"a": "'b'"}}]},
            "spec.mutations.0",
            f"got tolerations and labels, want exactly one of {', '.join(CONCERNS)}; make several entries of it",
        ),
        (
            {"mutations": [{"nodeAffinity": {"required": "[]", "preferred": "[]", "weight": 1}}]},
            "spec.mutations.0.nodeAffinity",
            "want exactly one of required and preferred; make two entries of it, each with its own when",
        ),
        (
            {"mutations": [{"nodeAffinity": {"preferred": "[]"}}]},
            "spec.mutations.0.nodeAffinity",
            "want preferred with a weight from 1 to 100, or required without one",
        ),
        (
            {"mutations": [{"nodeAffinity": {"required": "[]", "weight": 3}}]},
            "spec.mutations.0.nodeAffinity",
            "want preferred with a weight from 1 to 100, or required without one",
        ),
    ],
)
def test_fields_that_do_not_go_together_are_refused_at_their_place(
    spec: dict[str, Any], where: str, message: str
) -> None:
    assert (where, message) in refused(**{"mutations": [MUTATION], **spec})


@pytest.mark.parametrize(
    ("rule", "where", "message"),
    [
        ({"operations": []}, "operations", "got an empty list, want at least one entry"),
        ({"operations": ["*", "CREATE"]}, "operations", "got '*' and more, want '*' alone"),
        (
            {"operations": ["DELETE"]},
            "operations",
            "got DELETE in a policy with mutations; what is deleted cannot be changed",
        ),
        ({"apiGroups": ["*", "apps"]}, "apiGroups", "got '*' and more, want '*' alone"),
        ({"apiVersions": [""]}, "apiVersions", "got an empty string, want a name or '*'"),
        ({"resources": []}, "resources", "got an empty list, want at least one entry"),
        ({"resources": ["*/*", "pods"]}, "resources", "got '*/*' and more, want '*/*' alone"),
        ({"resources": ["*", "pods"]}, "resources.1", "got 'pods' beside '*', which covers it"),
        ({"resources": ["pods/*", "pods/exec"]}, "resources.1", "got 'pods/exec' beside 'pods/*', which covers it"),
        ({"resources": ["pods/exec", "*/exec"]}, "resources.0", "got 'pods/exec' beside '*/exec', which covers it"),
        ({"resources": ["pods/"]}, "resources.0", "got 'pods/', want a resource, or a resource, '/' and a subresource"),
        ({"resourceNames": ["a", "a"]}, "resourceNames", "got a name twice; want each once"),
    ],
)
def test_a_rule_that_upstream_refuses_is_refused(rule: dict[str, Any], where: str, message: str) -> None:
    found = refused(mutations=[MUTATION], matchConstraints={"resourceRules": [{**RULE, **rule}]})
    assert found == [(f"spec.matchConstraints.resourceRules.0.{where}", message)]


def test_exclusions_and_selectors_are_looked_at_too() -> None:
    found = refused(
        mutations=[MUTATION],
        matchConstraints={
            "resourceRules": [],
            "excludeResourceRules": [{**RULE, "resources": [""]}],
            "objectSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
        },
    )
    assert [where.removeprefix("spec.matchConstraints.") for where, _ in found] == [
        "resourceRules",
        "excludeResourceRules.0.resources",
        "namespaceSelector.matchExpressions.0.values",
        "objectSelector.matchExpressions.0.values",
    ]

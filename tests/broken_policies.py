"""Policies that are wrong in one place: the spec, and the field that whoever refuses it must name."""

from typing import Any

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
MUTATION = {"tolerations": "[]"}
VALIDATION = {"expression": "true"}
JUDGED = {"validations": [VALIDATION], "validationActions": ["Warn"]}
KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
REFERENCE = {"name": "a", "parameterNotFoundAction": "Deny"}
CONDITION = {"name": "c", "expression": "true"}


def declaring(*requests: dict[str, Any], **devices: Any) -> dict[str, Any]:
    """Return a spec with one claim template, and a mutation that can name it."""
    template = {"name": "t", "spec": {"spec": {"devices": {"requests": list(requests), **devices}}}}
    return {"mutations": [{"resourceClaims": "[]"}], "claimTemplates": [template]}


REQUEST: dict[str, Any] = {"name": "a", "exactly": {"deviceClassName": "c"}}
CLAIMING = declaring(REQUEST)


def mutation(**fields: Any) -> dict[str, Any]:
    """Return a spec with one mutation."""
    return {"mutations": [fields]}


def rule(**fields: Any) -> dict[str, Any]:
    """Return a spec with one rule that says something else."""
    return {"mutations": [MUTATION], "matchConstraints": {"resourceRules": [{**RULE, **fields}]}}


def selecting(**requirement: Any) -> dict[str, Any]:
    """Return a spec with a selector."""
    return {
        "mutations": [MUTATION],
        "matchConstraints": {"objectSelector": {"matchExpressions": [{"key": "a", **requirement}]}},
    }


_RULES = "spec.matchConstraints.resourceRules[0]"
_MUTATION = "spec.mutations[0]"
_DEVICES = "spec.claimTemplates[0].spec.spec.devices"

BROKEN: tuple[tuple[dict[str, Any], str], ...] = (
    # what one field says
    ({"mutations": [MUTATION], "scope": "gpu"}, "spec.scope"),
    ({**CLAIMING, "claimTemplates": [{"name": "T", "spec": {}}]}, "spec.claimTemplates[0].name"),
    ({**CLAIMING, "claimTemplates": [{"name": "t"}]}, "spec.claimTemplates[0].spec"),
    (declaring(), f"{_DEVICES}.requests"),
    (
        declaring({"name": "a", "exactly": {"deviceClassName": "c", "adminAccess": True}}),
        f"{_DEVICES}.requests[0].exactly.adminAccess",
    ),
    (
        declaring({"name": "a", "exactly": {"deviceClassName": "c", "count": 0}}),
        f"{_DEVICES}.requests[0].exactly.count",
    ),
    (declaring({"name": "a"}), f"{_DEVICES}.requests[0]"),
    (
        declaring({"name": "a", "exactly": {"deviceClassName": "c", "count": 2, "allocationMode": "All"}}),
        f"{_DEVICES}.requests[0].exactly",
    ),
    (declaring(REQUEST, constraints=[{"requests": ["a"]}]), f"{_DEVICES}.constraints[0]"),
    ({**CLAIMING, "mutations": [MUTATION]}, "spec.claimTemplates"),
    ({**CLAIMING, "claimTemplates": CLAIMING["claimTemplates"] * 2}, "spec.claimTemplates[1]"),
    ({"mutations": [MUTATION], "order": "soon"}, "spec.order"),
    ({"mutations": [MUTATION], "order": 1.5}, "spec.order"),
    ({"mutations": [MUTATION], "failurePolicy": "Retry"}, "spec.failurePolicy"),
    ({"mutations": [MUTATION], "odrer": 1}, "spec.odrer"),
    ({"mutations": [MUTATION], "rollout": {}}, "spec.rollout.percent"),
    ({"mutations": [MUTATION], "rollout": {"percent": 101}}, "spec.rollout.percent"),
    ({"mutations": [MUTATION], "matchConditions": [{"name": "a"}]}, "spec.matchConditions[0].expression"),
    (
        {"mutations": [MUTATION], "matchConditions": [{"name": "a b", "expression": "true"}]},
        "spec.matchConditions[0].name",
    ),
    (
        {"mutations": [MUTATION], "matchConditions": [{"name": "a", "expression": True}]},
        "spec.matchConditions[0].expression",
    ),
    (
        {"mutations": [MUTATION], "matchConditions": [{"name": "a", "expression": " "}]},
        "spec.matchConditions[0].expression",
    ),
    ({"mutations": [MUTATION], "variables": [{"name": "a-b", "expression": "1"}]}, "spec.variables[0].name"),
    (
        {"mutations": [MUTATION], "paramKind": {**KIND, "kind": "Secret"}, "paramRef": REFERENCE},
        "spec.paramKind.kind",
    ),
    (
        {"mutations": [MUTATION], "paramKind": KIND, "paramRef": {"name": "a"}},
        "spec.paramRef.parameterNotFoundAction",
    ),
    (
        {"validations": [{**VALIDATION, "message": "a\nb"}], "validationActions": ["Warn"]},
        "spec.validations[0].message",
    ),
    ({"validations": [{**VALIDATION, "reason": "No"}], "validationActions": ["Warn"]}, "spec.validations[0].reason"),
    ({"validations": [VALIDATION], "validationActions": ["Log"]}, "spec.validationActions[0]"),
    (mutation(labels={}), f"{_MUTATION}.labels"),
    (mutation(labels={"a b": "gpu.kind"}), f"{_MUTATION}.labels"),
    (mutation(nodeSelector={}), f"{_MUTATION}.nodeSelector"),
    (mutation(nodeSelector={"a b": "gpu.kind"}), f"{_MUTATION}.nodeSelector"),
    (mutation(nodeSelector={"kubernetes.io/hostname": "gpu.kind"}), f"{_MUTATION}.nodeSelector"),
    (mutation(env={"1A": "gpu.kind"}), f"{_MUTATION}.env"),
    (mutation(nodeAffinity={"preferred": "[]", "weight": 101}), f"{_MUTATION}.nodeAffinity.weight"),
    (mutation(topology={"level": "'a'", "mode": "always"}), f"{_MUTATION}.topology.mode"),
    (mutation(gang={"size": "gang.size"}), f"{_MUTATION}.gang.name"),
    ({"mutations": [MUTATION], "matchConstraints": {"matchPolicy": "Loose"}}, "spec.matchConstraints.matchPolicy"),
    # what several fields say
    ({}, "spec"),
    ({"mutations": []}, "spec"),
    ({"mutations": [MUTATION], "matchConditions": [CONDITION] * 65}, "spec.matchConditions"),
    (
        {"auditAnnotations": [{"key": f"k{n}", "valueExpression": "'a'"} for n in range(21)]},
        "spec.auditAnnotations",
    ),
    (
        {"auditAnnotations": [{"key": "k", "valueExpression": f"'{'a' * 5119}'"}]},
        "spec.auditAnnotations[0].valueExpression",
    ),
    ({"auditAnnotations": [{"key": "a/b", "valueExpression": "'a'"}]}, "spec.auditAnnotations[0].key"),
    ({"auditAnnotations": [{"key": "k", "valueExpression": "'a'"}] * 2}, "spec.auditAnnotations"),
    ({"mutations": [MUTATION], "matchConditions": [CONDITION] * 2}, "spec.matchConditions[1]"),
    ({"mutations": [MUTATION], "variables": [{"name": "v", "expression": "1"}] * 2}, "spec.variables[1]"),
    ({"mutations": [{**MUTATION, "name": "m"}] * 2}, "spec.mutations"),
    ({"mutations": [MUTATION], "paramKind": KIND}, "spec.paramKind"),
    ({"mutations": [MUTATION], "paramRef": REFERENCE}, "spec.paramKind"),
    ({"mutations": [MUTATION], "paramKind": KIND, "paramRef": {**REFERENCE, "selector": {}}}, "spec.paramRef"),
    (
        {"mutations": [MUTATION], "paramKind": KIND, "paramRef": {"parameterNotFoundAction": "Deny"}},
        "spec.paramRef",
    ),
    ({"validations": [VALIDATION]}, "spec.validationActions"),
    ({"mutations": [MUTATION], "validationActions": ["Deny"]}, "spec.validationActions"),
    ({"validations": [VALIDATION], "validationActions": ["Deny", "Warn"]}, "spec.validationActions"),
    ({"validations": [VALIDATION], "validationActions": ["Warn", "Warn"]}, "spec.validationActions[1]"),
    ({"validations": [{"expression": "true &&\ntrue"}], "validationActions": ["Deny"]}, "spec.validations[0]"),
    (mutation(when="true"), _MUTATION),
    (mutation(tolerations="[]", labels={"a": "'b'"}), _MUTATION),
    (mutation(nodeAffinity={"required": "[]", "preferred": "[]", "weight": 1}), f"{_MUTATION}.nodeAffinity"),
    (mutation(nodeAffinity={"preferred": "[]"}), f"{_MUTATION}.nodeAffinity"),
    (mutation(nodeAffinity={"required": "[]", "weight": 3}), f"{_MUTATION}.nodeAffinity"),
    (mutation(nodeAffinity={}), f"{_MUTATION}.nodeAffinity"),
    # rules and selectors
    ({"mutations": [MUTATION], "matchConstraints": {"resourceRules": []}}, "spec.matchConstraints.resourceRules"),
    (rule(operations=["DELETE"]), "spec.matchConstraints"),
    (rule(operations=[]), f"{_RULES}.operations"),
    (rule(operations=["*", "CREATE"]), f"{_RULES}.operations"),
    (rule(apiGroups=["*", "apps"]), f"{_RULES}.apiGroups"),
    (rule(apiVersions=["*", "v1"]), f"{_RULES}.apiVersions"),
    (rule(apiVersions=[""]), f"{_RULES}.apiVersions[0]"),
    (rule(resources=[]), f"{_RULES}.resources"),
    (rule(resources=["*/*", "pods"]), f"{_RULES}.resources"),
    (rule(resources=["*", "pods"]), f"{_RULES}.resources"),
    (rule(resources=["pods/*", "pods/exec"]), f"{_RULES}.resources"),
    (rule(resources=["pods/exec", "*/exec"]), f"{_RULES}.resources"),
    (rule(resources=["pods/"]), f"{_RULES}.resources"),
    (rule(resourceNames=["a", "a"]), f"{_RULES}.resourceNames"),
    (selecting(operator="In"), "spec.matchConstraints.objectSelector.matchExpressions[0]"),
    (selecting(operator="Exists", values=["b"]), "spec.matchConstraints.objectSelector.matchExpressions[0]"),
    (selecting(operator="In", values=["b c"]), "spec.matchConstraints.objectSelector.matchExpressions[0].values[0]"),
    (selecting(operator="NotIn", values=["-"]), "spec.matchConstraints.objectSelector.matchExpressions[0].values[0]"),
    (
        {"mutations": [MUTATION], "matchConstraints": {"namespaceSelector": {"matchLabels": {"a": "b c"}}}},
        "spec.matchConstraints.namespaceSelector.matchLabels.a",
    ),
    (
        {
            "mutations": [MUTATION],
            "paramKind": KIND,
            "paramRef": {"parameterNotFoundAction": "Allow", "selector": {"matchLabels": {"a": "b/c"}}},
        },
        "spec.paramRef.selector.matchLabels.a",
    ),
    (selecting(operator="Is", values=["b"]), "spec.matchConstraints.objectSelector.matchExpressions[0].operator"),
)

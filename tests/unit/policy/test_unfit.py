"""What ``explain`` says about a request that matchConstraints do not match."""

from typing import Any

import pytest

from podberth.policy.match import MatchRequest, mismatch
from podberth.policy.model import GPUPolicy
from podberth.policy.unfit import unfit

_REQUEST = MatchRequest(
    operation="CREATE",
    group="",
    version="v1",
    resource="pods",
    sub_resource="",
    name="",
    namespace="shop",
    object={"metadata": {"labels": {"app": "web"}}},
    old_object=None,
)
_NAMESPACES = {"shop": {"metadata": {"labels": {"tier": "silver", "empty": ""}}}}


def _rule(**changes: Any) -> dict[str, Any]:
    return {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], **changes}


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def _of_namespace(got: str, want: str, key: str = "tier") -> str:
    return f"namespaceSelector: label {key} of namespace shop; got {got}, want {want}"


@pytest.mark.parametrize(
    ("constraints", "said"),
    [
        ({}, ""),
        ({"resourceRules": [_rule(operations=["UPDATE"])]}, "resourceRules: operation; got CREATE, want UPDATE"),
        (
            {"resourceRules": [_rule(resources=["pods/exec"]), _rule(operations=["DELETE"])]},
            "resourceRules: resource; got pods, want pods/exec",
        ),
        (
            {"resourceRules": [_rule(apiGroups=["apps"]), _rule(apiGroups=["batch"])]},
            "resourceRules: API group; got '', want apps or batch",
        ),
        ({"resourceRules": [_rule(apiVersions=["v2"])]}, "resourceRules: API version; got v1, want v2"),
        ({"resourceRules": [_rule(scope="Cluster")]}, "resourceRules: scope; got Namespaced, want Cluster"),
        ({"resourceRules": [_rule(resourceNames=["a"])]}, "resourceRules: name; got none yet, want a"),
        (
            {"excludeResourceRules": [_rule(operations=["UPDATE"]), _rule()]},
            "excludeResourceRules[1]: it leaves out CREATE of pods",
        ),
        (
            {"objectSelector": {"matchLabels": {"app": "db", "tier": "a"}}},
            "objectSelector: label app; got web, want db, and label tier; got none, want a",
        ),
        ({"namespaceSelector": _expression("tier", "In", "gold", "iron")}, _of_namespace("silver", "gold or iron")),
        (
            {"namespaceSelector": _expression("tier", "NotIn", "silver")},
            _of_namespace("silver", "anything but silver"),
        ),
        ({"namespaceSelector": _expression("tier", "In", "gold", "")}, _of_namespace("silver", "gold or ''")),
        ({"namespaceSelector": {"matchLabels": {"empty": "a"}}}, _of_namespace("''", "a", "empty")),
        ({"namespaceSelector": {"matchLabels": {"tier": ""}}}, _of_namespace("silver", "''")),
        ({"namespaceSelector": _expression("team", "Exists")}, _of_namespace("none", "any value", "team")),
        ({"namespaceSelector": _expression("tier", "DoesNotExist")}, _of_namespace("silver", "none")),
    ],
)
def test_the_part_that_does_not_fit_is_named_with_both_values(constraints: dict[str, Any], said: str) -> None:
    policy = GPUPolicy.model_validate(
        {
            "apiVersion": "podberth.io/v1alpha1",
            "kind": "GPUPolicy",
            "metadata": {"name": "p"},
            "spec": {"matchConstraints": constraints},
        }
    )
    assert unfit(policy.spec.match_constraints, _REQUEST, _NAMESPACES) == said
    assert said.partition(":")[0].partition("[")[0] == mismatch(policy, _REQUEST, _NAMESPACES)

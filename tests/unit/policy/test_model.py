from typing import Any

import pytest
from pydantic import ValidationError

from podberth.policy.model import DEFAULT_ORDER, GPUPolicy, LabelSelector, Mutation, ParamRef


def policy(**spec: Any) -> GPUPolicy:
    document = {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": "p"}, "spec": spec}
    return GPUPolicy.model_validate(document)


def test_the_defaults_are_upstreams_and_ours() -> None:
    spec = policy().spec
    assert (spec.scope, spec.order, spec.failure_policy) == ("GPU", DEFAULT_ORDER, "Fail")
    assert spec.validation_actions == ()
    assert spec.rollout is None
    (rule,) = spec.match_constraints.resource_rules
    assert (rule.operations, rule.api_groups, rule.api_versions, rule.resources) == (
        ("CREATE",),
        ("",),
        ("v1",),
        ("pods",),
    )


def test_policies_run_by_order_and_then_by_name() -> None:
    assert policy(order=5).sort_key < policy().sort_key == (DEFAULT_ORDER, "p")


def test_a_policy_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        policy().spec.order = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("entry", "concern"),
    [
        ({"tolerations": "[]"}, "tolerations"),
        ({"nodeAffinity": {"required": "[]"}}, "nodeAffinity"),
        ({"resources": "[]"}, "resources"),
        ({"gang": {"name": "gang.name", "size": "2"}}, "gang"),
        ({"topology": {"level": "'zone'", "mode": "preferred"}}, "topology"),
        ({"labels": {"a/b": "'c'"}}, "labels"),
        ({"annotations": {"a": "'c'"}, "when": "true", "reason": "'x'", "name": "n"}, "annotations"),
    ],
)
def test_an_entry_writes_one_thing(entry: dict[str, Any], concern: str) -> None:
    assert Mutation.model_validate(entry).concern == concern


def test_an_object_as_the_api_server_returns_it_is_accepted() -> None:
    document = {
        "apiVersion": "podberth.io/v1alpha1",
        "kind": "GPUPolicy",
        "metadata": {"name": "p", "uid": "1", "resourceVersion": "2", "generation": 1, "managedFields": [{}]},
        "spec": {"mutations": [{"tolerations": "[]"}]},
        "status": {"observedGeneration": 1},
    }
    assert GPUPolicy.model_validate(document).name == "p"


@pytest.mark.parametrize("name", ["a", "a.b-c.d", "0", "a" * 63 + ".b"])
def test_a_policys_name_is_a_subdomain(name: str) -> None:
    document = {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": name}, "spec": {}}
    assert GPUPolicy.model_validate(document).name == name


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a..b", "a/b", "a" * 254, "a\n"])
def test_any_other_name_is_refused(name: str) -> None:
    document = {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": name}, "spec": {}}
    with pytest.raises(ValidationError, match="DNS-1123 subdomain"):
        GPUPolicy.model_validate(document)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"matchConditions": [{"name": "a b", "expression": "true"}]}, "want a qualified name"),
        ({"matchConditions": [{"name": "/a", "expression": "true"}]}, "want a qualified name"),
        ({"variables": [{"name": "a-b", "expression": "1"}]}, "want a CEL identifier"),
        ({"variables": [{"name": "a", "expression": " "}]}, "want a CEL expression"),
        ({"variables": [{"name": "a", "expression": None}]}, "got null, want a CEL expression"),
        ({"validations": [{"expression": "true", "message": "a\nb"}]}, "want one line"),
        ({"validations": [{"expression": "true", "message": " "}]}, "got an empty message"),
        ({"validations": [{"expression": "true", "reason": "Teapot"}]}, "Input should be"),
        ({"paramKind": {"apiVersion": "v1", "kind": "Secret"}}, "Input should be 'ConfigMap'"),
        ({"order": True}, "valid integer"),
        ({"rollout": {"percent": 101}}, "less than or equal to 100"),
        ({"mutations": [{"labels": {}}]}, "at least 1 item"),
        ({"mutations": [{"topology": {"level": "'a'", "mode": "maybe"}}]}, "Input should be 'required' or 'preferred'"),
        ({"mutations": [{"nodeName": "'a'"}]}, "Extra inputs"),
    ],
)
def test_a_field_that_is_wrong_by_itself_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        policy(**spec)


def test_a_selector_is_its_json_again() -> None:
    selector = LabelSelector.model_validate(
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    )
    assert selector.document == {
        "matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "c", "operator": "Exists", "values": []}],
    }
    assert not selector.empty
    reference = ParamRef.model_validate({"selector": {"matchLabels": {"a": "b"}}, "parameterNotFoundAction": "Deny"})
    assert reference.selector == {"matchLabels": {"a": "b"}, "matchExpressions": []}
    assert ParamRef.model_validate({"name": "a", "parameterNotFoundAction": "Allow"}).selector is None

from typing import Any

import pytest

from podberth.policy.match import MatchRequest, NamespaceUnknownError, applies_statically, mismatch
from podberth.policy.model import GPUPolicy

PODS = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def policy(**constraints: Any) -> GPUPolicy:
    spec: dict[str, Any] = {"mutations": [{"tolerations": "[]"}]}
    if constraints:
        spec["matchConstraints"] = constraints
    document = {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": "p"}, "spec": spec}
    return GPUPolicy.model_validate(document)


def request(**changes: Any) -> MatchRequest:
    fields: dict[str, Any] = {
        "operation": "CREATE",
        "group": "",
        "version": "v1",
        "resource": "pods",
        "sub_resource": "",
        "name": "a",
        "namespace": "team",
        "object": {"metadata": {"labels": {"app": "x"}}},
        "old_object": None,
    }
    return MatchRequest(**{**fields, **changes})


def namespace(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "team", "labels": labels}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"operation": "UPDATE"}, False),
        ({"sub_resource": "ephemeralcontainers"}, False),
        ({"resource": "services"}, False),
        ({"group": "apps"}, False),
        ({"version": "v2"}, False),
    ],
)
def test_a_policy_without_constraints_sees_pods_when_they_are_created(changes: dict[str, Any], expected: bool) -> None:
    assert (not mismatch(policy(), request(**changes), {})) is expected


@pytest.mark.parametrize(
    ("resources", "resource", "sub_resource", "expected"),
    [
        (["pods"], "pods", "status", False),
        (["pods/*"], "pods", "status", True),
        (["pods/*"], "pods", "", True),
        (["pods/status"], "pods", "", False),
        (["*"], "services", "", True),
        (["*"], "services", "status", False),
        (["*/*"], "services", "status", True),
        (["*/scale"], "deployments", "scale", True),
        (["*/scale"], "deployments", "", False),
    ],
)
def test_resources_and_subresources_follow_upstreams_wildcards(
    resources: list[str], resource: str, sub_resource: str, expected: bool
) -> None:
    rule = {**PODS, "resources": resources}
    asked = request(resource=resource, sub_resource=sub_resource)
    assert (not mismatch(policy(resourceRules=[rule]), asked, {})) is expected
    assert applies_statically(policy(resourceRules=[rule]), ("CREATE", "", "v1", resource, sub_resource)) is expected


@pytest.mark.parametrize(
    ("scope", "changes", "expected"),
    [
        ("*", {"namespace": ""}, True),
        ("Namespaced", {}, True),
        ("Namespaced", {"namespace": ""}, False),
        ("Cluster", {}, False),
        ("Cluster", {"namespace": ""}, True),
        ("Cluster", {"resource": "namespaces"}, True),
        ("Namespaced", {"resource": "namespaces"}, False),
    ],
)
def test_scope_counts_a_namespace_object_as_cluster_wide(scope: str, changes: dict[str, Any], expected: bool) -> None:
    rule = {**PODS, "resources": ["*"], "scope": scope}
    assert (not mismatch(policy(resourceRules=[rule]), request(**changes), {})) is expected


def test_every_dimension_takes_a_wildcard() -> None:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    asked = request(operation="CONNECT", group="x.io", version="v9", resource="things", sub_resource="exec")
    assert not mismatch(policy(resourceRules=[rule]), asked, {})


def test_resource_names_must_hold_the_name() -> None:
    rule = {**PODS, "resourceNames": ["a", "b"]}
    assert not mismatch(policy(resourceRules=[rule]), request(name="b"), {})
    assert mismatch(policy(resourceRules=[rule]), request(name="c"), {})
    assert mismatch(policy(resourceRules=[rule]), request(name=""), {})
    assert applies_statically(policy(resourceRules=[rule]), ("CREATE", "", "v1", "pods", ""))


def test_an_exclusion_beats_an_inclusion() -> None:
    excluded = policy(resourceRules=[PODS], excludeResourceRules=[{**PODS, "resourceNames": ["a"]}])
    assert mismatch(excluded, request(name="a"), {})
    assert not mismatch(excluded, request(name="b"), {})
    assert applies_statically(excluded, ("CREATE", "", "v1", "pods", ""))
    entirely = policy(resourceRules=[PODS], excludeResourceRules=[PODS])
    assert mismatch(entirely, request(), {})
    assert not applies_statically(entirely, ("CREATE", "", "v1", "pods", ""))


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ({"metadata": {"labels": {"app": "x"}}}, None, True),
        ({"metadata": {"labels": {"app": "y"}}}, {"metadata": {"labels": {"app": "x"}}}, True),
        ({"metadata": {"labels": {"app": "y"}}}, {"metadata": {"labels": None}}, False),
        ({"metadata": None}, None, False),
        (None, {"metadata": {"labels": {"app": "x"}}}, True),
        (None, None, False),
    ],
)
def test_an_object_selector_matches_either_object(new: Any, old: Any, expected: bool) -> None:
    chosen = policy(objectSelector={"matchLabels": {"app": "x"}})
    assert (not mismatch(chosen, request(object=new, old_object=old), {})) is expected


def test_an_empty_selector_matches_what_is_not_there_too() -> None:
    chosen = policy(objectSelector={}, namespaceSelector={})
    assert not mismatch(chosen, request(object=None, old_object=None), {})


def test_a_namespace_selector_reads_the_namespaces_labels() -> None:
    chosen = policy(namespaceSelector={"matchExpressions": [{"key": "gpu", "operator": "Exists"}]})
    assert not mismatch(chosen, request(), {"team": namespace(gpu="yes")})
    assert mismatch(chosen, request(), {"team": namespace(other="x")})
    assert mismatch(chosen, request(), {"team": {"metadata": {"name": "team"}}})


def test_a_request_of_the_cluster_matches_every_namespace_selector() -> None:
    chosen = policy(resourceRules=[{**PODS, "resources": ["*"]}], namespaceSelector={"matchLabels": {"a": "b"}})
    assert not mismatch(chosen, request(namespace=""), {})


def test_a_namespace_is_judged_by_its_own_labels_that_are_about_to_be() -> None:
    rule = {**PODS, "operations": ["CREATE", "DELETE"], "resources": ["namespaces"]}
    chosen = policy(resourceRules=[rule], namespaceSelector={"matchLabels": {"gpu": "yes"}})
    created = request(resource="namespaces", namespace="team", object=namespace(gpu="yes"))
    assert not mismatch(chosen, created, {})
    deleted = request(resource="namespaces", namespace="team", operation="DELETE", object=None)
    assert not mismatch(chosen, deleted, {"team": namespace(gpu="yes")})


def test_an_unknown_namespace_is_an_error_and_never_no_match() -> None:
    chosen = policy(namespaceSelector={"matchLabels": {"gpu": "yes"}})
    with pytest.raises(NamespaceUnknownError, match="namespace 'team' is not known"):
        mismatch(chosen, request(), {})


def test_an_unknown_namespace_matters_only_where_all_else_matches() -> None:
    chosen = policy(namespaceSelector={"matchLabels": {"gpu": "yes"}}, objectSelector={"matchLabels": {"app": "y"}})
    assert mismatch(chosen, request(), {})
    assert mismatch(chosen, request(operation="UPDATE"), {})

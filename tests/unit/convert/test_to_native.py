"""What of a GPUPolicy is said natively, and what is named."""

from typing import Any

import pytest
import yaml

from converted import back, converted
from natives import located
from podberth.convert.result import Converted
from podberth.native.documents import read
from podberth.wellknown import API_VERSION, EXCEPTION_KIND, EXEMPT_NAMESPACES, NAMESPACED_KIND
from snapshots import policy

DENY = "validationActions: [Deny]"
VALIDATION = "validations: [{expression: object.spec.containers.size() == 1, message: one}]"


def of(*parts: str) -> Converted:
    lines = "\n".join(parts).replace("\n", "\n  ")
    return converted(policy("p", f"\n  {lines}\n"))


def spec_of(found: Converted, index: int = 0) -> Any:
    assert not read(located(*found.documents)).problems
    return found.documents[index]["spec"]


def left_out(found: Converted) -> list[str]:
    return [f"{each.where}: {each.message.removeprefix('left out: ')}" for each in found.left_out]


def test_a_policy_with_all_that_can_be_said() -> None:
    found = of(
        "description: One container.",
        "scope: All",
        "failurePolicy: Fail",
        "matchConstraints:",
        "  resourceRules:",
        "  - {apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE],",
        "     resources: [pods, pods/ephemeralcontainers]}",
        "  objectSelector: {matchLabels: {team: a}}",
        "  namespaceSelector: {matchLabels: {env: prod}}",
        "matchConditions: [{name: a, expression: request.operation == 'CREATE'}]",
        "paramKind: {apiVersion: v1, kind: ConfigMap}",
        "paramRef: {selector: {matchLabels: {set: x}}, parameterNotFoundAction: Deny}",
        "variables: [{name: most, expression: int(params.data.most)}, {name: unused, expression: '1'}]",
        "validations:",
        "- {expression: object.spec.containers.size() <= variables.most, message: m, reason: Forbidden}",
        "auditAnnotations: [{key: name, valueExpression: object.metadata.name}]",
        "validationActions: [Warn, Audit]",
    )
    assert not found.left_out
    made, bound = spec_of(found), spec_of(found, 1)
    assert found.documents[0]["metadata"]["annotations"] == {"kubernetes.io/description": "One container."}
    assert made["matchConstraints"]["resourceRules"][0]["resources"] == ["pods", "pods/ephemeralcontainers"]
    assert made["matchConstraints"]["objectSelector"] == {"matchLabels": {"team": "a"}}
    selector = made["matchConstraints"]["namespaceSelector"]
    assert selector["matchLabels"] == {"env": "prod"}
    assert selector["matchExpressions"][0]["values"] == list(EXEMPT_NAMESPACES)
    assert [each["name"] for each in made["matchConditions"]] == [
        *("spec-changed", "not-being-deleted", "no-mirror-pod", "a"),
    ]
    assert [each["name"] for each in made["variables"]] == ["most"]
    assert made["validations"][0]["reason"] == "Forbidden"
    assert made["auditAnnotations"] == [{"key": "name", "valueExpression": "string(object.metadata.name)"}]
    reference = {"selector": {"matchLabels": {"set": "x"}}, "parameterNotFoundAction": "Deny"}
    assert bound == {"policyName": "p", "validationActions": ["Warn", "Audit"], "paramRef": reference}
    [again] = back(found).documents
    assert again["spec"]["scope"] == "All"
    assert back(back(found)).documents == found.documents


def test_params_pass_through() -> None:
    params = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {c: d}\n"
    found = converted(policy("p", f"\n  scope: All\n  {VALIDATION}\n  {DENY}\n") + "---\n" + params)
    assert found.documents[2]["data"] == {"c": "d"}


def test_an_exception_and_a_policy_of_a_namespace_are_named() -> None:
    exception = {
        "apiVersion": API_VERSION,
        "kind": EXCEPTION_KIND,
        "metadata": {"name": "e"},
        "spec": {
            "policies": ["p"],
            "namespaces": ["a"],
            "reason": "it waits",
            "requestedBy": "team-a",
            "expiresAt": "2027-03-31T00:00:00Z",
        },
    }
    own = {
        "apiVersion": API_VERSION,
        "kind": NAMESPACED_KIND,
        "metadata": {"name": "own", "namespace": "a"},
        "spec": {"validations": [{"expression": "true"}], "validationActions": ["Deny"]},
    }
    found = converted(
        policy("p", f"\n  scope: All\n  {VALIDATION}\n  {DENY}\n---\n") + yaml.safe_dump_all([exception, own])
    )
    assert [each["metadata"]["name"] for each in found.documents] == ["p", "p"]
    assert [line.partition(";")[0] for line in left_out(found)] == [
        "spec.policies: native policies have no exceptions",
        "kind: a native policy is of the cluster",
    ]


def test_rules_are_for_what_podberth_is_asked_about() -> None:
    rule = "{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']}"
    made = spec_of(of("scope: All", f"matchConstraints: {{resourceRules: [{rule}]}}", VALIDATION, DENY))
    [found] = made["matchConstraints"]["resourceRules"]
    assert found == {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["pods", "pods/ephemeralcontainers"],
    }


UPDATES = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE],"
ONE_CONTAINER = f"{UPDATES} resources: [pods]}}]}}"


def test_an_update_that_keeps_the_spec_or_of_a_pod_that_is_being_deleted_is_not_judged() -> None:
    found = of("scope: All", ONE_CONTAINER, VALIDATION, DENY)
    assert spec_of(found)["matchConditions"][:2] == [
        {"name": "spec-changed", "expression": "request.operation != 'UPDATE' || object.spec != oldObject.spec"},
        {"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"},
    ]
    [again] = back(found).documents
    assert not back(found).left_out
    assert "matchConditions" not in again["spec"]


def test_conditions_of_one_name_get_numbers() -> None:
    conditions = (
        "matchConditions: [{name: spec-changed, expression: 'true'}, {name: spec-changed-2, expression: 'true'}]"
    )
    found = spec_of(of("scope: All", ONE_CONTAINER, conditions, VALIDATION, DENY))["matchConditions"]
    names = [each["name"] for each in found]
    assert names == ["spec-changed", "not-being-deleted", "no-mirror-pod", "spec-changed-2", "spec-changed-2-2"]


def test_an_expression_of_any_type_gets_the_type_that_upstream_demands() -> None:
    typed = "validations: [{expression: object.spec.hostNetwork, messageExpression: object.metadata.name}]"
    [made] = spec_of(of("scope: All", typed, DENY))["validations"]
    assert made["expression"] == "(object.spec.hostNetwork) == true"
    assert made["messageExpression"] == "string(object.metadata.name)"
    assert made["message"] == "failed expression: object.spec.hostNetwork"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("rollout: {percent: 5}", VALIDATION, DENY), "spec.rollout: a native policy applies to all workloads"),
        (("disabled: true", VALIDATION, DENY), "spec.disabled: "),
        (
            ("matchConditions: [{name: a, expression: gang.known}]", VALIDATION, DENY),
            "spec.matchConditions[0].expression: gang: ",
        ),
        (("variables: [{name: gpuCount, expression: '1'}]", VALIDATION, DENY), "spec.variables[0].name: gpuCount"),
    ],
)
def test_what_limits_a_policy_and_cannot_be_said_leaves_no_policy(parts: tuple[str, ...], expected: str) -> None:
    found = of("scope: All", *parts)
    assert not found.documents
    [line] = left_out(found)
    assert line.startswith(expected)
    assert line.endswith("; so the policy is not written")


def test_the_scope_of_gpus_needs_a_condition_that_says_so() -> None:
    [line] = left_out(of(VALIDATION, DENY))
    assert line.startswith("spec.scope: GPU")
    for said in ("gpu.count >= 2 && true", "true && gpu.kind == 'mig'", "gpu.vendor in ['amd', 'nvidia']"):
        found = of(f'matchConditions: [{{name: a, expression: "{said}"}}]', VALIDATION, DENY)
        assert not found.left_out
        assert spec_of(found)["matchConditions"][1]["name"] == "no-sharing-dialect"
    assert of('matchConditions: [{name: a, expression: "gpu.count > 1 || true"}]', VALIDATION, DENY).left_out


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("topology.nodes(gpu).exist", "topology: a native policy does not see the cluster's nodes"),
        ("gpu.memoryMiB > 0", "gpu.memoryMiB: no expression over the pod gives it"),
        ("gpu.kind != 'claim'", "gpu.kind: whether a claim is for accelerators is not in the pod"),
        ("gpu.requests.size() == 1", "gpu.requests: "),
        ("shell.commands(['a']).size() == 1", "shell: "),
        (
            "variables.both",
            (
                "variables.both: expected type 'int' but found 'string'; in a native policy, the values of a list or "
                "a map have one type"
            ),
        ),
    ],
)
def test_a_validation_that_cannot_be_said_is_named_at_its_place(expression: str, why: str) -> None:
    found = of(
        "scope: All",
        "variables: [{name: both, expression: \"[1, 'a'].size() == 2\"}]",
        f"validations: [{{expression: \"{expression}\"}}, {{expression: '1 == 2'}}]",
        DENY,
    )
    [line] = left_out(found)
    assert line.startswith(f"spec.validations[0].expression: {why}")
    assert (found.left_out[0].line, found.left_out[0].column) == (8, 31)
    assert len(spec_of(found)["validations"]) == 1


def test_lesser_parts_are_named_and_the_rest_is_written() -> None:
    found = of(
        "scope: All",
        "failurePolicy: Ignore",
        "mutations: [{nodeSelector: {example.com/a: \"'b'\"}}]",
        "validations: [{expression: 1 == 2, message: m, messageExpression: gang.name, reason: Unauthorized}]",
        "auditAnnotations: [{key: a, valueExpression: gang.name}]",
        DENY,
    )
    [made] = spec_of(found)["validations"]
    assert made == {"expression": "1 == 2", "message": "m"}
    assert {each.where for each in found.left_out} == {
        "spec.failurePolicy",
        "spec.mutations[0]",
        "spec.validations[0].messageExpression",
        "spec.validations[0].reason",
        "spec.auditAnnotations[0].valueExpression",
    }

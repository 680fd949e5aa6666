"""Lint says what an API server would refuse of native policies beside GPUPolicies."""

import json

from natives import Document, binding, json_patch, mutating, policy
from podberth.cel.engine import Environment
from podberth.kube.schema import PodSchema
from podberth.lint.runner import LintReport, lint

KIND = {"apiVersion": "example.com/v1", "kind": "Limit"}
LIMIT = {**KIND, "metadata": {"name": "most"}, "spec": {}}


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
    assert said(policy("object.metadata.name")) == ["invalid spec.validations[0].expression: got dyn, want bool"]
    [found] = said(*mutating("p", json_patch("[JSONPatch{op: 1}]")))
    assert found.startswith("invalid spec.mutations[0].jsonPatch.expression: ")
    [found] = said(policy("true"), binding("Deny", "Warn"))
    assert found.startswith("invalid spec.validationActions")


def test_an_object_that_is_no_params_of_a_policy_is_a_problem_as_before() -> None:
    [found] = said(policy("true"), LIMIT)
    assert "want podberth.io/v1alpha1 GPUPolicy" in found

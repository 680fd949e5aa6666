"""GPUPolicy as the API server holds it: what ships comes back as it was, and what the parser refuses is refused."""

import json
from copy import deepcopy
from http import HTTPStatus
from typing import Any

import pytest

from broken_policies import BROKEN, CLAIMING, CONDITION, JUDGED, KIND, MUTATION, REFERENCE, RULE, declaring
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from pages import ROOT
from podberth.kube.documents import load_documents
from podberth.policy.model import GPUPolicy
from podberth.policy.parse import parse_policies

PATH = "/apis/podberth.io/v1alpha1/gpupolicies"
STRICT = f"{PATH}?fieldValidation=Strict&dryRun=All"
CRD = ROOT / "manifests" / "base" / "gpupolicy-crd.yaml"
FILES = sorted([*ROOT.glob("policies/*/policy.yaml"), *ROOT.glob("optional-policies/*/policy.yaml")])
POLICIES = [each.document for file in FILES for each in load_documents(file.read_text(), file.name)[0]]
SOUND: tuple[dict[str, Any], ...] = (
    {"mutations": [MUTATION, MUTATION]},
    {**JUDGED, "validationActions": ["Deny", "Audit"]},
    {"auditAnnotations": [{"key": "a", "valueExpression": "'b'"}]},
    {"mutations": [MUTATION], "paramKind": KIND, "paramRef": REFERENCE},
    {"mutations": [{"nodeAffinity": {"preferred": "[]", "weight": 1}}, {"nodeAffinity": {"required": "[]"}}]},
    {"mutations": [MUTATION], "matchConstraints": {"resourceRules": [{**RULE, "resources": ["pods", "pods/exec"]}]}},
    {
        "mutations": [MUTATION],
        "matchConstraints": {"resourceRules": [{**RULE, "resources": ["pods/*", "jobs/status"]}]},
    },
    {"validations": [{"expression": "a &&\nb", "message": "no"}], "validationActions": ["Warn"]},
    {"mutations": [{"labels": {"example.com/a": "'b'", "c": "'d'"}}, {"env": {"A_B": "'c'"}}]},
    {**JUDGED, "matchConditions": [CONDITION], "scope": "All", "order": -1, "failurePolicy": "Ignore"},
    CLAIMING,
    declaring(
        {"name": "a", "firstAvailable": [{"name": "big", "deviceClassName": "b", "count": 2}]},
        {"name": "b", "exactly": {"deviceClassName": "c", "allocationMode": "All"}},
        constraints=[{"requests": ["a/big", "b"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}],
        config=[{"requests": ["b"], "opaque": {"driver": "d.example.com", "parameters": {"x": [1, {"y": None}]}}}],
    ),
)


def policy(spec: dict[str, Any], name: str = "example") -> dict[str, Any]:
    return {
        "apiVersion": "podberth.io/v1alpha1",
        "kind": "GPUPolicy",
        "metadata": {"name": name},
        "spec": deepcopy(spec),
    }


def unparsed(document: dict[str, Any]) -> bool:
    """Return whether the parser of files refuses it."""
    return bool(parse_policies([("policy.json", json.dumps(document))]).problems)


@pytest.mark.parametrize("document", POLICIES, ids=lambda document: str(document["metadata"]["name"]))
def test_a_shipped_policy_comes_back_as_it_was(gpupolicies: ControlPlane, document: dict[str, Any]) -> None:
    stored = gpupolicies.api.request("POST", STRICT, document)
    assert _plain(GPUPolicy.model_validate(stored)) == _plain(GPUPolicy.model_validate(document))
    assert _without(stored["spec"], document["spec"]) == {}


def _plain(policy: GPUPolicy) -> Any:
    return policy.model_dump()["spec"]


def _without(stored: Any, written: Any) -> Any:
    """Return what of the stored spec was neither written nor is one of the defaults of scalars."""
    defaults = {"scope": ("GPU", "*"), "order": (1000,), "failurePolicy": ("Fail",), "reason": ("Invalid",)}
    defaults["matchPolicy"] = ("Equivalent",)
    if isinstance(stored, dict):
        added = {key: each for key, each in stored.items() if key not in written and each not in defaults.get(key, ())}
        inner = {key: _without(each, written[key]) for key, each in stored.items() if key in written}
        return added | {key: each for key, each in inner.items() if each not in ({}, [])}
    if isinstance(stored, list):
        assert len(stored) == len(written)
        return [each for each in map(_without, stored, written) if each not in ({}, [])]
    assert stored == written
    return {}


@pytest.mark.parametrize("spec", SOUND)
def test_a_sound_policy_is_taken(gpupolicies: ControlPlane, spec: dict[str, Any]) -> None:
    assert not unparsed(policy(spec))
    assert gpupolicies.api.ask("POST", STRICT, policy(spec)).status == HTTPStatus.CREATED


@pytest.mark.parametrize(("spec", "field"), BROKEN)
def test_a_broken_policy_is_refused_and_the_field_is_named(
    gpupolicies: ControlPlane, spec: dict[str, Any], field: str
) -> None:
    answer = gpupolicies.api.ask("POST", STRICT, policy(spec))
    assert answer.status in (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.BAD_REQUEST), answer.document
    causes = answer.document.get("details", {}).get("causes") or [{"field": answer.document["message"]}]
    assert any(field == each["field"] or f'"{field}"' in each["field"] for each in causes), causes
    assert unparsed(policy(spec))


def test_what_is_refused_is_said_in_the_words_of_the_parser(gpupolicies: ControlPlane) -> None:
    spec = {**JUDGED, "validationActions": ["Deny", "Warn"]}
    message = gpupolicies.api.ask("POST", STRICT, policy(spec)).document["message"]
    [problem] = parse_policies([("policy.json", json.dumps(policy(spec)))]).problems
    assert "got Deny and Warn, which would report everything twice; want one of them" in message
    assert "got Deny and Warn, which would report everything twice; want one of them" in str(problem)


def test_kubectl_prints_the_columns(gpupolicies: ControlPlane) -> None:
    gpupolicies.apply(policy(JUDGED, "columns"))
    head, line = gpupolicies.kubectl("get", "gpol", "columns").stdout.splitlines()
    assert head.split() == ["NAME", "SCOPE", "ORDER", "ACTIONS", "COMPILED", "ACTIVE", "AGE"]
    assert line.split()[:6] == ["columns", "GPU", "1000", '["Warn"]', "Unknown", "Unknown"]


def test_a_policy_that_nobody_reads_says_so(gpupolicies: ControlPlane) -> None:
    """No replica of podberth is here."""
    [stored] = gpupolicies.apply(policy(JUDGED, "unread"))
    said = {each["type"]: (each["status"], each["message"]) for each in stored["status"]["conditions"]}
    assert said == dict.fromkeys(("Compiled", "Active"), ("Unknown", "no replica of podberth has read it"))
    assert "observedGeneration" not in stored["status"]


def test_the_status_has_conditions_of_its_own_and_leaves_the_generation(gpupolicies: ControlPlane) -> None:
    [stored] = gpupolicies.apply(policy(JUDGED, "conditions"))
    condition = {
        "type": "Compiled",
        "status": "False",
        "observedGeneration": stored["metadata"]["generation"],
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "reason": "TypeError",
        "message": "conditions:3:7: undefined field 'cuont'",
    }
    status = {"status": {"observedGeneration": 1, "conditions": [condition]}}
    path = f"{PATH}/conditions/status"
    written = gpupolicies.api.request("PATCH", path, status, "application/merge-patch+json")
    assert written["status"] == status["status"]
    assert written["metadata"]["generation"] == stored["metadata"]["generation"]
    assert "False" in gpupolicies.kubectl("get", "gpol", "conditions").stdout

    refused = gpupolicies.api.ask(
        "PATCH", path, {"status": {"conditions": [{**condition, "status": "Maybe"}]}}, "application/merge-patch+json"
    )
    assert "status.conditions[0].status" in refused.document["message"]


def test_a_policy_from_before_a_rule_can_still_be_labelled(gpupolicies: ControlPlane) -> None:
    """Ratcheting (KEP-4008): a rule that comes with an upgrade holds for what is changed from then on."""
    crd = gpupolicies.get("crd", "gpupolicies.podberth.io")
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gpupolicies.podberth.io"
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    rules = spec.pop("x-kubernetes-validations")
    broken = policy({**JUDGED, "validationActions": ["Deny", "Warn"]}, "older")
    gpupolicies.api.request("PUT", path, crd)
    wait_for(
        lambda: gpupolicies.api.ask("POST", PATH, broken).status == HTTPStatus.CREATED,
        what="the rules to be gone",
    )
    spec["x-kubernetes-validations"] = rules
    crd["metadata"].pop("resourceVersion")
    gpupolicies.api.request(
        "PUT", path, crd | {"metadata": gpupolicies.get("crd", crd["metadata"]["name"])["metadata"]}
    )
    other = policy(broken["spec"], "newer")
    wait_for(
        lambda: gpupolicies.api.ask("POST", f"{PATH}?dryRun=All", other).status == HTTPStatus.UNPROCESSABLE_ENTITY,
        what="the rules to be back",
    )

    merge = "application/merge-patch+json"
    labelled = gpupolicies.api.ask("PATCH", f"{PATH}/older", {"metadata": {"labels": {"a": "b"}}}, merge)
    assert labelled.status == HTTPStatus.OK, labelled.document
    changed = gpupolicies.api.ask("PATCH", f"{PATH}/older", {"spec": {"order": 5}}, merge)
    assert changed.status == HTTPStatus.UNPROCESSABLE_ENTITY
    corrected = gpupolicies.api.ask("PATCH", f"{PATH}/older", {"spec": {"validationActions": ["Deny"]}}, merge)
    assert corrected.status == HTTPStatus.OK, corrected.document

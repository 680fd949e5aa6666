"""The published JSON Schema of a policy: what editors refuse is refused by the parser, and what ships is neither."""

import json
from typing import Any

import jsonschema
import pytest

from lint_findings import spec
from pages import ROOT
from podberth.kube.documents import load_documents
from podberth.policy.parse import parse_policies

SCHEMA = json.loads((ROOT / "docs" / "schema" / "gpupolicy-v1alpha1.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
POLICIES = sorted([*ROOT.glob("policies/*/policy.yaml"), *ROOT.glob("optional-policies/*/policy.yaml")])
LABEL = "mutations:\n- labels: {example.com/a: gpu.kind}\n"
JUDGED = "validations:\n- {expression: gpu.count < 9, message: never}\nvalidationActions: [Warn]\n"


def documents(text: str) -> list[dict[str, Any]]:
    found, problems = load_documents(text, "policy.yaml")
    assert problems == []
    return [each.document for each in found]


def test_the_schema_is_one_of_2020_12() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: str(path.parent.name))
def test_every_shipped_policy_is_valid(path: Any) -> None:
    for document in documents(path.read_text(encoding="utf-8")):
        assert [each.message for each in VALIDATOR.iter_errors(document)] == []


WRONG = [
    spec(LABEL).replace("v1alpha1", "v1"),
    spec(LABEL).replace("GPUPolicy", "Policy"),
    spec(LABEL).replace("{name: example}", "{name: Example}"),
    spec(LABEL).replace("{name: example}", "{}"),
    spec(LABEL).replace("spec:", "specs:"),
    spec(LABEL + "odrer: 1\n"),
    spec(LABEL + "order: soon\n"),
    spec(LABEL + "order: 1.5\n"),
    spec(LABEL + "scope: gpu\n"),
    spec(LABEL + "failurePolicy: Retry\n"),
    spec(LABEL + "rollout: {percent: 101}\n"),
    spec(LABEL + "rollout: {}\n"),
    spec(LABEL + "matchConditions:\n- {name: a}\n"),
    spec(LABEL + "matchConditions:\n- {name: a b, expression: 'true'}\n"),
    spec(LABEL + "matchConditions:\n- {name: a, expression: true}\n"),
    spec(LABEL + "matchConditions:\n- {name: a, expression: ''}\n"),
    spec(LABEL + "matchConditions: {}\n"),
    spec(LABEL + "variables:\n- {name: a-b, expression: gpu.count}\n"),
    spec(LABEL + "paramKind: {apiVersion: v1, kind: Secret}\n"),
    spec(LABEL + "paramKind: {apiVersion: v1, kind: ConfigMap}\nparamRef: {name: a}\n"),
    spec(LABEL + "matchConstraints:\n  resourceRules:\n  - {operations: [CREATE]}\n"),
    spec(LABEL + "matchConstraints:\n  matchPolicy: Loose\n"),
    spec("mutations:\n- {name: a}\n"),
    spec("mutations:\n- {labels: {a: gpu.kind}, annotations: {a: gpu.kind}}\n"),
    spec("mutations:\n- labels: {}\n"),
    spec("mutations:\n- labels: {a b: gpu.kind}\n"),
    spec("mutations:\n- env: {1A: gpu.kind}\n"),
    spec("mutations:\n- nodeAffinity: {preferred: '[]', weight: 101}\n"),
    spec("mutations:\n- topology: {level: \"'a'\", mode: always}\n"),
    spec("mutations:\n- gang: {size: gang.size}\n"),
    spec(JUDGED.replace("[Warn]", "[Log]")),
    spec(JUDGED.replace("message: never", "reason: Never")),
    spec(JUDGED.replace("message: never", 'message: "a\\nb"')),
    spec(JUDGED + "auditAnnotations:\n- {key: a}\n"),
]


@pytest.mark.parametrize("text", WRONG)
def test_what_the_schema_refuses_the_parser_refuses_too(text: str) -> None:
    [document] = documents(text)

    assert list(VALIDATOR.iter_errors(document))
    assert parse_policies([("policy.yaml", text)]).problems


@pytest.mark.parametrize(
    "text",
    [
        spec("mutations:\n- {when: null, labels: {a: gpu.kind}, tolerations: null}\n"),
        spec(LABEL + "rollout: null\n"),
        spec(LABEL).replace("{name: example}", "{name: example, uid: a, managedFields: []}"),
        spec(LABEL) + "status: {seen: 1}\n",
    ],
)
def test_what_the_parser_takes_the_schema_takes_too(text: str) -> None:
    assert parse_policies([("policy.yaml", text)]).problems == ()
    assert [each.message for each in VALIDATOR.iter_errors(documents(text)[0])] == []


@pytest.mark.parametrize("name", SCHEMA["$defs"])
def test_every_object_and_field_is_described(name: str) -> None:
    # What the API server adds to metadata is accepted and not read: there is nothing to say about it
    fields = SCHEMA["$defs"][name]["properties"].items() if name != "Metadata" else ()

    assert SCHEMA["$defs"][name]["description"]
    assert [field for field, schema in fields if not schema.get("description")] == []

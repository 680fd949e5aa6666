"""Write manifests/base/gpupolicy-crd.yaml: the CustomResourceDefinition of GPUPolicy.

    .venv/bin/python tools/policy_crd.py           # writes it if it has changed
    .venv/bin/python tools/policy_crd.py --check   # writes nothing; exits with 1 and says what is stale

Its schema is the published JSON Schema (``policy_schema``) made structural, with what ``policy.refusals`` says across
fields as CEL rules (``policy_crd_rules``). So what the API server stores is what ``podberth lint`` reads. What only a
compiler sees, the expressions themselves, is left to ``podberth lint``.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

import json
import sys
from typing import Any

from crd import definition, root_of
from generated import main
from policy_crd_rules import LIMITS, LIST_TYPES, RULES, Rule
from policy_schema import schema

from podberth.kube.yaml_text import as_yaml
from podberth.wellknown import POLICY_KIND

PAGE = "manifests/base/gpupolicy-crd.yaml"
_HEAD = "# Written by tools/policy_crd.py: the models of podberth.policy, the rules of tools/policy_crd_rules.py.\n"
# What structural schemas do not have, and what the API server says better itself.
_DROPPED = ("additionalProperties", "patternProperties", "const", "anyOf", "oneOf", "$ref", "title")
# apimachinery's Condition, with its limits: k8s.io/apimachinery/pkg/apis/meta/v1/types.go
_CONDITION = {
    "type": "object",
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    "properties": {
        "type": {
            "type": "string",
            "maxLength": 316,
            "description": "`Compiled`, `Active`, `EveryPodSent` or `TopologyFresh`.",
        },
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
        "message": {
            "type": "string",
            "maxLength": 32768,
            "description": "Every problem with its line and column in the policy, as `podberth lint` prints it.",
        },
    },
}
# Until podberth has written a status, so that no policy is silent: as of Gateway API (apis/v1/gateway_types.go,
# GatewayStatus). It names no generation, so podberth can distinguish it from its own.
_UNREAD = [
    {
        "type": kind,
        "status": "Unknown",
        "reason": "NotRead",
        "message": "no replica of podberth has read it",
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    }
    for kind in ("Compiled", "Active")
]
STATUS = {
    "type": "object",
    "default": {"conditions": _UNREAD},
    "description": "What podberth makes of the policy; written by podberth.",
    "properties": {
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "minimum": 0,
            "description": "The generation of the object that the conditions speak of.",
        },
        "conditions": {
            "type": "array",
            "items": _CONDITION,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "description": "`Compiled`: every expression is right; Unknown while it is disabled. `Active`: reviews are "
            "decided by it; the message names the file whose policy it replaces or switches off. Both are Unknown "
            "until a replica of podberth has read it. `EveryPodSent`, with scope All: the webhook configurations have "
            "entries for all pods. `TopologyFresh`, of policies that ask for nodes: no agent of a node is silent.",
        },
    },
}
_COLUMNS = (
    ("Scope", "string", ".spec.scope"),
    ("Order", "integer", ".spec.order"),
    ("Actions", "string", ".spec.validationActions"),
    ("Compiled", "string", '.status.conditions[?(@.type=="Compiled")].status'),
    ("Active", "string", '.status.conditions[?(@.type=="Active")].status'),
    ("Age", "date", ".metadata.creationTimestamp"),
)


def crd() -> dict[str, Any]:
    """Return the object."""
    names = {
        "kind": POLICY_KIND,
        "listKind": f"{POLICY_KIND}List",
        "plural": "gpupolicies",
        "singular": "gpupolicy",
        "shortNames": ["gpol"],
    }
    return definition(names, _COLUMNS, _root(), subresources={"status": {}})


def _root() -> dict[str, Any]:
    published = schema()
    definitions = published["$defs"]
    spec = structural({"$ref": "#/$defs/Spec"}, definitions, "spec")
    return root_of(published["description"], spec, status=STATUS)


def structural(part: dict[str, Any], definitions: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a part of the JSON Schema as a structural one; ``path`` is as LIMITS and LIST_TYPES have it."""
    found = _resolved(part, definitions)
    owner = part_name(part)
    made = {key: value for key, value in found.items() if key not in _DROPPED}
    if "const" in found:
        made["enum"] = [found["const"]]
    if made.get("default") in ("", False) or isinstance(made.get("default"), dict | list):
        del made["default"]  # says nothing: an object comes back as it was written
    if "properties" in found:
        made["properties"] = {
            name: structural(each, definitions, f"{path}.{name}") for name, each in found["properties"].items()
        }
    if "items" in found:
        made["items"] = structural(found["items"], definitions, f"{path}[]")
        made |= LIST_TYPES.get(path, {"x-kubernetes-list-type": "atomic"})
    rules = [_written(rule) for rule in RULES.get(owner, ())] + [_written(rule) for rule in RULES.get(path, ())]
    if found.get("additionalProperties") is True:
        made["x-kubernetes-preserve-unknown-fields"] = True
    elif found.get("type") == "object" and "properties" not in found:
        values, key_rule = _map(found, definitions)
        made["additionalProperties"] = values
        rules += key_rule
    if owner == "LabelSelector":
        made["x-kubernetes-map-type"] = "atomic"
    general = LIMITS.get(_kind(made), {})
    made |= {limit: value for limit, value in general.items() if limit not in made} | LIMITS.get(path, {})
    return made | ({"x-kubernetes-validations": rules} if rules else {})


def part_name(part: dict[str, Any]) -> str:
    """Return the model that a part refers to, an optional one too; empty where it refers to none."""
    options = [part, *part.get("anyOf", ())]
    return next((each["$ref"].rpartition("/")[2] for each in options if "$ref" in each), "")


def _resolved(part: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Follow the reference, and take ``null`` away from what may be left out; the part's own words win."""
    options: list[dict[str, Any]] = part.get("anyOf", [])
    inner = next((each for each in options if each != {"type": "null"}), {})
    name = part_name(part)
    return {**(definitions[name] if name else {}), **inner, **part}


def _map(found: dict[str, Any], definitions: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return the schema of a map's values, and the rule of its keys; a structural schema has no patterns for those."""
    [(pattern, values)] = found.get("patternProperties", {"": found.get("additionalProperties")}).items()
    made = structural(values if isinstance(values, dict) else {"type": "string"}, definitions, "")
    if not pattern:
        return made, []
    rule = f"self.all(key, key.matches({json.dumps(pattern)}))"
    return made, [_written(Rule(rule, f"want keys that match {pattern}"))]


def _kind(made: dict[str, Any]) -> str:
    """Return the general limit of a schema. Strings, lists and maps have one, so that a rule's cost has a bound."""
    if made.get("type") == "object":
        return "map" if "additionalProperties" in made else ""
    if made.get("type") == "string":
        return "" if "enum" in made else "expression" if made.get("pattern") == r"\S" else "string"
    return "list" if made.get("type") == "array" else ""


def _written(rule: Rule) -> dict[str, str]:
    written = {"rule": rule.rule, "message": rule.message}
    return written | ({"fieldPath": rule.field} if rule.field else {})


if __name__ == "__main__":
    sys.exit(main({PAGE: _HEAD + as_yaml(crd())}))

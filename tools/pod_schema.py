"""Turn an API server's OpenAPI document into the packaged schema of a Pod.

    kubectl get --raw /openapi/v3/api/v1 > openapi.json
    python tools/pod_schema.py openapi.json > webhook/podberth/kube/data/pod-1.36.json

Kept: what is reachable from Pod, Namespace and ConfigMap, and of it what types a field or says how its list is merged.
Dropped: descriptions, defaults, enumerations, what is required. One definition a line, sorted, so that two versions of
Kubernetes can be compared with diff.
"""

import json
import sys
from pathlib import Path
from typing import Any

_ROOTS = ("io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.Namespace", "io.k8s.api.core.v1.ConfigMap")
_REFERENCE = "#/components/schemas/"
_KEPT = ("type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")


def prune(document: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions reachable from the roots, by their full names."""
    schemas: dict[str, Any] = document["components"]["schemas"]
    kept: dict[str, Any] = {}
    waiting = list(_ROOTS)
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept[name] = _pruned(schemas[name], waiting)
    return kept


def _pruned(schema: dict[str, Any], waiting: list[str]) -> dict[str, Any]:
    """Copy what is kept of one schema; definitions that it names join the waiting ones."""
    found: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    # A $ref with a default beside it is spelled allOf: [{$ref}], because a $ref may have no siblings in OpenAPI 3.0.
    for part in (schema, *schema.get("allOf", ())):
        if reference := part.get("$ref"):
            name = reference.removeprefix(_REFERENCE)
            found["$ref"] = name
            waiting.append(name)
    if "oneOf" in schema:  # Quantity (a string or a number) and IntOrString
        found["oneOf"] = [{"type": choice["type"]} for choice in schema["oneOf"]]
    for key in ("items", "additionalProperties"):
        if key in schema:
            found[key] = _pruned(schema[key], waiting)
    if properties := schema.get("properties"):
        found["properties"] = {name: _pruned(each, waiting) for name, each in properties.items()}
    return found


def render(definitions: dict[str, Any]) -> str:
    """Return JSON with one definition a line."""
    lines = (
        f"{json.dumps(name)}:{json.dumps(body, sort_keys=True, separators=(',', ':'))}"
        for name, body in sorted(definitions.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Read the document that is named, or standard input, and print the packaged schema."""
    if len(arguments) > 1:
        print("usage: pod_schema.py [OPENAPI_JSON]", file=sys.stderr)
        return 2
    text = Path(arguments[0]).read_text(encoding="utf-8") if arguments else sys.stdin.read()
    sys.stdout.write(render(prune(json.loads(text))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

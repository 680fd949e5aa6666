"""Reduces an API server's OpenAPI document to the parts that ``schema`` reads.

The result has the definitions reachable from the roots, with the types of fields and the rules of merging: list and map
types, and the default of a scalar, which replaces a key that an item of a list leaves out (a port's protocol). The
result has no descriptions, defaults without effect (empty, 0), enumerations or required fields.
"""

from collections.abc import Collection
from typing import Any

from .schema import CONFIG_MAP, NAMESPACE, POD, WORKLOADS

_REFERENCE = "#/components/schemas/"
_KEPT = ("type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")


def prune(document: dict[str, Any], roots: Collection[str] = (POD, NAMESPACE, CONFIG_MAP)) -> dict[str, Any]:
    """Return the definitions reachable from the roots, by their full names, for ``PodSchema.from_document``.

    Args:
        document: what ``kubectl get --raw /openapi/v3/api/v1`` prints.
        roots: the names of definitions.

    Raises:
        ValueError: the document is something else.
    """
    schemas = (document.get("components") or {}).get("schemas") or {}
    kept: dict[str, Any] = {}
    waiting = [*roots]
    while waiting:
        name = waiting.pop()
        if name not in schemas:
            wanted = "what kubectl get --raw /openapi/v3/api/v1 prints"
            raise ValueError(f"components.schemas: got no {name}, want {wanted}")
        if name not in kept:
            kept[name] = _pruned(schemas[name], waiting)
    return kept


def prune_workloads(documents: Collection[dict[str, Any]]) -> dict[str, Any]:
    """Return the definitions of the kinds that make pods (Job, Deployment ...), for ``schema.workload_definitions``.

    Definitions that a Pod itself needs are left out, except those without fields. The status of a kind has no described
    content.

    Args:
        documents: what ``kubectl get --raw`` prints of /openapi/v3/api/v1, /openapi/v3/apis/{apps,batch}/v1.

    Raises:
        ValueError: a document is something else.
    """
    schemas: dict[str, Any] = {}
    for document in documents:
        schemas |= (document.get("components") or {}).get("schemas") or {}
    of_pods = prune({"components": {"schemas": schemas}}, (POD,))
    described = {name: _without_status(schema) for name, schema in schemas.items()}
    found = prune({"components": {"schemas": described}}, sorted({*WORKLOADS.values()} - {POD}))
    return {name: body for name, body in found.items() if name not in of_pods or "properties" not in body}


def _without_status(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a kind with the content of its status removed."""
    properties = schema.get("properties", {})
    if not {"spec", "status"} <= properties.keys():
        return schema
    return {**schema, "properties": {**properties, "status": {"type": "object"}}}


def _pruned(schema: dict[str, Any], waiting: list[str]) -> dict[str, Any]:
    """Return the kept part of one schema. The names of definitions that it refers to are appended to ``waiting``."""
    found: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    if schema.get("default"):
        found["default"] = schema["default"]
    # A $ref with a default beside it has the form allOf: [{$ref}], because a $ref may have no siblings in OpenAPI 3.0.
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

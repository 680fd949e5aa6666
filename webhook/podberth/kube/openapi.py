"""Reduces an API server's OpenAPI document to the parts that podberth reads.

The result has the definitions reachable from the roots, with the types of fields, the values of those that take
one of a few, and the rules of merging: list and map types, and defaults of scalars. A merge compares list items by
their keys, and an item without a key (a port without its protocol) has the key's default. The result has no
descriptions, defaults without effect (empty, 0) or required fields.
"""

from collections.abc import Collection
from typing import Any

from .schema import CONFIG_MAP, NAMESPACE, POD

_REFERENCE = "#/components/schemas/"
_KEPT = ("type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "enum")


def prune(document: dict[str, Any], roots: Collection[str] = (POD, NAMESPACE, CONFIG_MAP)) -> dict[str, Any]:
    """Return the definitions that the definitions ``roots`` need, as a mapping from full name to definition.

    Args:
        document: the output of ``kubectl get --raw /openapi/v3/api/v1``.
        roots: the names of definitions.

    Raises:
        ValueError: the document is not the output of that command.
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


def _pruned(schema: dict[str, Any], waiting: list[str]) -> dict[str, Any]:
    """Return the part of a definition that podberth uses.

    The names of definitions to which the part refers are appended to ``waiting``.
    """
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

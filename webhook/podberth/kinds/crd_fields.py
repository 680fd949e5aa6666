"""Reads the names of the fields of other projects' objects, from the schemas of their CRDs, without types.

``tools/crd_fields.py`` writes the packaged file. A CRD of another release may have more fields, or fewer.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final, TypeAlias

from ..kube.paths import ELEMENT

Fields: TypeAlias = "Mapping[str, Fields]"
"""The fields of an object: a mapping from each field's name to the fields below it. ELEMENT stands for every element of
a list or map.

Empty if nothing is known about the content. KEEPS is among the names if the API server keeps unknown fields.
"""
KEEPS: Final = "..."

_PACKAGED: Final = "crd-fields.json"


@cache
def crd_fields() -> Mapping[tuple[str, str], Fields]:
    """Return a mapping from (apiVersion, kind) to the names of the fields that such objects may have.

    The packaged file is read at the first call.
    """
    text = resources.files(__package__).joinpath("data", _PACKAGED).read_text(encoding="utf-8")
    return decoded(json.loads(text))


def decoded(document: Mapping[str, Any]) -> Mapping[tuple[str, str], Fields]:
    """Return a mapping from (apiVersion, kind) to the names of the fields, from the JSON of ``encoded``."""
    made: list[dict[str, Any]] = []
    for names in document["objects"]:  # each object refers only to earlier objects
        made.append({name: made[number] for name, number in names.items()})
    return {_key(name): made[number] for name, number in document["kinds"].items()}


def _key(name: str) -> tuple[str, str]:
    version, _, kind = name.rpartition("/")
    return version, kind


def encoded(schemas: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[str, Any]:
    """Return a JSON object with the names of the fields in OpenAPI schemas: ``{"kinds": ..., "objects": [...]}``.

    ``schemas`` is a mapping from (apiVersion, kind) to the kind's schema. Each item of ``objects`` maps the names of an
    object's fields to indexes in ``objects``. ``kinds`` maps ``APIVERSION/KIND`` to the index of the kind's fields.
    """
    numbers: dict[str, int] = {}
    objects: list[dict[str, int]] = []

    def number_of(fields: Fields) -> int:
        names = {name: number_of(fields[name]) for name in sorted(fields)}
        key = json.dumps(names)
        if key not in numbers:
            numbers[key] = len(objects)
            objects.append(names)
        return numbers[key]

    kinds = {"/".join(key): number_of(_fields(schema)) for key, schema in sorted(schemas.items())}
    return {"kinds": kinds, "objects": objects}


def _fields(schema: Mapping[str, Any]) -> Fields:
    keeps = schema.get("x-kubernetes-preserve-unknown-fields")
    if properties := schema.get("properties"):
        fields = {name: _fields(each) for name, each in properties.items()}
        return {**fields, KEEPS: {}} if keeps else fields
    values = schema.get("items") or schema.get("additionalProperties")
    below = _fields(values) if isinstance(values, Mapping) and not keeps else {}
    return {ELEMENT: below} if below else {}

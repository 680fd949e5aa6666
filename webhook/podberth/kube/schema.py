"""The fields of a Pod and of the workloads that make pods, with their JSON types, from a real API server's schema.

The schema has types, the values of fields that take one of a few, and the merge rules of lists; the API server decides
whether a value is legal.
``tools/pod_schema.py`` writes the packaged file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final, Literal, Self, TypeAlias

POD = "io.k8s.api.core.v1.Pod"
NAMESPACE = "io.k8s.api.core.v1.Namespace"
CONFIG_MAP = "io.k8s.api.core.v1.ConfigMap"

WORKLOADS: Final[Mapping[tuple[str, str], str]] = {
    **{
        ("apps/v1", kind): f"io.k8s.api.apps.v1.{kind}"
        for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
    },
    **{("batch/v1", kind): f"io.k8s.api.batch.v1.{kind}" for kind in ("CronJob", "Job")},
    **{("v1", kind): f"io.k8s.api.core.v1.{kind}" for kind in ("Pod", "PodTemplate", "ReplicationController")},
}
"""The definitions of Kubernetes' own kinds that make pods, by apiVersion and kind."""

_PACKAGED: Final = "pod-1.36.json"
_PACKAGED_WORKLOADS: Final = "workloads-1.36.json"

Kind: TypeAlias = Literal["boolean", "integer", "number", "string", "any", "array", "map", "message"]
_SCALARS: Mapping[str, Kind] = {"boolean": "boolean", "integer": "integer", "number": "number", "string": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The type of one value in a document, such as a field of a Pod.

    ``kind`` is ``message`` for an object with named fields. It is ``any`` if the value may have several JSON types
    (Quantity, IntOrString), or if its content is not described (fieldsV1).
    """

    kind: Kind
    message: str = ""
    """The full name of the definition, if ``kind`` is ``message``."""
    element: "Schema | None" = None
    """The type of the items of an array or the values of a map."""
    list_type: Literal["", "atomic", "set", "map"] = ""
    """The way in which server-side apply merges an array; empty means atomic (structured-merge-diff)."""
    list_map_keys: tuple[str, ...] = ()
    """The fields that identify an item, if ``list_type`` is ``map``."""
    atomic: bool = False
    """Whether a map or an object is merged as one value."""
    default: Any = None
    """The default of a scalar that is left out; None if the scalar has no default."""
    bits: Literal[32, 64] = 64
    """The size of a whole number in bits."""
    values: tuple[str, ...] = ()
    """The values of a string that has one of a few, in alphabetical order; empty: any."""


Definitions: TypeAlias = Mapping[str, Mapping[str, Schema]]
"""A mapping from the full name of an object type ("io.k8s.api.core.v1.Container") to the type of each of its fields."""


@dataclass(frozen=True, slots=True)
class PodSchema:
    """The definitions reachable from Pod, Namespace and ConfigMap."""

    definitions: Definitions

    @classmethod
    def packaged(cls) -> Self:
        """Return the schema that is packaged with podberth. The method parses 45 kB, so call it once in a process."""
        return cls.from_document(_packaged(_PACKAGED))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Parse a schema in the JSON format in which podberth packages it.

        Raises:
            ValueError: an unknown type, or a reference to a missing definition.
        """
        return cls(_definitions(document, document))


def workload_type(document: Mapping[str, Any]) -> str:
    """Return the full name of the type of an object that is of one of WORKLOADS; empty if it is of another kind."""
    version, kind = document.get("apiVersion"), document.get("kind")
    return WORKLOADS.get((version, kind), "") if isinstance(version, str) and isinstance(kind, str) else ""


@cache
def workload_definitions() -> Definitions:
    """Return a mapping from full name to definition for the kinds that make pods, and for all parts of the kinds.

    Definitions that the packaged schema of a Pod has are left out. The packaged file is read at the first call. The
    content of a status is not described.
    """
    found = _packaged(_PACKAGED_WORKLOADS)
    return _definitions(found, {**_packaged(_PACKAGED), **found})


def _definitions(found: Mapping[str, Any], document: Mapping[str, Any]) -> Definitions:
    """Return a mapping from name to parsed definition for ``found``, whose references lead into ``document``."""
    return {
        name: {field: _read(each, document) for field, each in body["properties"].items()}
        for name, body in found.items()
        if "properties" in body
    }


def _packaged(name: str) -> Any:
    return json.loads(resources.files(__package__).joinpath("data", name).read_text(encoding="utf-8"))


def _read(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Schema:
    if reference := schema.get("$ref"):
        return _referred(reference, document)
    if "oneOf" in schema:
        return Schema(kind="any")
    kind = schema.get("type", "object")
    if kind in _SCALARS:
        bits: Literal[32, 64] = 32 if schema.get("format") == "int32" else 64
        words = tuple(schema.get("enum", ()))
        return Schema(kind=_SCALARS[kind], default=schema.get("default"), bits=bits, values=words)
    if kind == "array":
        return Schema(
            kind="array",
            element=_read(schema["items"], document),
            list_type=schema.get("x-kubernetes-list-type", ""),
            list_map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        )
    if kind == "object" and "properties" not in schema:
        values = schema.get("additionalProperties")
        atomic = _is_atomic(schema)
        return Schema(kind="map", element=_read(values, document), atomic=atomic) if values else Schema(kind="any")
    raise ValueError(f"schema: got type {kind!r} with {sorted(schema)}, want a scalar, an array, a map or a $ref")


def _referred(name: str, document: Mapping[str, Any]) -> Schema:
    if name not in document:
        raise ValueError(f"schema: got a $ref to {name}, want a definition of that name in the document")
    # Time, Quantity, IntOrString and the like are definitions without fields: only their JSON type matters.
    found = document[name]
    if "properties" not in found:
        return _read(found, document)
    return Schema(kind="message", message=name, atomic=_is_atomic(found))


def _is_atomic(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("x-kubernetes-map-type") == "atomic")

"""JSON schemas for kubeconform, of what an API server says about itself: its own kinds and those of its CRDs.

kubeconform's `-strict` looks for duplicate keys; that a field is unknown a schema has to say itself, so each object
that lists its fields is closed here. What CEL and defaults say besides only the API server knows.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for

Document = dict[str, Any]
Kind = tuple[str, str]
"""apiVersion and kind."""

LOCATION = "{{ .Group }}/{{ .ResourceAPIVersion }}/{{ .ResourceKind }}.json"
"""Where kubeconform looks below the folder; of the core both parts are its version."""
_SECONDS = 30.0
_REFERENCE = "#/components/schemas/"


def write_schemas(control_plane: ControlPlane, kinds: Iterable[Kind], folder: Path) -> None:
    """Write the schema of each kind. The API server publishes those of CRDs some time after it serves them."""
    for version, kind in kinds:
        schema = wait_for(
            partial(_schema, control_plane, version, kind),
            timeout_seconds=_SECONDS,
            what=f"the schema of {version} {kind}",
        )
        group, _, last = version.rpartition("/")
        file = folder / (group or last) / last / f"{kind.lower()}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(schema))


def _schema(control_plane: ControlPlane, version: str, kind: str) -> Document | None:
    path = f"/openapi/v3/{'apis' if '/' in version else 'api'}/{version}"
    answer = control_plane.api.ask("GET", path)
    if answer.status != 200:
        return None
    known: dict[str, Document] = answer.document["components"]["schemas"]
    group, _, last = version.rpartition("/")
    named = {"group": group, "version": last, "kind": kind}
    names = [name for name, each in known.items() if each.get("x-kubernetes-group-version-kind") == [named]]
    if not names:
        return None
    [name] = names
    needed = {each: _closed(known[each]) for each in _reached(known, name)}
    return {"$ref": _REFERENCE + name, "components": {"schemas": needed}}


def _reached(known: dict[str, Document], first: str) -> set[str]:
    """Name the schemas that one leads to, itself included."""
    found, ahead = set[str](), [first]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += _references(known[name])
    return found


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _references(each)
    elif isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference.removeprefix(_REFERENCE)
        for each in schema.values():
            yield from _references(each)


def _closed(schema: Document) -> Document:
    """Return a schema that lets no field in which it does not name, and null where OpenAPI's `nullable` does.

    What stands below allOf, anyOf, oneOf and not names no fields of its own, or some of those beside it.
    """
    made = dict(schema)
    if "properties" in schema:
        made["properties"] = {key: _closed(each) for key, each in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            made.setdefault("additionalProperties", False)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            made[key] = _closed(schema[key])
    if schema.get("nullable") and isinstance(schema.get("type"), str):
        made["type"] = [schema["type"], "null"]
    return made

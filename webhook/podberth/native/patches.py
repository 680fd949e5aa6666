"""Applies a mutation of a MutatingAdmissionPolicy to an object, then decodes the object and adds defaults.

Source: pkg/admission/plugin/policy/mutating/patch and dispatchOne in dispatcher.go of apiserver. ``kube.merge`` merges
and ``kube.json_patch`` patches, as for GPUPolicies. A kind whose fields podberth does not know is an error.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ..errors import EvaluationError
from ..kube import merge, typed
from ..kube.json_patch import PatchError, UnmetError, edit
from ..kube.paths import Path
from ..kube.positions import render_path
from ..kube.schema import CONFIG_MAP, NAMESPACE, WORKLOADS, PodSchema, Schema, workload_definitions
from ..mutation.concerns.json_patch import operation
from .as_created import defaulted
from .resources import ResourceKind


class UnjudgedError(Exception):
    """podberth cannot predict the object that the API server would make of an object by a mutation."""


class InternalError(Exception):
    """The API server answers with an internal error, under either failurePolicy."""


def applied(kind: ResourceKind, patch_type: str, document: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """Return an object with a mutation applied; ``value`` is the value of the mutation's expression.

    Raises:
        EvaluationError: the mutation cannot be applied.
        InternalError: the API server cannot decode the result.
        UnjudgedError: podberth does not know the fields of the object's kind.
    """
    schema = _type_of(kind)
    if patch_type == "ApplyConfiguration":
        made = _merged(kind, schema, document, value)
    else:
        made = _patched(kind, schema, document, value)
    return defaulted(made, kind)


def _merged(kind: ResourceKind, schema: Schema | None, document: Mapping[str, Any], value: Any) -> dict[str, Any]:
    if schema is None:
        raise UnjudgedError(f"applyConfiguration of {kind.api_version} {kind.kind}: its merge keys are not known")
    for path in _nulls(value, ()):
        raise EvaluationError(
            f"error applying patch: {render_path(path)}: got null, which the API server does not take for a field that "
            "is left out; want a value, or ?field: optional.none()"
        )
    value = _wrapped(schema, value)
    stated = {**value, "apiVersion": kind.api_version, "kind": kind.kind}
    try:
        made: dict[str, Any] = merge.merge(_schema(), schema, document, stated)
    except merge.ConfigurationError as error:
        raise EvaluationError(f"error applying patch: {error}") from error
    return made


def _wrapped(kind: Schema, value: Any) -> Any:
    """Return an applyConfiguration with whole numbers cut to the size of their fields, such as 32 bits, as in Go.

    Source: runtime.DefaultUnstructuredConverter of apimachinery (pkg/runtime/converter.go, fromUnstructured).
    """
    if kind.kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
        return typed.wrapped(value, kind.bits)
    if not typed.has_parts(kind, value):
        return value
    try:
        parts = list(typed.children(_schema(), kind, value, ""))
    except typed.MisfitError:  # merging refuses it
        return value
    made = [(key, _wrapped(below, item)) for key, item, below in parts]
    return dict(made) if isinstance(value, dict) else [item for _, item in made]


def _nulls(value: Any, path: Path) -> Iterator[Path]:
    """Yield the path of each null in a JSON value."""
    if value is None:
        yield path
    elif isinstance(value, (Mapping, list)):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _nulls(item, (*path, key))


def _patched(kind: ResourceKind, schema: Schema | None, document: Mapping[str, Any], value: Any) -> dict[str, Any]:
    if schema is None and kind.built_in:
        raise UnjudgedError(f"jsonPatch of {kind.api_version} {kind.kind}: its fields are not known")
    operations = [operation(each, f"jsonPatch[{index}]") for index, each in enumerate(value)]
    try:
        made = edit(dict(document), operations, lambda _, __: None, nothing_is_null=True)
    except UnmetError:
        return dict(document)
    except PatchError as error:
        raise EvaluationError(f"JSON Patch: {error}") from error
    if schema is None:
        return made
    try:
        decoded: dict[str, Any] = _decoded(schema, made, "object")
        typed.check(_schema(), schema, decoded, "object")
    except typed.MisfitError as error:
        raise InternalError(str(error)) from error
    return decoded


# What null becomes as a value of a map or an item of a list. Those of no one type are quantities.
_ZEROS: Final[Mapping[str, Any]] = {
    "boolean": False,
    "integer": 0,
    "number": 0,
    "string": "",
    "array": [],
    "map": {},
    "message": {},
    "any": "0",
}


def _decoded(kind: Schema, value: Any, where: str) -> Any:
    """Return a JSON value as Go decodes it: without null fields; null in a map or list becomes an empty value."""
    if not typed.has_parts(kind, value):
        return value
    read = []
    for key, item, below in typed.children(_schema(), kind, value, where):
        if item is None and kind.kind in ("map", "array"):
            read.append((key, _ZEROS[below.kind]))
        elif item is not None:
            read.append((key, _decoded(below, item, f"{where}.{key}")))
    return dict(read) if isinstance(value, dict) else [item for _, item in read]


def _type_of(kind: ResourceKind) -> Schema | None:
    names = {**WORKLOADS, ("v1", "ConfigMap"): CONFIG_MAP, ("v1", "Namespace"): NAMESPACE}
    name = names.get((kind.api_version, kind.kind))
    return None if name is None else Schema(kind="message", message=name)


@cache
def _schema() -> PodSchema:
    """Return the definitions of all kinds whose fields podberth knows."""
    return PodSchema({**workload_definitions(), **PodSchema.packaged().definitions})

"""What a mutation of a MutatingAdmissionPolicy makes of an object: merged or patched, decoded, and with its defaults.

Source: pkg/admission/plugin/policy/mutating/patch and dispatchOne in dispatcher.go of apiserver. Merging is
``kube.merge``, patching ``kube.json_patch``, as for GPUPolicies; what is not known here is an error that names it.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

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
    """podberth cannot say what the API server would make of the object."""


class InternalError(Exception):
    """The API server answers with an error of its own, whatever the failurePolicy."""


def applied(kind: ResourceKind, patch_type: str, document: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """Return an object with a mutation applied; ``value`` is what its expression gives.

    Raises:
        EvaluationError: the mutation cannot be applied.
        InternalError: the API server cannot read what it gives.
        UnjudgedError: podberth does not know the fields of the kind.
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
    stated = {**value, "apiVersion": kind.api_version, "kind": kind.kind}
    try:
        made: dict[str, Any] = merge.merge(_schema(), schema, document, stated)
    except merge.ConfigurationError as error:
        raise EvaluationError(f"error applying patch: {error}") from error
    return made


def _nulls(value: Any, path: Path) -> Iterator[Path]:
    """Yield the path of each null in a value."""
    if value is None:
        yield path
    elif isinstance(value, (Mapping, list)):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _nulls(item, (*path, key))


def _patched(kind: ResourceKind, schema: Schema | None, document: Mapping[str, Any], value: Any) -> dict[str, Any]:
    if schema is None and kind.built_in:
        raise UnjudgedError(f"jsonPatch of {kind.api_version} {kind.kind}: its fields are not known")
    operations = [operation(each, f"jsonPatch[{index}]") for index, each in enumerate(value)]
    for each in value:
        if each.get("op") in ("add", "replace") and "value" not in each:
            raise UnjudgedError(f"jsonPatch: {each['op']} {each.get('path')} has no value")
    try:
        made = edit(dict(document), operations, lambda _, __: None)
    except UnmetError:
        return dict(document)
    except PatchError as error:
        raise EvaluationError(f"JSON Patch: {error}") from error
    if schema is not None:
        try:
            typed.check(_schema(), schema, made, "object")
        except typed.MisfitError as error:
            raise InternalError(str(error)) from error
    return made


def _type_of(kind: ResourceKind) -> Schema | None:
    names = {**WORKLOADS, ("v1", "ConfigMap"): CONFIG_MAP, ("v1", "Namespace"): NAMESPACE}
    name = names.get((kind.api_version, kind.kind))
    return None if name is None else Schema(kind="message", message=name)


@cache
def _schema() -> PodSchema:
    """Return the definitions of all kinds whose fields are known."""
    return PodSchema({**workload_definitions(), **PodSchema.packaged().definitions})

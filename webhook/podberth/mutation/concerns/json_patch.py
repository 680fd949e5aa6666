"""The mutation ``jsonPatch``: operations as in MutatingAdmissionPolicy (``kube.json_patch``)."""

from typing import Any, cast, get_args

from ...errors import EvaluationError
from ...kube import json_patch, typed
from ...kube.json_patch import Operation, Steps, Verb
from ...kube.patch import Draft
from ...kube.schema import PodSchema
from .. import forbidden_fields, leaf, operations
from ..change import Change

_KEYS = ("op", "path", "from", "value")
_VERBS = get_args(Verb)
_WITH_SOURCE = ("move", "copy")


def apply(draft: Draft, value: object, schema: PodSchema) -> Change | None:
    """Apply the JSON Patch ``value``, a list of {op, path, from, value}; return the change, None if nothing changes.

    If a ``test`` operation fails, no operation is applied.

    Raises:
        EvaluationError: an operation is malformed or does not apply, a value does not fit the schema, or the patch
            changes a field that no policy may write.
    """
    found = [operation(item, f"jsonPatch[{index}]") for index, item in enumerate(leaf.maps(value, "jsonPatch"))]

    def admit(path: Steps, wanted: Any) -> None:
        try:
            typed.check(schema, typed.type_at(schema, path), wanted, "value")
        except typed.MisfitError as error:
            raise json_patch.PatchError(str(error)) from error

    try:
        document = json_patch.edit(draft.document, found, admit)
    except json_patch.UnmetError:
        return None
    except json_patch.PatchError as error:
        raise EvaluationError(f"jsonPatch{error}") from error
    return forbidden_fields.take(draft, document, "jsonPatch")


def operation(item: dict[str, Any], where: str) -> Operation:
    """Return a JSON Patch operation from the map that a policy's expression gave.

    Raises:
        EvaluationError: the map is no valid operation; the message begins with ``where``.
    """
    leaf.fields(item, where, _KEYS)
    verb = item.get("op")
    if verb not in _VERBS:
        raise EvaluationError(f"{where}.op: got {leaf.kind(verb)}, want one of {', '.join(_VERBS)}")
    return Operation(
        cast("Verb", verb),
        _steps(item, where, "path"),
        _steps(item, where, "from") if verb in _WITH_SOURCE else (),
        item.get("value", json_patch.ABSENT),
    )


def _steps(item: dict[str, Any], where: str, key: str) -> Steps:
    try:
        return json_patch.steps_of(leaf.text(item.get(key), f"{where}.{key}"))
    except json_patch.PatchError as error:
        raise EvaluationError(f"{where}.{key}: {error}") from error


CONCERN = operations.concern("jsonPatch", apply)

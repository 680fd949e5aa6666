"""The types of a MutatingAdmissionPolicy's patches: ``Object{...}``, ``Object.spec{...}`` and ``JSONPatch{...}``.

Upstream resolves each name that begins with ``Object.`` to a type that has all fields, each of type dyn (apiserver
pkg/cel/mutation/typeresolver.go). podberth's checker knows only declared messages. So the messages that an expression
names are declared for the expression, with every word of the expression as a field. A nested name is written with ``_``
for ``.``, because a message cannot have a field and an inner message of one name; the text keeps its length, and the
positions of problems stay right.

At run time, an object of such a type is a map with the type's name under the key ``TYPE``, which no JSON field has.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..errors import EvaluationError
from . import ast
from .ast import Node
from .bodies import Bodies
from .types import DYN, OPTIONAL, CelType, Want

WANTS: Final = frozenset({Want.OBJECT, Want.JSON_PATCHES})
"""The required types of the expressions whose value is a whole patch."""
_MAY: Final = re.compile(r"\b(?:Object|JSONPatch)\b")
TYPE: Final = "\0type"

_OBJECT: Final = "Object"
_JSON_PATCH: Final = "JSONPatch"
# A text or a comment of CEL, which is left as it is, or the name of a type before its fields.
_TOKEN: Final = re.compile(
    r"""(?P<other>[rR]?[bB]?(?:\"\"\"(?:\\.|.)*?\"\"\"|'''(?:\\.|.)*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*)"""
    r"""|(?<![\w.])(?P<name>Object(?:\.\w+)*)(?=\s*\{)""",
    re.DOTALL,
)
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_FIELDS_OF_A_PATCH: Final = {"op": "string", "path": "string", "from": "string", "value": "dyn"}
_MAX_SAFE: Final = 2**53 - 1
_IS_UINT: Final = "type({}) == type(1u)"
# Upstream merges no value of type uint (structured-merge-diff value/scalar.go).
_TESTS_OF_UINT: Final[Mapping[CelType, str]] = {
    **dict.fromkeys((CelType("uint"), DYN), _IS_UINT.format("a")),
    **dict.fromkeys(
        (CelType(OPTIONAL, (CelType("uint"),)), CelType(OPTIONAL, (DYN,))),
        f"a.hasValue() && {_IS_UINT.format('a.value()')}",
    ),
}
_NON_ZERO: Final = "optional.ofNonZeroValue"


def may_be_named(source: str, want: Want) -> bool:
    """Return whether the types ``Object`` and ``JSONPatch`` of mutating policies are permitted in an expression.

    ``want`` is the required type of the expression. The types are permitted if ``want`` is a patch. If ``want`` is
    ``Want.PART``, any value or a part of a patch, they are permitted if the expression ``source`` names one of them.
    """
    return want in WANTS or (want is Want.PART and _MAY.search(source) is not None)


def flattened(source: str) -> str:
    """Return an expression of equal length with "_" for "." in the names of types such as ``Object.spec``."""
    return _TOKEN.sub(lambda found: found["other"] or found["name"].replace(".", "_"), source)


def messages(source: str) -> dict[str, Mapping[str, str]]:
    """Return a mapping from the name of each message type in an expression to the types of the message's fields.

    The expression has "_" for "." in the names of types.
    """
    fields = dict.fromkeys(sorted(set(_WORD.findall(source))), "dyn")
    names = {_OBJECT} | {found["name"] for found in _TOKEN.finditer(source) if found["name"]}
    names |= {word for word in fields if word.startswith(f"{_OBJECT}_")}
    return {_JSON_PATCH: _FIELDS_OF_A_PATCH, **dict.fromkeys(sorted(names), fields)}


def is_patch_type(name: str) -> bool:
    """Return whether the name of a message type is ``JSONPatch``, ``Object`` or a nested type of ``Object``."""
    return name in (_OBJECT, _JSON_PATCH) or name.startswith(f"{_OBJECT}_")


def lower(checked: Node, node: Node, bodies: Bodies) -> str:
    """Change an ``Object`` or ``JSONPatch`` literal to a map, in place; return a message if podberth cannot, else "".

    ``bodies`` writes operands into a CEL expression that podberth adds.
    """
    struct = node.struct_expr
    for entry in struct.entries:
        if not entry.optional_entry and ast.type_of(checked, entry.value).name == OPTIONAL:
            return f"{entry.field_key}: got an optional, which podberth does not judge here; write ?{entry.field_key}"
        is_object = struct.message_name != _JSON_PATCH
        if is_object and any(map(_is_plain_map, entry.value.list_expr.elements)):
            return (
                f"{entry.field_key}: got a map in a list of an Object, which podberth does not judge; write an Object"
            )
        if is_object and (test := _TESTS_OF_UINT.get(ast.type_of(checked, entry.value))):
            message = f"error applying patch: {entry.field_key}: expected numeric (int or float), got uint64"
            entry.value.CopyFrom(bodies.apply(f"{test} ? internal.fail({message!r}) : a", [ast.copy_of(entry.value)]))
        entry.map_key.const_expr.string_value = entry.field_key
        entry.ClearField("field_key")
    entry = struct.entries.add()
    entry.map_key.const_expr.string_value = TYPE
    entry.value.const_expr.string_value = struct.message_name
    struct.ClearField("message_name")
    return ""


def _is_plain_map(node: Node) -> bool:
    entries = node.struct_expr.entries
    return ast.kind(node) == "struct_expr" and all(each.map_key.const_expr.string_value != TYPE for each in entries)


def unjudged(checked: Node, node: Node) -> str:
    """Return a message if podberth cannot evaluate a call because an operand is an Object or JSONPatch; else empty."""
    asks = node.call_expr.function == _NON_ZERO
    if asks and any(is_patch_type(ast.type_of(checked, each).name) for each in ast.children(node)):
        return "optional.ofNonZeroValue of an Object is not judged by podberth; write a condition"
    return ""


def settled(value: Any) -> Any:
    """Return an Object, or a list of JSONPatches, as plain JSON; any other value unchanged.

    Raises:
        EvaluationError: a type's name is not the path of the field with the object (CheckTypeNamesMatchFieldPathNames,
            apiserver pkg/cel/mutation/dynamic/objects.go).
    """
    if isinstance(value, list) and all(isinstance(each, dict) and TYPE in each for each in value):
        return [{key: _settled(_safe(each)) for key, each in patch.items() if key != TYPE} for patch in value]
    return _settled(value)


def _settled(value: Any) -> Any:
    if isinstance(value, list):
        return [_settled(each) for each in value]
    if isinstance(value, dict) and TYPE in value:
        wrong = [f'unexpected type name "{got}", expected "{want}"' for got, want in _misnamed(value, value[TYPE])]
        if wrong:
            listed = ", which matches field name path from root Object type\n".join(wrong)
            raise EvaluationError(f"type mismatch: {listed}, which matches field name path from root Object type")
    return _without_types(value)


def _safe(value: Any) -> Any:
    """Return a value in a JSONPatch; whole numbers that a double cannot hold exactly become texts.

    Source: isJSONSafe of cel-go common/types/int.go and uint.go.
    """
    if isinstance(value, dict):
        return {key: _safe(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_safe(each) for each in value]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_whole and abs(value) > _MAX_SAFE else value


def _misnamed(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for each in value:
            yield from _misnamed(each, path)
    elif isinstance(value, dict) and TYPE in value:
        if value[TYPE] != path:
            yield value[TYPE].replace("_", "."), path.replace("_", ".")
        for key, each in value.items():
            yield from _misnamed(each, f"{path}_{key}")
    elif isinstance(value, dict):
        for each in value.values():
            yield from _misnamed(each, path)


def _without_types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_types(value[key]) for key in sorted(value) if key != TYPE}
    if isinstance(value, float) and value.is_integer():  # a number of JSON, which an integer field takes
        return int(value)
    return [_without_types(each) for each in value] if isinstance(value, list) else value

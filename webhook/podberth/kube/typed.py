"""Checks values against the API server's schema: whether the API server could decode them.

Only types and the existence of fields are checked; the API server decides whether a value is legal.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..words import did_you_mean
from .schema import POD, PodSchema, Schema
from .shape import shown

POD_TYPE: Final = Schema(kind="message", message=POD)
_ANY: Final = Schema(kind="any")

_PLAIN: Final[dict[str, tuple[type, ...]]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "map": (dict,),
    "message": (dict,),
}


class MisfitError(ValueError):
    """A value has another type than in the schema, or a field that the schema does not have."""


def check(schema: PodSchema, kind: Schema, value: Any, where: str) -> None:
    """Check that a value and all its parts have the types that the schema gives them.

    Null is allowed, except as an item of a list, as in the API server.

    Args:
        schema: the definitions that ``kind`` refers to.
        kind: the type that the value should have.
        value: the value.
        where: the value's path, for messages.

    Raises:
        MisfitError: a part has a wrong type, or a field is unknown; the message has the path of the first such part.
    """
    if value is None or kind.kind == "any":
        return
    if not isinstance(value, _PLAIN[kind.kind]) or (isinstance(value, bool) and kind.kind != "boolean"):
        got = "a map" if isinstance(value, dict) else shown(value, 40)
        raise MisfitError(f"{where}: got {got}, want {_named(kind)}")
    if kind.kind == "integer" and isinstance(value, int) and value != wrapped(value, kind.bits):
        raise MisfitError(f"{where}: got {value}, want a whole number of {kind.bits} bits")
    for at, child, below in children(schema, kind, value, where):
        place = f"{where}[{at}]" if isinstance(at, int) else f"{where}.{at}"
        if child is None and isinstance(at, int):
            raise MisfitError(f"{place}: got null, want {_named(below)}")
        check(schema, below, child, place)


def wrapped(number: int, bits: int) -> int:
    """Return the signed integer of ``bits`` bits to which Go converts a number."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def has_parts(kind: Schema, value: Any) -> bool:
    """Return whether a value is a list, map or object, as its type ``kind`` requires; False for any other value."""
    return kind.kind in ("array", "map", "message") and isinstance(value, _PLAIN[kind.kind])


def children(schema: PodSchema, kind: Schema, value: Any, where: str) -> Iterator[tuple[str | int, Any, Schema]]:
    """Yield (key or index, value, type) for each part of an object, map or list; nothing for a scalar.

    ``kind`` is the type of ``value``, and ``where`` its path for messages.

    Raises:
        MisfitError: the object has a field that the schema does not have.
    """
    if kind.kind == "array":
        yield from ((index, item, kind.element or _ANY) for index, item in enumerate(value))
    elif kind.kind in ("map", "message"):
        yield from ((key, item, step(schema, kind, key, where)) for key, item in value.items())


def step(schema: PodSchema, kind: Schema, key: str, where: str) -> Schema:
    """Return the type of the part at ``key`` of a value whose type is ``kind``.

    If the value is a list, the type is that of an item, whatever ``key`` is. ``where`` is the value's path, for
    messages.

    Raises:
        MisfitError: a value of type ``kind`` has no such field.
    """
    if kind.kind in ("array", "map"):
        return kind.element or _ANY
    if kind.kind == "any":
        return _ANY
    if kind.kind != "message":
        raise MisfitError(f"{where}: got {key!r} below {_named(kind)}")
    fields = schema.definitions[kind.message]
    if key not in fields:
        raise MisfitError(f"{where}: unknown field {key!r}{did_you_mean(key, fields)}")
    return fields[key]


def type_at(schema: PodSchema, steps: Sequence[str]) -> Schema:
    """Return the type of the value at a path of a Pod; a step into a list is an index as text, or ``-``.

    Raises:
        MisfitError: the schema allows no value at the path.
    """
    kind, where = POD_TYPE, "object"
    for key in steps:
        kind = step(schema, kind, key, where)
        where += f".{key}"
    return kind


def _named(kind: Schema) -> str:
    if kind.kind == "message":
        return kind.message.rpartition(".")[2]
    return {"array": "a list", "map": "a map", "integer": "a whole number"}.get(kind.kind, f"a {kind.kind}")

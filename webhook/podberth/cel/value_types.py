"""Checks whether the value of an expression has the type that the policy's field requires."""

import math
from collections.abc import Mapping
from typing import Any

from .types import Want

_PYTHON: Mapping[Want, type] = {
    Want.BOOL: bool,
    Want.STRING: str,
    Want.MESSAGE: str,
    Want.INT: int,
    Want.MAP: dict,
    Want.LIST_OF_MAPS: list,
    Want.OBJECT: dict,
    Want.JSON_PATCHES: list,
}
_NAMES: Mapping[type, str] = {
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    list: "list",
    dict: "map",
    bytearray: "bytes",
    type(None): "null",
}

# No field of the Pod API lies deeper than about 15 levels; values written into one need no more.
_MAX_DEPTH = 100

MOST_VALUES = 20_000
"""The maximum number of values, including nested ones, in a map or list that is written into a pod. A term of node
affinity may name 10,000 nodes (``kube.pod_limits``). Checking one value takes 0.5 us."""


def misfit(plain: Any, want: Want) -> str:
    """Return a message if a value does not have the wanted type; else an empty text.

    Null is accepted as "no change", unless a bool is wanted. Maps must consist of JSON values, because maps are written
    into a manifest.
    """
    if want in (Want.ANY, Want.PART) or (plain is None and want is not Want.BOOL):
        return ""
    kind: type = type(plain)
    if kind is not _PYTHON[want]:
        return f"got {_named(plain)}, want {want.value}"
    if want is Want.LIST_OF_MAPS:
        for each in plain:
            if type(each) is not dict:
                return f"got a list with {_named(each)} in it, want {want.value}"
    return "" if want in (Want.BOOL, Want.STRING, Want.MESSAGE, Want.INT) else _no_json(plain)


def ordered(plain: Any) -> Any:
    """Return a JSON value with the keys of every map sorted, because CEL's maps have no order.

    The caller must have checked that the depth of the value is limited, because this function is recursive.
    """
    if isinstance(plain, dict):
        return {key: ordered(plain[key]) for key in sorted(plain)}
    return [ordered(each) for each in plain] if isinstance(plain, list) else plain


def _no_json(plain: Any) -> str:
    """Return a message if a value is not JSON or exceeds the limits; else an empty text. No recursion is used."""
    waiting: list[tuple[Any, int]] = [(plain, 0)]
    seen = 0
    while waiting:
        each, depth = waiting.pop()
        seen += 1
        if seen + len(waiting) > MOST_VALUES:
            return f"got a value with more than {MOST_VALUES:,} values in it, want less"
        if depth > _MAX_DEPTH:
            return f"got a value nested more than {_MAX_DEPTH} levels deep, want less"
        if isinstance(each, dict):
            for key in each:
                if not isinstance(key, str):
                    return f"got a map with the key {key!r}, want string keys"
            waiting += [(value, depth + 1) for value in each.values()]
        elif isinstance(each, list):
            waiting += [(value, depth + 1) for value in each]
        elif isinstance(each, float) and not math.isfinite(each):
            return f"got the number {each}, want a finite one"
        elif not isinstance(each, str | int | float | None):
            return f"got {_named(each)} inside, want JSON values; write string(...)"
    return ""


def _named(plain: Any) -> str:
    return _NAMES.get(type(plain), type(plain).__name__)

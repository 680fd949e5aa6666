"""Reads values from documents of unchecked shape; no function here raises, whatever the document contains."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from .shape import shown

LARGEST_SIZE: Final = 2**31 - 1
"""The largest number of replicas, which are int32 throughout the API (kubernetes/api batch/v1 JobSpec.Parallelism)."""


def at(document: object, *path: str) -> Any:
    """Return the value at a path of an unchecked document; None if the path leads nowhere."""
    for step in path:
        # The test of the type is for speed: isinstance of an abstract class takes longer than all the rest.
        if type(document) is not dict and not isinstance(document, Mapping):
            return None
        document = document.get(step)
    return document


def is_pod(document: Mapping[str, Any]) -> bool:
    """Return whether a document is a Pod."""
    return document.get("apiVersion") == "v1" and document.get("kind") == "Pod"


def mapping_at(document: object, *path: str) -> Mapping[str, Any]:
    """Return the object at a path of an unchecked document; empty if no object is there."""
    found = at(document, *path)
    return found if isinstance(found, Mapping) else {}


def list_at(document: object, *path: str) -> list[Any]:
    """Return the list at a path of an unchecked document; empty if no list is there."""
    found = at(document, *path)
    return found if isinstance(found, list) else []


def text(value: object) -> str:
    """Return ``value`` if it is a string; else the empty string."""
    return value if isinstance(value, str) else ""


def text_at(document: object, *path: str) -> str:
    """Return the string at a path of an unchecked document; empty if no string is there."""
    return text(at(document, *path))


def count(value: object, default: int = 0) -> int:
    """Return ``value`` as a number of replicas.

    The result is ``default`` for null, as in the API, and 0 for any other value that is no positive integer.
    """
    if value is None:
        return default
    return min(value, LARGEST_SIZE) if type(value) is int and value > 0 else 0


def unread(*values: object) -> str:
    """Return the first value that is neither null nor an integer, as text for a message; empty if there is none."""
    for value in values:
        if value is not None and type(value) is not int:
            return f'"{value[:32]}"' if isinstance(value, str) else shown(value)
    return ""


def number(text: str | None) -> int | None:
    """Return the integer that a label or annotation contains; None if it is no decimal number or above LARGEST_SIZE."""
    if not text or not text.isascii() or not text.isdecimal() or len(text) > len(str(LARGEST_SIZE)):
        return None
    value = int(text)
    return value if value <= LARGEST_SIZE else None


def key_of(value: object) -> bytes:
    """Return bytes that are equal for equal JSON values, for use in sets and as keys of dicts.

    A value that no API server sends (deep nesting, a number beyond 64 bits) equals no other value.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # nested more deeply than orjson writes, or a number beyond 64 bits
        return str(id(value)).encode()

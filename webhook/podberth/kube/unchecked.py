"""Readers of documents of unchecked shape: no function here raises, whatever its input."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

LARGEST_SIZE: Final = 2**31 - 1
"""Replica counts are int32 throughout the API (kubernetes/api batch/v1 JobSpec.Parallelism)."""


def at(document: object, *path: str) -> Any:
    """Return the value at a path of an unchecked document, None where there is none."""
    for step in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(step)
    return document


def mapping_at(document: object, *path: str) -> Mapping[str, Any]:
    """Return the object at a path of an unchecked document, empty where there is none."""
    found = at(document, *path)
    return found if isinstance(found, Mapping) else {}


def list_at(document: object, *path: str) -> list[Any]:
    """Return the list at a path of an unchecked document, empty where there is none."""
    found = at(document, *path)
    return found if isinstance(found, list) else []


def text(value: object) -> str:
    """Return a text of an unchecked document, empty where the value is no text."""
    return value if isinstance(value, str) else ""


def text_at(document: object, *path: str) -> str:
    """Return the text at a path of an unchecked document, empty where there is none."""
    return text(at(document, *path))


def count(value: object, default: int = 0) -> int:
    """Return a replica count of an unchecked document; null and absent give ``default``, as in the API."""
    if value is None:
        return default
    return min(value, LARGEST_SIZE) if type(value) is int and value > 0 else 0


def unread(*values: object) -> str:
    """Return the first replica count that is no whole number, as in ``replicas: PLACEHOLDER``; empty: all are read."""
    for value in values:
        if value is not None and type(value) is not int:
            return f'"{value[:32]}"' if isinstance(value, str) else type(value).__name__
    return ""


def number(text: str | None) -> int | None:
    """Return the count or index in a label or annotation, or None where there is none."""
    if not text or not text.isascii() or not text.isdecimal() or len(text) > len(str(LARGEST_SIZE)):
        return None
    value = int(text)
    return value if value <= LARGEST_SIZE else None


def key_of(value: object) -> bytes:
    """Return bytes that are equal for equal JSON, for sets and keys; JSON that no API server sends equals nothing."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # nested more deeply than orjson writes, or a number beyond 64 bits
        return str(id(value)).encode()

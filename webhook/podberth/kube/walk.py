"""Yields all values of a document with their paths."""

from collections.abc import Iterator, Mapping
from typing import Any

from .paths import Path


def values(document: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield each value of a document with its path, in the document's order; an object or list precedes its parts."""
    waiting: list[tuple[Path, Any]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, Mapping):
            waiting += [((*path, key), each) for key, each in reversed(list(value.items()))]
        elif isinstance(value, list):
            waiting += [((*path, at), each) for at, each in reversed(list(enumerate(value)))]

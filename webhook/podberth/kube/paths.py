"""The two forms of a path in a document: a tuple of steps, and a JSON Pointer (RFC 6901)."""

from collections.abc import Iterable
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""A path in a document: keys and list indexes from the root, as in ``("spec", "containers", 0, "resources")``."""
FieldPath: TypeAlias = tuple[str, ...]
"""The path of a field in any element of the lists on the path: ``("spec", "containers", ELEMENT, "resources")``."""

ELEMENT = "*"
"""The step of a ``FieldPath`` that stands for every element of a list, or every entry of a map."""


def escape(key: str) -> str:
    """Return a key escaped as one step of a JSON Pointer (CEL's function ``jsonpatch.escapeKey`` in Kubernetes)."""
    return key.replace("~", "~0").replace("/", "~1")


def pointer(path: Iterable[str | int]) -> str:
    """Return ``path`` as a JSON Pointer."""
    return "".join("/" + escape(str(step)) for step in path)


def parse_pointer(text: str) -> tuple[str, ...]:
    """Return the steps of a JSON Pointer that begins with "/"."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])

"""Applies a JSON Patch that a policy's author writes: all six operations, as the API server applies them.

This module applies patches that podberth receives; the module ``patch`` makes the patches that podberth sends, and
checks them with this module. The semantics are those of MutatingAdmissionPolicy: apiserver
pkg/admission/plugin/policy/mutating/patch/json_patch.go, which calls gopkg.in/evanphx/json-patch.v4 patch.go. Like that
library, this module goes beyond RFC 6902: negative indexes count from the end, and ``replace`` sets a key that an
object does not have.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import orjson

from .paths import parse_pointer, pointer

Verb: TypeAlias = Literal["add", "remove", "replace", "move", "copy", "test"]
Steps: TypeAlias = tuple[str, ...]

# apiserver pkg/server/config.go: JSONPatchMaxCopyBytes, the limit for the bytes that one patch copies
MAX_COPIED_BYTES = 3 * 1024 * 1024
_INDEX = re.compile(r"[+-]?[0-9]{1,18}")  # strconv.Atoi
ABSENT: Any = object()
"""A marker for an absent value, because None is the value null."""


class PatchError(ValueError):
    """An operation of a JSON Patch cannot be applied to the document."""


class UnmetError(PatchError):
    """A ``test`` operation of a JSON Patch does not hold.

    No operation of the patch is applied then. For users, this is no error: the mutation changes nothing.
    """


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a JSON Patch; ``value`` is ABSENT if the operation has no value."""

    verb: Verb
    path: Steps
    source: Steps = ()
    value: Any = ABSENT


def steps_of(text: str) -> Steps:
    """Return the steps of a JSON Pointer (RFC 6901).

    Raises:
        PatchError: the text is no JSON Pointer, or points to the whole document.
    """
    if not text.startswith("/"):
        raise PatchError(f"got {text!r}, want a JSON Pointer that begins with '/'")
    return parse_pointer(text)


def edit(
    document: dict[str, Any],
    operations: Sequence[Operation],
    admit: Callable[[Steps, Any], None],
    *,
    nothing_is_null: bool = False,
) -> dict[str, Any]:
    """Return ``document`` with the operations of a JSON Patch applied in order; the argument does not change.

    ``admit`` is called with path and value before a value is written, and may raise to refuse it. Unchanged parts are
    shared with the argument. With ``nothing_is_null``, an ``add`` or ``replace`` without a value, and a ``copy`` of a
    key that an object lacks, write null as in the API server; otherwise such operations are errors.

    Raises:
        UnmetError: a ``test`` operation does not hold.
        PatchError: an operation does not apply.
    """
    return _Edit(document, admit, nothing_is_null=nothing_is_null).run(operations)


class _Edit:
    """A document while operations are applied to the document.

    An object or list is copied before it is written for the first time.
    """

    def __init__(self, document: dict[str, Any], admit: Callable[[Steps, Any], None], *, nothing_is_null: bool) -> None:
        self._admit = admit
        self._nothing_is_null = nothing_is_null
        self._ours: dict[int, Any] = {}
        """The copied containers by ``id``. The mapping keeps the containers alive, so that Python does not reuse an
        ``id``.
        """
        self._document = self._own(document)
        self._copied = 0

    def run(self, operations: Iterable[Operation]) -> dict[str, Any]:
        for position, each in enumerate(operations):
            try:
                self._apply(each)
            except UnmetError:
                raise
            except PatchError as error:
                raise PatchError(f"[{position}] {each.verb} {pointer(each.path)}: {error}") from error
        result: dict[str, Any] = self._document
        return result

    def _apply(self, each: Operation) -> None:
        match each.verb:
            case "test":
                self._test(each)
            case "remove":
                self._take(each.path)
            case "move":
                self._put(each.path, self._take(each.source))
            case "copy":
                self._put(each.path, self._copy(each.source))
            case "add" | "replace":
                self._put(each.path, self._given(each.value, "got no value"), replace=each.verb == "replace")

    def _test(self, each: Operation) -> None:
        found = _child(self._at(each.path[:-1]), each.path[-1])
        found = ABSENT if found is None else found
        # A ``test`` without a value checks that the path has no value.
        if (found is ABSENT) != (each.value is ABSENT) or not same(found, each.value):
            raise UnmetError(f"{pointer(each.path)} is not as tested")

    def _copy(self, source: Steps) -> Any:
        found = _child(self._at(source[:-1]), source[-1])
        found = self._given(found, f"there is nothing at {pointer(source)}")
        text = orjson.dumps(found)
        self._copied += len(text)
        if self._copied > MAX_COPIED_BYTES:
            raise PatchError(f"copies more than {MAX_COPIED_BYTES} bytes")
        return orjson.loads(text)

    def _given(self, value: Any, message: str) -> Any:
        if value is not ABSENT:
            return value
        if not self._nothing_is_null:
            raise PatchError(message)
        return None

    def _take(self, path: Steps) -> Any:
        container, key = self._place(path)
        if isinstance(container, list):
            return container.pop(_index(key, len(container)))
        if key not in container:
            raise PatchError(f"there is no {key!r}")
        return container.pop(key)

    def _put(self, path: Steps, value: Any, *, replace: bool = False) -> None:
        container, key = self._place(path)
        self._admit(path, value)
        if isinstance(container, dict):
            container[key] = value
        elif replace:
            container[_index(key, len(container))] = value
        else:
            container.insert(len(container) if key == "-" else _index(key, len(container) + 1), value)

    def _place(self, path: Steps) -> tuple[Any, str]:
        """Return (copy of the object or list that has the part at ``path``, last step of the path).

        The copy may be written.
        """
        container: Any = self._document
        for key in path[:-1]:
            child = _child(container, key)
            if not isinstance(child, (dict, list)):
                raise PatchError(f"there is no {key!r}")
            own = self._own(child)
            if own is not child:
                container[_index(key, len(container)) if isinstance(container, list) else key] = own
            container = own
        return container, path[-1]

    def _at(self, path: Steps) -> Any:
        container: Any = self._document
        for key in path:
            container = _child(container, key)
            if not isinstance(container, (dict, list)):
                raise PatchError(f"there is no {key!r}")
        return container

    def _own(self, container: Any) -> Any:
        if id(container) in self._ours:
            return container
        own = container.copy()
        self._ours[id(own)] = own
        return own


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; unlike in Python, true does not equal 1."""
    if one is other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _child(container: Any, key: str) -> Any:
    return container[_index(key, len(container))] if isinstance(container, list) else container.get(key, ABSENT)


def _index(key: str, length: int) -> int:
    if not _INDEX.fullmatch(key):
        raise PatchError(f"got {key!r} for a list, want an index")
    index = int(key)
    index += length if index < 0 else 0
    if not 0 <= index < length:
        raise PatchError(f"got index {key}, want one below {length}")
    return index

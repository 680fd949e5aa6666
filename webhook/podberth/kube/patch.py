"""Makes a working copy of a document, and the JSON Patch (RFC 6902) that turns the original into the copy.

A review writes a few paths of a pod of some kilobytes. So the copy shares unchanged parts with the original, the patch
is computed from the written paths, and the check of the patch copies only the objects and lists on the written paths.
No function here knows what a pod is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..errors import UnprovedError
from .json_patch import ABSENT, Operation, PatchError, edit, same
from .paths import Path, parse_pointer, pointer

Patch: TypeAlias = list[dict[str, Any]]
"""A JSON Patch: operations of RFC 6902 in order."""


class Draft:
    """A working copy of a document that records which paths were read and written.

    ``original`` is never changed; ``document`` is the result so far and may be read freely, but is written only through
    ``set``, ``append`` and ``remove``. After ``set`` or ``append``, the caller must not change the passed value.
    """

    __slots__ = ("_before", "_owned", "_read", "_touched", "document", "original")

    def __init__(self, original: dict[str, Any]) -> None:
        self.original = original
        self.document = original
        self._owned: set[Path] = set()
        self._before: frozenset[Path] = frozenset()
        self._touched: set[Path] = set()
        self._read: set[Path] = set()

    @property
    def touched(self) -> frozenset[Path]:
        """The paths written since the draft was made or forked."""
        return frozenset(self._touched)

    @property
    def visited(self) -> frozenset[Path]:
        """The paths that were read or written so far.

        A draft and all its forks share their reads. A write counts if it happened in this draft, or if this draft was
        forked after it.
        """
        return frozenset(self._read | self._before | self._touched)

    def get(self, path: Path) -> Any:
        """Return the value at ``path``; None if there is no value."""
        self._read.add(path)
        value = _look_up(self.document, path)
        return None if value is ABSENT else value

    def set(self, path: Path, value: object) -> None:
        """Write ``value`` at ``path``; absent or null parents become objects."""
        self._own(path[:-1])[path[-1]] = value
        self._disown(path)
        self._touched.add(path)

    def append(self, path: Path, value: object) -> None:
        """Append ``value`` to the list at ``path``; an absent or null list is created."""
        current = self.get(path)
        self.set(path, [*(current or ()), value])

    def remove(self, path: Path) -> None:
        """Remove the key at the end of ``path``, if the key exists. The last step must be a key, not a list index."""
        if _look_up(self.document, path) is ABSENT:
            return
        del self._own(path[:-1])[path[-1]]
        self._disown(path)
        self._touched.add(path)

    def become(self, document: dict[str, Any]) -> None:
        """Make the draft's document equal to ``document``; only paths where both documents differ count as written.

        A list whose length differs is written as a whole. Parts that both documents share are not compared.
        """
        for path, _, after in differences(self.document, document):
            if after is ABSENT:
                self.remove(path)
            else:
                self.set(path, after)

    def fork(self) -> "Draft":
        """Return a new draft with the present state of this draft.

        Changes of the new draft do not change this draft.
        """
        branch = Draft(self.original)
        branch.document = self.document
        branch._before = self._before | self._touched
        branch._read = self._read
        self._owned = set()  # the new draft shares the copies
        return branch  # it owns no containers: its first write copies them again

    def patch(self) -> Patch:
        """Return the operations that turn ``original`` into ``document``; empty if both are equal.

        The operations are applied as a check.

        Raises:
            UnprovedError: the operations do not lead to ``document`` (a bug).
        """
        operations = _operations(self.original, self.document, self._before | self._touched)
        if apply(self.original, operations) != self.document:
            raise UnprovedError(f"patch {operations!r} does not lead to the mutated document")
        return operations

    def changes(self, since: "Draft") -> Patch:
        """Return the JSON Patch that turns the draft ``since`` into this draft, a fork of ``since``.

        The patch is not checked.
        """
        return _operations(since.document, self.document, self._touched)

    def _disown(self, path: Path) -> None:
        """Forget the draft's own copies at and below ``path``: they are copied again before a write."""
        if path in self._owned:  # if a container is a copy, so are all containers above it
            self._owned = {owned for owned in self._owned if owned[: len(path)] != path}

    def _own(self, path: Path) -> Any:
        """Return a copy of the object or list at ``path`` that may be written.

        Parents are copied, or created if absent.
        """
        if path in self._owned:
            return _look_up(self.document, path)
        if not path:
            self.document = dict(self.document)
            container: Any = self.document
        else:
            parent = self._own(path[:-1])
            current = _look_up(parent, path[-1:])
            container = {} if current is ABSENT or current is None else current.copy()
            parent[path[-1]] = container
        self._owned.add(path)
        return container


def apply(document: dict[str, Any], operations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``document`` with ``operations`` (add, replace, remove of RFC 6902) applied; the argument is unchanged.

    The function checks the patches that the class ``Draft`` makes, so the two share no code.
    tests/property/test_patch.py compares the function with a complete implementation of the RFC. That implementation is
    not used here because it copies each value deeply.

    Raises:
        UnprovedError: an operation does not apply.
    """
    if not operations:
        return document
    steps = [Operation(each["op"], parse_pointer(each["path"]), value=each.get("value", ABSENT)) for each in operations]
    try:
        return edit(document, steps, lambda _path, _value: None)
    except PatchError as error:
        raise UnprovedError(f"patch does not apply: {error}") from error


def operations(before: Any, after: Any) -> Patch:
    """Return the JSON Patch that turns one document into another; unchanged parts are not rewritten.

    The patch may insert items anywhere in a list. In contrast, the patch of the class ``Draft`` only appends items,
    because a recorded index of an item must stay right.
    """
    return [each for path, old, new in differences(before, after) for each in _difference(path, old, new, inserts=True)]


def differences(before: Any, after: Any, at: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield (path, value before, value after) for each path at which two values differ; ABSENT stands for no value.

    Lists of different lengths differ as a whole. Parts that both values share are not compared. ``at`` is the path of
    both values in the document.
    """
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [key for key in before if key not in after]:
            yield (*at, key), before[key], ABSENT
        for key, value in after.items():
            yield from differences(before.get(key, ABSENT), value, (*at, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, (*at, index))
    elif not same(before, after):
        yield at, before, after


def _look_up(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, ABSENT)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return ABSENT
    return value


def _existing(document: Any, path: Path) -> Path:
    """Return ``path``, cut after the first step at which ``document`` has null, no value or a scalar."""
    for depth, step in enumerate(path, 1):
        document = _look_up(document, (step,))
        if not isinstance(document, (dict, list)):
            return path[:depth]
    return path


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths, sorted, without each path that lies below another of the paths."""
    there = set(paths)
    outer = [path for path in there if there.isdisjoint(path[:depth] for depth in range(1, len(path)))]
    return sorted(outer, key=lambda path: tuple(map(str, path)))


def _operations(before: dict[str, Any], after: dict[str, Any], written: Iterable[Path]) -> Patch:
    operations: Patch = []
    for path in _outermost(_existing(before, path) for path in written):
        operations += _difference(path, _look_up(before, path), _look_up(after, path))
    return operations


def _difference(path: Path, before: Any, after: Any, *, inserts: bool = False) -> Patch:
    """Return the operations that turn ``before`` into ``after`` at one path.

    If a list only grew at its end (with ``inserts``: anywhere), the new items are added; any other changed list is
    replaced.
    """
    where = pointer(path)
    if after is ABSENT:
        return [] if before is ABSENT else [{"op": "remove", "path": where}]
    if before is ABSENT:
        return [{"op": "add", "path": where, "value": after}]
    if same(before, after):
        return []
    if isinstance(before, list) and before and isinstance(after, list):
        added = _added(before, after)
        if added is not None and (inserts or added[0] == len(before)):
            steps = ["-" if index == len(before) + earlier else index for earlier, index in enumerate(added)]
            return [
                {"op": "add", "path": f"{where}/{step}", "value": after[index]}
                for step, index in zip(steps, added, strict=True)
            ]
    return [{"op": "replace", "path": where, "value": after}]


def _added(before: list[Any], after: list[Any]) -> list[int] | None:
    """Return the indexes of the items that ``after`` adds to ``before``; None if ``after`` lacks or reorders items."""
    if same(before, after[: len(before)]):
        return list(range(len(before), len(after)))
    added: list[int] = []
    kept = 0
    for index, item in enumerate(after):
        if kept < len(before) and same(before[kept], item):
            kept += 1
        else:
            added.append(index)
    return added if kept == len(before) else None

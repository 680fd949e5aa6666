"""Shortens a long document to the parts that a result of a check changes, before and after the changes.

The time for the difference of two documents grows faster than the documents' size, and a workload of a thousand roles
has a thousand results. So only the items of a long list or map that contain a change are compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...kube.json_patch import edit, steps_of
from ...kube.paths import escape, pointer
from ..result import DocumentChange, Result
from .results import operations

# The lists of documents that people write by hand (containers, variables, roles) are shorter, and are not cut.
_LONG: Final = 64
_LEFT_OUT: Final = object()


class _Cut(NamedTuple):
    """A long list or map of the document that is shortened, and the indexes or keys of the items that are kept."""

    above: str
    """The JSON Pointer to the list or map, ending in a slash."""
    kept: frozenset[str]
    """The indexes or keys as steps of a JSON Pointer."""


def excerpts(result: Result) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return (document before the changes, document after the changes), with long lists and maps shortened.

    The document before the changes already has the changes of the document's earlier templates. The result is None if
    the document is not available.

    Raises:
        PatchError: a change does not apply to the document.
    """
    if result.source is None:
        return None
    cuts: list[_Cut] = []
    short = _shortened(result.source.document, [steps_of(each.path) for each in result.changes], (), cuts)
    earlier = _inside(result.earlier, cuts)
    if not cuts or earlier is None:
        before = _edited(result.source.document, result.earlier)
        return before, _edited(before, result.changes)
    before = _edited(short, earlier)
    return _without_gaps(before), _without_gaps(_edited(before, result.changes))


def _edited(document: dict[str, Any], changes: Sequence[DocumentChange]) -> dict[str, Any]:
    return edit(document, operations(changes), lambda _path, _value: None) if changes else document


def _shortened(value: Any, paths: Sequence[Sequence[str]], at: tuple[str, ...], cuts: list[_Cut]) -> Any:
    """Return ``value``, where ``_LEFT_OUT`` replaces each item of a long list or map that is on no path in ``paths``.

    ``at`` is the path of ``value`` in the document. Each shortened list or map is added to ``cuts``.
    """
    if not isinstance(value, dict | list) or any(len(path) < 2 for path in paths):  # noqa: PLR2004 - changed itself
        return value
    below: dict[str, list[Sequence[str]]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(rest)
    long = len(value) > _LONG
    if long:
        cuts.append(_Cut(f"{pointer(at)}/", frozenset(map(escape, below))))

    def entry(key: str, item: Any) -> Any:
        return _shortened(item, below[key], (*at, key), cuts) if key in below else _LEFT_OUT if long else item

    if isinstance(value, list):
        return [entry(str(index), item) for index, item in enumerate(value)]
    return {key: entry(key, item) for key, item in value.items()}


def _inside(changes: Iterable[DocumentChange], cuts: Sequence[_Cut]) -> tuple[DocumentChange, ...] | None:
    """Return the changes inside items that are kept; None if a change is to a shortened list or map as a whole."""
    found: list[DocumentChange] = []
    for each in changes:
        keys = [(cut, *each.path[len(cut.above) :].partition("/")) for cut in cuts if each.path.startswith(cut.above)]
        if not all(slash for _, _, slash, _ in keys):
            return None
        if all(key in cut.kept for cut, key, _, _ in keys):
            found.append(each)
    return tuple(found)


def _without_gaps(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_gaps(item) for key, item in value.items() if item is not _LEFT_OUT}
    if isinstance(value, list):
        return [_without_gaps(item) for item in value if item is not _LEFT_OUT]
    return value

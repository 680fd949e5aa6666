"""Transfers a change of a completed copy of a document to the document itself.

Three documents are involved. ``own`` is the author's document. ``shown`` is ``own`` with fields that the API server and
controllers fill in (defaults, labels, items added to lists). ``after`` is ``shown`` with the change. The result is
``own`` with that change, without the filled-in fields. This module works for any document, and raises only
``NotCarriedError``.
"""

from collections.abc import Sequence
from typing import Any

from .json_patch import ABSENT, same
from .paths import Path, pointer
from .unchecked import key_of


class NotCarriedError(ValueError):
    """The change cannot be transferred, because it is in a list item that only the completed copy has."""

    def __init__(self, steps: Path) -> None:
        """Create the error with the path of the changed item as its message.

        The path starts at the root of the completed copy.
        """
        super().__init__(pointer(steps))
        self.steps = steps


def carry(own: Any, shown: Any, after: Any, at: Path = ()) -> Any:
    """Return ``own`` with the change that leads from ``shown`` to ``after``; unchanged parts are shared with ``own``.

    Args:
        own: a value in the author's document.
        shown: the value ``own`` with the fields that the API server fills in, such as defaults.
        after: ``shown`` with the change. ``own``, ``shown`` and ``after`` are each ABSENT if there is no such value.
        at: the path of the value in the document, for messages; only the recursion passes it.

    Raises:
        NotCarriedError: ``after`` changes an item of a list, and the list in ``own`` does not have the item.
    """
    if after is shown or (after is not ABSENT and shown is not ABSENT and same(after, shown)):
        return own
    if after is ABSENT or shown is ABSENT:
        return after
    if isinstance(after, dict) and isinstance(shown, dict) and (own is ABSENT or own is None or isinstance(own, dict)):
        return _carry_object(own, shown, after, at)
    if isinstance(after, list) and isinstance(shown, list) and (own is ABSENT or own is None or isinstance(own, list)):
        return _carry_list(own, shown, after, at)
    return after


def _carry_object(own: Any, shown: dict[str, Any], after: dict[str, Any], at: Path) -> Any:
    before = own if isinstance(own, dict) else {}
    result: dict[str, Any] = {}
    for key in (*before, *(key for key in after if key not in before)):
        value = carry(before.get(key, ABSENT), shown.get(key, ABSENT), after.get(key, ABSENT), (*at, key))
        if value is not ABSENT:
            result[key] = value
    return result if result or isinstance(own, dict) else own


def _carry_list(own: Any, shown: list[Any], after: list[Any], at: Path) -> Any:
    items = own if isinstance(own, list) else []
    origin = _aligned(items, shown)
    result: list[Any] = []
    kept = 0  # the number of the result's items up to the last that ``own`` has
    waiting = [index for index in range(len(items)) if index not in origin.values()]
    for place, (item, source) in enumerate(zip(after, _sources(shown, after), strict=True)):
        index = None if source is None else origin.get(source)
        if index is not None and source is not None:
            result += [items[each] for each in waiting if each < index]
            waiting = [each for each in waiting if each > index]
            result.append(carry(items[index], shown[source], item, (*at, place)))
            kept = len(result)
        elif source is None:
            result.append(item)
        elif not same(shown[source], item):
            raise NotCarriedError((*at, source))
    result[kept:kept] = [items[each] for each in waiting]
    return result if result or isinstance(own, list) else own


def _aligned(items: Sequence[Any], shown: Sequence[Any]) -> dict[int, int]:
    """Return a mapping from the index of an item in ``shown`` to the index of that item in ``items``.

    Items that ``items`` lacks are left out.
    """
    found: dict[int, int] = {}
    start = 0
    for index, item in enumerate(items):
        place = next((each for each in range(start, len(shown)) if _within(item, shown[each])), None)
        if place is not None:
            found[place] = index
            start = place + 1
    return found


def _within(part: Any, whole: Any) -> bool:
    """Return whether ``whole`` has everything that ``part`` has; ``whole`` may be ``part`` with fields filled in.

    Two objects with names match if their names are equal. A number equals the text of the number (4 and "4").
    """
    if isinstance(part, dict) and isinstance(whole, dict):
        if part.get("name") is not None or whole.get("name") is not None:
            return bool(part.get("name", whole.get("name")) == whole.get("name"))
        return all(value is None or (key in whole and _within(value, whole[key])) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(_aligned(part, whole)) == len(part)
    return str(part) == str(whole)


def _sources(shown: list[Any], after: list[Any]) -> list[int | None]:
    """Return, for each item of ``after``, the index of the equal or changed item in ``shown``; None for a new item."""
    unused: dict[bytes, list[int]] = {}
    for index, item in enumerate(shown):
        unused.setdefault(key_of(item), []).append(index)
    sources: list[int | None] = []
    for item in after:
        equal = unused.get(key_of(item))
        sources.append(equal.pop(0) if equal else None)
    changed = sorted(index for indexes in unused.values() for index in indexes)
    for place, item in enumerate(after):
        if sources[place] is None:
            source = _changed_from(item, place, shown, changed)
            if source is not None:
                changed.remove(source)
                sources[place] = source
    return sources


def _changed_from(item: Any, place: int, shown: list[Any], candidates: list[int]) -> int | None:
    if not isinstance(item, dict):
        return None
    name = item.get("name")
    alike = [each for each in candidates if isinstance(shown[each], dict) and shown[each].get("name") == name]
    if name is None:
        return place if place in alike else None
    return alike[0] if alike else None

"""Pairs the items of an old and a new list: by equality, by name, or by order.

No result depends on the guess: an edit that follows it touches fewer lines than one that writes the whole list.
"""

import difflib
import json
from collections.abc import Sequence
from typing import Any


def paired(old: Sequence[Any], new: Sequence[Any]) -> dict[int, int]:
    """Return the old item of each new one, by index: equal ones, those of the same name, or by order."""
    before, after = ([json.dumps(item, sort_keys=True) for item in items] for items in (old, new))
    pairs: dict[int, int] = {}
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            pairs.update(zip(range(new_start, new_end), range(old_start, old_end), strict=True))
        elif kind == "replace":
            pairs.update(_alike(old, new, range(old_start, old_end), range(new_start, new_end)))
    return pairs


def _alike(old: Sequence[Any], new: Sequence[Any], left: range, right: range) -> dict[int, int]:
    pairs: dict[int, int] = {}
    start = left.start
    for number in right:
        name = _name(new[number])
        found = next((at for at in range(start, left.stop) if name is not None and _name(old[at]) == name), None)
        if found is not None:
            pairs[number], start = found, found + 1
    if not pairs:
        pairs = dict(zip(right, left, strict=False))
    return pairs


def _name(item: Any) -> Any:
    return item.get("name") if isinstance(item, dict) else None

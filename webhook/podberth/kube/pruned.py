"""Copies only the parts of a document at or below given paths, such as the fields of a pod that policies read."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from .paths import ELEMENT

Tree: TypeAlias = tuple[tuple[str, Any], ...]
"""Paths as a tree: (step, tree below the step) for each step; the tree is None at a path's end. ELEMENT, for list
items, comes first.
"""


def tree_of(paths: Iterable[tuple[str, ...]]) -> Tree:
    """Return paths as a tree; a path below another path is omitted."""
    root: dict[str, Any] = {}
    for path in sorted(paths, key=len):
        branch = root
        for step in path[:-1]:
            branch = branch.setdefault(step, {})
            if branch is None:
                break
        if branch is not None:
            branch[path[-1]] = None
    return _tree(root)


def _tree(branch: Mapping[str, Any]) -> Tree:
    steps = sorted(branch, key=lambda step: step != ELEMENT)
    return tuple((step, None if branch[step] is None else _tree(branch[step])) for step in steps)


def pruned(value: Any, tree: Tree) -> Any:
    """Return a copy of ``value`` with only the fields that are at, above or below a path of ``tree``.

    Lists keep their lengths. A value above such a path is kept whole if it has another type than the path needs: the
    step ELEMENT (any item) needs a list, and any other step an object. So two values have different results if they
    differ at a path of ``tree``, or in the type of a value above such a path.
    """
    first, below = tree[0] if tree else ("", None)
    if isinstance(value, list):
        return [pruned(each, below) for each in value] if first == ELEMENT and below is not None else value
    if not isinstance(value, dict) or first == ELEMENT:
        return value
    return {step: value[step] if below is None else pruned(value[step], below) for step, below in tree if step in value}

"""Calls of constants are computed: ``1 + 1``, ``'a' + 'b'``, ``'abc'.startsWith('a')``, ``[1, 2].size()``.

The result is the engine's. A call that overflows, or that the engine would refuse, stays as it is.
"""

import operator
from collections.abc import Callable, Mapping

from ..cel.tree import Call, Items, Literal, Tree

_INT64 = range(-(2**63), 2**63)

_NUMBERS: Mapping[str, Callable[[int, int], int]] = {"_+_": operator.add, "_-_": operator.sub, "_*_": operator.mul}
_TEXTS: Mapping[str, Callable[[str, str], str | bool]] = {
    "_+_": operator.add,
    "contains": lambda text, part: part in text,
    "endsWith": lambda text, part: text.endswith(part),
    "startsWith": lambda text, part: text.startswith(part),
}


def folded(tree: Tree) -> Tree:  # noqa: PLR0911 - one for each kind of call
    """Return the constant that a call of constants computes; any other expression unchanged."""
    if not isinstance(tree, Call):
        return tree
    match tuple(folded(each) for each in tree.operands):
        case (Literal(value=bool()), *_) | (_, Literal(value=bool())):
            return tree
        case (Literal(value=int() as left), Literal(value=int() as right)) if tree.function in _NUMBERS:
            number = _NUMBERS[tree.function](left, right)
            return Literal(value=number) if number in _INT64 else tree
        case (Literal(value=str() as text), Literal(value=str() as part)) if tree.function in _TEXTS:
            return Literal(value=_TEXTS[tree.function](text, part))
        case (Literal(value=str() as text),) if tree.function == "size":
            return Literal(value=len(text))
        case (Items(items=items),) if tree.function == "size":
            return Literal(value=len(items))
        case _:
            return tree

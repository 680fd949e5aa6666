"""A number that an expression reads from a label or an annotation without a check of its text.

Whoever creates the pod writes the text, and `int('two')` fails: under failurePolicy Fail that pod is refused with the
engine's message. A text counts as checked if the policy has `matches()`, `isQuantity()` or `in` of it anywhere.

Bad:

    validations:
    - expression: int(object.metadata.?annotations[?'example.com/most'].orValue('8')) >= gpu.count
      message: more GPUs than example.com/most
    validationActions: [Deny]

Good:

    variables:
    - {name: most, expression: "object.metadata.?annotations[?'example.com/most'].orValue('8')"}
    validations:
    - expression: variables.most.matches('^[0-9]{1,4}$') && int(variables.most) >= gpu.count
      message: more GPUs than example.com/most
    validationActions: [Deny]
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ...cel.tree import Call
from ...errors import Problem
from ..findings import Library
from ..places import parts_of, shown, where

_CHECKS: Final[Mapping[str, str]] = {
    "int": "matches('^[0-9]{1,9}$')",
    "double": "matches('^[0-9]{1,9}([.][0-9]+)?$')",
    "quantity": "isQuantity()",
}
"""The conversions that fail for some texts, each with a check that leaves these out."""
_TEXTS: Final = frozenset({("object", "metadata", "labels"), ("object", "metadata", "annotations")})
_ASKING: Final = frozenset({"matches", "isQuantity", "@in"})


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each conversion of a label or an annotation whose text the policy never checks."""
    for policy in library.on_pods:
        calls = [
            (path, part, found)
            for path, part, scope in parts_of(policy)
            if isinstance(part, Call) and part.operands and (found := where(policy, part.operands[0], scope))
        ]
        asked = {found for _, part, found in calls if part.function in _ASKING}
        for path, part, found in calls:
            if part.function in _CHECKS and found not in asked and found[:3] in _TEXTS:
                text = f"{shown(found)} may be no number, and {part.function}() fails then"
                yield policy.within(path, part, f"{text}; ask {_CHECKS[part.function]} of it first")

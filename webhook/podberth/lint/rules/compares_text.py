"""Quantities that are compared as strings with `<`, `<=`, `>` or `>=`: `'16Gi' < '8Gi'` is true.

The amounts in a pod's `limits` and `requests` are strings, as the API server sends them, and cannot be compared with
numbers either.

Bad:

    validations:
    - expression: "object.spec.containers.all(c, c.?resources.?limits[?'memory'].orValue('0') <= '64Gi')"
      message: at most 64 GiB
    validationActions: [Deny]

Good:

    validations:
    - expression: >-
        object.spec.containers.all(c,
          quantity(c.?resources.?limits[?'memory'].orValue('0')).compareTo(quantity('64Gi')) <= 0)
      message: at most 64 GiB
    validationActions: [Deny]
"""

from collections.abc import Iterator
from typing import Final

from ...cel.tree import Call
from ...errors import Problem
from ...kube.paths import ELEMENT, FieldPath
from ..findings import Library
from ..places import parts_of, where

_WANT: Final = "want quantity(a).compareTo(quantity(b)) <= 0, or isGreaterThan()"
_ORDERS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each ``<``, ``<=``, ``>`` or ``>=`` with an amount in a pod's limits or requests."""
    for policy in library.on_pods:
        for path, part, scope in parts_of(policy):
            if isinstance(part, Call) and part.function in _ORDERS:
                amounts = filter(None, (_amount(where(policy, side, scope)) for side in part.operands))
                for amount in amounts:
                    yield policy.within(path, part, f"{amount} is a string; {_WANT}")


def _amount(found: FieldPath | None) -> str:
    """Return the path ``found`` as text if it leads to an amount in limits or requests; else empty."""
    match found:
        case ("object" | "oldObject", *_, "limits" | "requests" as amounts, str() as name) if name != ELEMENT:
            return f"{amounts}[{name}]"
        case _:
            return ""

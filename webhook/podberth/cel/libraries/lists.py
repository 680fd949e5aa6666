"""Kubernetes' lists library (apiserver pkg/cel/library/lists.go).

All functions here are written in CEL, so that every element keeps type and precision. The additions of 1.34 (cel-go
ext.Lists version 3: slice, flatten, distinct, reverse, sort, sortBy, lists.range) and the sets library are the engine's
own extensions.
"""

from typing import Final

from .overload import LibraryError, Overload, overload

_COMPARABLE = {
    "int": "int",
    "uint": "uint",
    "double": "double",
    "bool": "bool",
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
    "string": "string",
    "bytes": "bytes",
}
_ZERO = {"int": "0", "uint": "0u", "double": "0.0", "duration": "duration('0s')"}

_IS_SORTED = "a.all(i, v, i == 0 || !(v < a[i - 1]))"
_BEST = "size(a) == 0 ? internal.fail('{name} called on empty list') : internal.fold(a, a[0], v {better} r ? v : r)"
_MIN, _MAX = _BEST.format(name="min", better="<"), _BEST.format(name="max", better=">")
_INDEX_OF = "internal.fold(lists.range(size(a)), -1, r < 0 && a[v] == b ? v : r)"
_LAST_INDEX_OF = "internal.fold(lists.range(size(a)), -1, a[v] == b ? v : r)"

# The number of iterations of one evaluation. The engine would make a list of any length at once; upstream counts it as
# cost.
_LONGEST_RANGE: Final = 10_000


def _bounded(length: int) -> int:
    """Return ``length`` as the argument for ``lists.range``: 0 if negative.

    Raises:
        LibraryError: ``length`` is too large.
    """
    if length > _LONGEST_RANGE:
        raise LibraryError(f"lists.range: got {length}, want at most {_LONGEST_RANGE}")
    return max(length, 0)  # the engine, unlike upstream, refuses a negative one


OVERLOADS: tuple[Overload, ...] = (
    *(
        overload(f"list_{name}_is_sorted_bool", f".isSorted(list({kind})): bool", _IS_SORTED)
        for name, kind in _COMPARABLE.items()
    ),
    *(
        overload(
            f"list_{name}_sum_{name}",
            f".sum(list({_COMPARABLE[name]})): {_COMPARABLE[name]}",
            f"internal.fold(a, {zero}, r + v)",
        )
        for name, zero in _ZERO.items()
    ),
    *(
        overload(f"list_{name}_{best}_{name}", f".{best}(list({kind})): {kind}", body)
        for best, body in (("min", _MIN), ("max", _MAX))
        for name, kind in _COMPARABLE.items()
    ),
    overload("list_a_index_of_int", ".indexOf(list(A), A): int", _INDEX_OF),
    overload("list_a_last_index_of_int", ".lastIndexOf(list(A), A): int", _LAST_INDEX_OF),
)
BOUNDED = "internal.bounded"
"""The name of the function that checks the argument of ``lists.range``."""
INTERNAL: tuple[Overload, ...] = (overload("internal_bounded", f"{BOUNDED}(int): int", _bounded),)

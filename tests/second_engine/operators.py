"""Operators of the second engine in the place of celpy's own: with optionals, and as the specification has them."""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from celpy import celtypes
from celpy.evaluation import CELEvalError

from .values import ABSENT, Lazy, Nodes, Optional


def find(holder: Any, key: Any) -> Any:
    """Return the optional that ``holder[?key]`` is, or an error; an optional holder is looked into."""
    if isinstance(holder, Optional):
        return find(holder.values[0], key) if holder.values else ABSENT
    failed = next((each for each in (holder, key) if isinstance(each, CELEvalError)), None)
    if failed is not None:
        return failed
    if isinstance(holder, Lazy):
        found = [holder[key]] if key in holder else []
    elif isinstance(holder, celtypes.MapType):
        found = [each for known, each in holder.items() if equal(known, key)]
    elif isinstance(holder, celtypes.ListType) and (place := _numbers(key)) is not None:
        found = [each for at, each in enumerate(holder) if at == place[0]]
    else:
        return CELEvalError(f"no such overload: {type(holder).__name__}[?{type(key).__name__}]")
    # What cannot be made is an error, not an optional that holds one.
    return next((each for each in found if isinstance(each, CELEvalError)), Optional(tuple(found)))


def equal(left: Any, right: Any) -> bool:
    """Say whether two values are equal as the specification has it: of two kinds they are not, save for numbers.

    celpy compares an int with a double in one order of the operands only, and has an error for what differs in kind
    (https://github.com/cloud-custodian/cel-python/issues/114).
    """
    if (numbers := _numbers(left, right)) is not None:
        return numbers[0] == numbers[1]
    if type(left) is not type(right):
        return False
    match left:
        case Nodes():
            alike = bool(left.handle == right.handle)
        case Optional():
            alike = _all_equal(left.values, right.values)
        case celtypes.ListType():
            alike = _all_equal(left, right)
        case celtypes.MapType():
            alike = len(left) == len(right) and all(
                any(equal(key, other) and equal(each, held) for other, held in right.items())
                for key, each in left.items()
            )
        case _:
            alike = bool(left == right)
    return alike


def _all_equal(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and all(map(equal, left, right))


def _contained(item: Any, holder: Any) -> bool:
    if not isinstance(holder, celtypes.ListType | celtypes.MapType):
        raise TypeError(f"in {type(holder).__name__}")
    return any(equal(item, each) for each in holder)


def _numbers(*values: Any) -> tuple[float, ...] | None:
    """Return numbers as they are compared: as doubles where one is a double. None if one of the values is no number."""
    if not all(isinstance(each, celtypes.IntType | celtypes.UintType | celtypes.DoubleType) for each in values):
        return None
    return tuple(map(float if any(isinstance(each, celtypes.DoubleType) for each in values) else int, values))


def _ordering(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def ordered(left: Any, right: Any) -> bool:
        if (numbers := _numbers(left, right)) is not None:
            return bool(compare(*numbers))
        if type(left) is not type(right):
            raise TypeError(f"{type(left).__name__} and {type(right).__name__}")
        return bool(compare(left, right))

    return ordered


def _relation(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def relation(left: Any, right: Any) -> Any:
        failed = next((each for each in (left, right) if isinstance(each, CELEvalError)), None)
        return celtypes.BoolType(holds(left, right)) if failed is None else failed

    return relation


def _typed(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Keep CEL's types: celpy's sums of texts and lists, and differences of durations, are Python's own."""

    def typed(left: Any, right: Any) -> Any:
        found = compute(left, right)
        if isinstance(found, timedelta):
            return celtypes.DurationType(found)
        return type(left)(found) if isinstance(found, str | bytes | list) else found

    return typed


def _of_errors(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Answer the first error where all operands are, or the condition is; celpy has another error of its own then."""

    def logic(*operands: Any) -> Any:
        first, *others = operands
        decided = len(others) > 1 or isinstance(others[0], CELEvalError)
        return first if isinstance(first, CELEvalError) and decided else compute(*operands)

    return logic


def _item(holder: Any, key: Any) -> Any:
    found = find(holder, key)
    if isinstance(holder, Optional) or not isinstance(found, Optional):
        return found
    return found.values[0] if found.values else CELEvalError(f"no such key: {key}")


OPERATORS: Mapping[str, Callable[..., Any]] = {
    "_==_": _relation(equal),
    "_!=_": _relation(lambda left, right: not equal(left, right)),
    "_<_": _relation(_ordering(operator.lt)),
    "_<=_": _relation(_ordering(operator.le)),
    "_>_": _relation(_ordering(operator.gt)),
    "_>=_": _relation(_ordering(operator.ge)),
    "_in_": _relation(_contained),
    "_+_": _typed(operator.add),
    "_-_": _typed(operator.sub),
    "_&&_": _of_errors(celtypes.logical_and),
    "_||_": _of_errors(celtypes.logical_or),
    "_?_:_": _of_errors(celtypes.logical_condition),
    "_[_]": _item,
}
"""Operators in the place of celpy's own, by the names that it calls them."""

"""The functions that the second engine has beside celpy's own, by name, called with the receiver first."""

from collections.abc import Callable, Mapping
from typing import Any

import re2
from celpy import celtypes

from podberth.cel.functions import CARRIED, FUNCTIONS, Function, ReviewContext
from podberth.cel.types import NODES

from .operators import OPERATORS
from .values import ABSENT, Nodes, Optional, to_cel, to_plain


def functions(review: ReviewContext) -> dict[str, Callable[..., Any]]:
    """Return all, with those of policies bound to a review; rows of one name differ in receiver or arity."""
    rows: dict[str, list[Function]] = {}
    for row in FUNCTIONS:
        rows.setdefault(row.name, []).append(row)

    def bind(same_name: list[Function]) -> Callable[..., Any]:
        def call(*operands: Any) -> Any:
            of_nodes = isinstance(operands[0], Nodes)
            fitting = [row for row in same_name if (row.parameters[0] == NODES.name) == of_nodes]
            row = next((row for row in fitting if len(row.parameters) == len(operands)), None)
            if row is None:
                raise TypeError(f"{same_name[0].name}: got {len(operands)} operands of other kinds")
            carried = [
                _operand(operand) for operand, kind in zip(operands, row.parameters, strict=True) if kind in CARRIED
            ]
            answer = row.call(review, *carried)
            return Nodes(review, answer) if row.result == NODES.name else to_cel(answer)

        return call

    def of_strings(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *operands: to_cel(function(*map(to_plain, operands)))

    ours = {name: bind(same_name) for name, same_name in rows.items()}
    strings = {name: of_strings(function) for name, function in _STRINGS.items()}
    return {**OPERATORS, **_OPTIONALS, **strings, **ours}


def _operand(value: Any) -> Any:
    return value.handle if isinstance(value, Nodes) else to_plain(value)


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise ValueError(f"index out of range: {index}")
    return text[index : index + 1]


def _find(text: str, pattern: str) -> str:
    found = re2.search(pattern, text)
    return str(found.group()) if found else ""


def _index_of(holder: Any, part: Any, start: int = 0) -> int:
    if isinstance(holder, list):
        return next((at for at, each in enumerate(holder) if each == part), -1)
    if not 0 <= start <= len(holder):
        raise ValueError(f"index out of range: {start}")
    return int(holder.find(part, start))


def _last_index_of(holder: Any, part: Any, start: int | None = None) -> int:
    if isinstance(holder, list):
        return len(holder) - 1 - at if (at := _index_of(holder[::-1], part)) >= 0 else -1
    start = len(holder) if start is None else start
    if not 0 <= start <= len(holder):
        raise ValueError(f"index out of range: {start}")
    return int(holder.rfind(part, 0, start + len(part)))


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if not separator:
        return list(text) if most < 0 else [*text[: most - 1], text[most - 1 :]]
    return text.split(separator, most - 1 if most > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise ValueError(f"index out of range: {start}, {end}")
    return text[start:end]


# cel-go ext/strings.go, version 1, but for format(), and Kubernetes' find(); cel-python has none of them.
_STRINGS: Mapping[str, Callable[..., Any]] = {
    "charAt": _char_at,
    "find": _find,
    "indexOf": _index_of,
    "join": lambda texts, separator="": separator.join(texts),
    "lastIndexOf": _last_index_of,
    "lowerAscii": lambda text: "".join(each.lower() if each.isascii() else each for each in text),
    "replace": lambda text, old, new, most=-1: text.replace(old, new, most),
    "split": _split,
    "substring": _substring,
    "trim": lambda text: text.strip(),
    "upperAscii": lambda text: "".join(each.upper() if each.isascii() else each for each in text),
}


def _unwrapped(optionals: Any) -> Any:
    return celtypes.ListType([value for each in optionals for value in each.values])


# cel-go cel/library.go, optionalLib; what is called on an optional is in ``language``.
_OPTIONALS: Mapping[str, Callable[..., Any]] = {
    "optional.of": lambda value: Optional((value,)),
    "optional.none": lambda: ABSENT,
    "optional.ofNonZeroValue": lambda value: Optional((value,)) if value else ABSENT,
    "optional.unwrap": _unwrapped,
    "unwrapOpt": _unwrapped,
    "optional_type": Optional,
}

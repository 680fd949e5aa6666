"""cel-python, an engine of other authors, as a second opinion on an expression; the only importer of ``celpy``.

It is no engine to decide with (docs/adr/0008-second-engine.md): it knows no types and no optionals. What it says of an
expression that it can read comes from another reading of CEL's specification than the first engine's.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from celpy import Environment, celtypes
from celpy.adapter import json_to_cel
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError

from ..errors import EvaluationError
from .functions import CARRIED, FUNCTIONS, NODES_FIELDS, Function, ReviewContext
from .types import NODES

Variable = Callable[[], Any]
"""Evaluates a variable when it is asked for: plain Python, or an EvaluationError."""


class UnreadableError(Exception):
    """An expression that cel-python cannot parse."""


class _Lazy(celtypes.MapType):
    """A map whose entries are made when they are asked for; an error is one of CEL's, and may be absorbed."""

    def __init__(self, entries: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__()
        self._entries = entries

    def __getitem__(self, key: Any) -> Any:
        try:
            return _to_cel(self._entries[str(key)]())
        except EvaluationError as error:
            return CELEvalError(str(error))

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 - this is that method

    def __contains__(self, key: object) -> bool:
        return str(key) in self._entries


class _Nodes(_Lazy):
    """The answer to a question to the topology index."""

    def __init__(self, review: ReviewContext, handle: int) -> None:
        nodes = review.nodes(handle)
        super().__init__({name: partial(field, nodes) for name, field in NODES_FIELDS.items()})
        self.handle = handle


class SecondEngine:
    """Evaluates sources with cel-python's interpreter."""

    def __init__(self) -> None:
        """Parse nothing yet."""
        self._engine = Environment()
        self._parsed: dict[str, Any] = {}

    def evaluate(
        self, source: str, bindings: Mapping[str, object], variables: Mapping[str, Variable], review: ReviewContext
    ) -> Any:
        """Return the value of an expression as plain Python.

        Raises:
            EvaluationError: it has none.
            UnreadableError: it is none to this engine.
        """
        program = self._engine.program(self._parse(source), functions=_functions(review))
        names = {name: _to_cel(value) for name, value in bindings.items()}
        try:
            return _plain(program.evaluate({**names, "variables": _Lazy(variables)}))
        except CELEvalError as error:
            raise EvaluationError(str(error.args[0] if error.args else error)) from error

    def _parse(self, source: str) -> Any:
        if source not in self._parsed:
            try:
                self._parsed[source] = self._engine.compile(source)
            except CELParseError as error:
                raise UnreadableError(" ".join(str(error).split())) from error
        return self._parsed[source]


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise ValueError(f"index out of range: {index}")
    return text[index : index + 1]


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


# cel-go ext/strings.go, version 1, but for format(); cel-python has none of them.
_STRINGS: Mapping[str, Callable[..., Any]] = {
    "charAt": _char_at,
    "indexOf": lambda text, part, start=0: text.find(part, start),
    "join": lambda texts, separator="": separator.join(texts),
    "lastIndexOf": lambda text, part: text.rfind(part),
    "lowerAscii": lambda text: "".join(each.lower() if each.isascii() else each for each in text),
    "replace": lambda text, old, new, most=-1: text.replace(old, new, most),
    "split": _split,
    "substring": _substring,
    "trim": lambda text: text.strip(),
    "upperAscii": lambda text: "".join(each.upper() if each.isascii() else each for each in text),
}


def _functions(review: ReviewContext) -> dict[str, Callable[..., Any]]:
    """Return our functions by name, called with the receiver first; rows of one name differ in their receiver."""
    rows: dict[str, list[Function]] = {}
    for row in FUNCTIONS:
        rows.setdefault(row.name, []).append(row)

    def bind(same_name: list[Function]) -> Callable[..., Any]:
        def call(*operands: Any) -> Any:
            of_nodes = isinstance(operands[0], _Nodes)
            row = next(each for each in same_name if (each.receiver == NODES.name) == of_nodes)
            carried = [
                _operand(operand) for operand, kind in zip(operands, row.operands, strict=True) if kind in CARRIED
            ]
            answer = row.call(review, *carried)
            return _Nodes(review, answer) if row.result == NODES.name else _to_cel(answer)

        return call

    def of_strings(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *operands: _to_cel(function(*map(_plain, operands)))

    ours = {name: bind(same_name) for name, same_name in rows.items()}
    return {**{name: of_strings(function) for name, function in _STRINGS.items()}, **ours}


def _operand(value: Any) -> Any:
    return value.handle if isinstance(value, _Nodes) else _plain(value)


def _to_cel(value: Any) -> Any:
    if isinstance(value, _Lazy | CELEvalError | type(None)):
        return value
    return json_to_cel(value)


_SCALARS: Mapping[type, Callable[[Any], Any]] = {
    celtypes.BoolType: bool,
    celtypes.IntType: int,
    celtypes.UintType: int,
    celtypes.DoubleType: float,
    celtypes.StringType: str,
}


def _plain(value: Any) -> Any:
    """Return a value of cel-python's as plain Python; the answer to a question to the topology index stays as it is."""
    if isinstance(value, CELEvalError):
        raise EvaluationError(str(value.args[0] if value.args else value))
    if isinstance(value, celtypes.ListType):
        return [_plain(each) for each in value]
    if isinstance(value, celtypes.MapType) and not isinstance(value, _Nodes):
        return {_plain(key): _plain(each) for key, each in value.items()}
    return _SCALARS[type(value)](value) if type(value) in _SCALARS else value

"""Values as the second engine has them: those of celpy, optionals, and maps whose entries are made when asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from celpy import celtypes
from celpy.adapter import json_to_cel
from celpy.evaluation import CELEvalError

from podberth.cel.functions import NODES_FIELDS, ReviewContext
from podberth.errors import EvaluationError


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """A value that may be absent (cel-go's optional types, https://github.com/google/cel-spec/wiki/proposal-246)."""

    values: tuple[Any, ...] = ()
    """The value, or nothing."""


ABSENT = Optional()


class Lazy(celtypes.MapType):
    """A map whose entries are made when they are first asked for; an error is one of CEL's, and may be absorbed."""

    def __init__(self, entries: Mapping[str, Callable[[], Any]]) -> None:
        """Make none yet."""
        super().__init__()
        self._entries = entries
        self._made: dict[str, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        """Return an entry, or the error that making it is."""
        name = str(key)
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Any:
        try:
            return to_cel(self._entries[name]())
        except EvaluationError as error:
            return CELEvalError(str(error))

    def get(self, key: Any, default: Any = None) -> Any:
        """Return an entry or the default."""
        return self[key] if key in self else default  # noqa: SIM401 - this is that method

    def __contains__(self, key: object) -> bool:
        """Say whether there is an entry, without making it."""
        return str(key) in self._entries


class Nodes(Lazy):
    """The answer to a question to the topology index."""

    def __init__(self, review: ReviewContext, handle: int) -> None:
        """Stand for the node set that has this number in the review."""
        nodes = review.nodes(handle)
        super().__init__({name: partial(field, nodes) for name, field in NODES_FIELDS.items()})
        self.handle = handle


def to_cel(value: Any) -> Any:
    """Return plain Python as celpy has it; what is celpy's already stays as it is."""
    if isinstance(value, Lazy | Optional | CELEvalError | type(None)):
        return value
    return json_to_cel(value)


_SCALARS: Mapping[type, Callable[[Any], Any]] = {
    celtypes.BoolType: bool,
    celtypes.IntType: int,
    celtypes.UintType: int,
    celtypes.DoubleType: float,
    celtypes.StringType: str,
    celtypes.BytesType: bytearray,  # as the first engine hands it out
}


def to_plain(value: Any) -> Any:
    """Return a value of celpy's as plain Python; Nodes stay as they are.

    Raises:
        EvaluationError: it is an error or an optional, or has one in it.
    """
    if isinstance(value, Optional):
        raise EvaluationError("got an optional inside a value")
    if isinstance(value, CELEvalError):
        raise EvaluationError(described(value))
    if isinstance(value, celtypes.ListType):
        return [to_plain(each) for each in value]
    if isinstance(value, celtypes.MapType) and not isinstance(value, Nodes):
        return {to_plain(key): to_plain(each) for key, each in value.items()}
    return _SCALARS[type(value)](value) if type(value) in _SCALARS else value


def described(error: CELEvalError) -> str:
    """Return an error's words, without the names and values of its surroundings."""
    return str(error.args[0]).partition(" (in activation")[0]

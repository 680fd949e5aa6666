"""Evaluate every expression on two engines; count agreements, keep differences, explain the known ones."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from podberth.cel.engine import Activation, Batch, CelType, Environment, Expression, Room, Want
from podberth.cel.libraries import LIBRARIES
from podberth.cel.typing import UNESCAPED
from podberth.cel.value_types import misfit
from podberth.errors import EvaluationError
from podberth.kube.schema import PodSchema

from .engine import SecondEngine, UnreadableError, unwrapped


@dataclass(frozen=True, slots=True)
class Difference:
    """An expression that the engines do not agree on, with what each says: JSON, or "error: ..."."""

    source: str
    first: str
    second: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{' '.join(self.source.split())}: cel-cpp says {self.first}, cel-python says {self.second}"


@dataclass(frozen=True, slots=True)
class Known:
    """A difference that is explained: a fault of cel-python's, with its upstream issue."""

    name: str
    holds: Callable[[Difference], bool]
    why: str
    issue: str


_ERROR = "error: "
_UNREADABLE = "unreadable: "
_CEL_PYTHON = "https://github.com/cloud-custodian/cel-python"

_UNDECLARED = re.compile(r"error: undeclared reference to '(\w+)'")
# Of the engine's own extensions, which are not declared by us.
_LISTS = {"lists", "range", "flatten", "slice", "distinct", "sort", "sortBy", "reverse", "first", "last"}
_LIBRARIES = frozenset(part for row in LIBRARIES for part in row.name.split(".")) | _LISTS | {"sets"}
_TWO_VARIABLES = frozenset({"all", "exists", "existsOne", "exists_one", "transformList"})


def _lacks(found: Difference, names: frozenset[str]) -> bool:
    """Say whether the second engine errs because it has no function or macro of one of these names."""
    lacking = _UNDECLARED.match(found.second)
    return lacking is not None and lacking[1] in names


KNOWN: tuple[Known, ...] = (
    Known(
        "libraries",
        lambda found: _lacks(found, _LIBRARIES),
        "cel-python has no library but CEL's standard one; podberth registers its own functions there, and those of "
        "strings but format() and quote()",
        f"{_CEL_PYTHON}/issues/56",
    ),
    Known(
        "comprehensions of two variables",
        lambda found: _lacks(found, _TWO_VARIABLES),
        "cel-python has macros of one variable; its conformance suite leaves the others out",
        f"{_CEL_PYTHON}/blob/main/features/macros2.feature",
    ),
)
"""One row for each difference that is no finding."""


class ComparingEnvironment(Environment):
    """An environment whose expressions both engines evaluate; it keeps the results."""

    def __init__(self, schema: PodSchema) -> None:
        """Start with nothing compared."""
        super().__init__(schema)
        self.second = SecondEngine()
        self.agreed = 0
        self.explained: Counter[str] = Counter()
        """By the name of a row of KNOWN."""
        self.differences: dict[Difference, None] = {}
        """What is not explained, each once, in the order of its first appearance."""
        self._activation: Activation | None = None
        self._variables: dict[Expression, Any] = {}

    def compile(
        self,
        source: str,
        *,
        want: Want,
        variables: Mapping[str, CelType | Expression] | None = None,
        names: frozenset[str] | None = None,
        room: Room | None = None,
    ) -> Expression:
        """Check an expression as ``Environment`` does; it is compared whenever it is evaluated."""
        expression = super().compile(source, want=want, variables=variables, names=names, room=room)
        given = {name: each for name, each in (variables or {}).items() if isinstance(each, Expression)}
        return _Compared(expression, self, given)

    def batch(self, expressions: Any) -> Batch:
        """Ask conditions one by one, so that each is compared."""
        return Batch(tuple(expressions), None, self._runner)

    def variables_of(self, activation: Activation) -> dict[Expression, Any]:
        """Return the second engine's values of the variables that an activation has been asked for so far."""
        if activation is not self._activation:
            self._activation, self._variables = activation, {}
        return self._variables

    def note(self, found: Difference) -> None:
        """Take note of what the engines say about one expression."""
        if found.first == found.second or (found.first.startswith(_ERROR) and found.second.startswith(_ERROR)):
            self.agreed += 1
            return
        known = next((row for row in KNOWN if row.holds(found)), None)
        if known is None:
            self.differences[found] = None
        else:
            self.explained[known.name] += 1


class _Compared(Expression):
    """An expression that is evaluated twice."""

    def __init__(
        self, expression: Expression, environment: ComparingEnvironment, given: Mapping[str, Expression]
    ) -> None:
        vars(self).update(vars(expression))  # as its like: it runs as the one given does
        self._environment = environment
        self._given = given

    def evaluate(self, activation: Activation) -> Any:
        first, _ = self.compare(activation)
        if isinstance(first, Exception):
            raise first
        return first

    def compare(self, activation: Activation) -> tuple[Any, Any]:
        """Return what either engine says, an exception for none: plain Python, and a value of cel-python's."""
        first = _outcome(partial(super().evaluate, activation))
        second = _outcome(partial(self._ask_second, activation))
        self._environment.note(Difference(self.source, _shown(first), _shown(unwrapped(second))))
        return first, second

    def _ask_second(self, activation: Activation) -> Any:
        source = self.source
        for spelling, name in UNESCAPED.items():
            source = source.replace(f".{spelling}", f".{name}")
        variables = {name: partial(self._variable, each, activation) for name, each in self._given.items()}
        found = self._environment.second.evaluate(source, activation.bindings, variables, activation.review)
        if problem := misfit(unwrapped(found), self.want):
            raise EvaluationError(problem)
        return found

    def _variable(self, expression: Expression, activation: Activation) -> Any:
        """Return a variable's value on the second engine; it is compared on its own too, once for an activation."""
        if not isinstance(expression, _Compared):
            raise TypeError("variables: got an expression of another environment, want one of this")
        known = self._environment.variables_of(activation)
        if expression not in known:
            _, known[expression] = expression.compare(activation)
        if isinstance(known[expression], Exception):
            raise known[expression]
        return known[expression]


def _outcome(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except (EvaluationError, UnreadableError) as error:
        return error


def _shown(outcome: Any) -> str:
    if isinstance(outcome, UnreadableError):
        return f"{_UNREADABLE}{outcome}"
    if isinstance(outcome, EvaluationError):
        return f"{_ERROR}{outcome}"
    return json.dumps(outcome, sort_keys=True, default=repr)

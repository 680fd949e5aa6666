"""Every expression on two engines: what they agree on, and what is known of where they do not.

For ``podberth test`` alone; the server has one engine.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import EvaluationError
from ..kube.schema import PodSchema
from .engine import Activation, Batch, CelType, Environment, Expression, Want
from .second import SecondEngine, UnreadableError
from .typing import UNESCAPED
from .values import misfit


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


_UNREADABLE = "unreadable: "
_OPTIONAL = re.compile(r"\.\?|\[\?|\{\?|\boptional\.|\.opt(Flat)?Map\(|\.orValue\(")
_CEL_PYTHON = "https://github.com/cloud-custodian/cel-python"

KNOWN: tuple[Known, ...] = (
    Known(
        "optionals",
        lambda found: found.second.startswith((_UNREADABLE, "error: ")) and bool(_OPTIONAL.search(found.source)),
        "cel-python has no optional types and does not parse a.?b and m[?'k']; its conformance suite leaves them out",
        f"{_CEL_PYTHON}/blob/main/features/optionals.feature",
    ),
    Known(
        "format()",
        lambda found: ".format(" in found.source and "undeclared reference to 'format'" in found.second,
        "cel-python has no strings extension; its other functions are registered by podberth, this one is a language",
        f"{_CEL_PYTHON}/blob/main/features/string_ext.feature",
    ),
    Known(
        "numbers of two kinds",
        lambda found: bool(re.match(r"error: found no matching overload .*relation_", found.second)),
        "cel-python compares an int with a double in one order of the operands only",
        f"{_CEL_PYTHON}/issues/114",
    ),
    Known(
        "has() below what is absent",
        lambda found: "has(" in found.source and found.first.startswith("error: no such key"),
        "cel-python's has(a.b.c) is false where b is absent; the specification has an error",
        f"{_CEL_PYTHON}/issues/73",
    ),
)
"""One row for each difference that is no finding."""


class ComparingEnvironment(Environment):
    """An environment whose expressions are asked of both engines; remembers what came of it."""

    def __init__(self, schema: PodSchema, *, second_decides: bool = False) -> None:
        """Compare; with ``second_decides``, an expression's value is cel-python's wherever it has one to give."""
        super().__init__(schema)
        self.second = SecondEngine()
        self.second_decides = second_decides
        self.agreed = 0
        self.explained: Counter[str] = Counter()
        """By the name of a row of KNOWN."""
        self.differences: dict[Difference, None] = {}
        """What is not explained, each once, in the order of its first appearance."""
        self._known: tuple[Activation | None, dict[Expression, Any]] = (None, {})

    def compile(
        self,
        source: str,
        *,
        want: Want,
        variables: Mapping[str, CelType | Expression] | None = None,
        names: frozenset[str] | None = None,
    ) -> Expression:
        """Check an expression as ``Environment`` does; it is compared whenever it is evaluated."""
        expression = super().compile(source, want=want, variables=variables, names=names)
        given = {name: each for name, each in (variables or {}).items() if isinstance(each, Expression)}
        return _Compared(expression, self, given)

    def batch(self, expressions: Any) -> Batch:
        """Ask conditions one by one, so that each is compared."""
        return Batch(tuple(expressions), None, self._runner)

    def variables_of(self, activation: Activation) -> dict[Expression, Any]:
        """Return what the second engine has said of variables for an activation; the latest one is remembered.

        A variable may be named by many that are named by many: asked each time, they would take for ever.
        """
        if self._known[0] is not activation:
            self._known = (activation, {})
        return self._known[1]

    def note(self, found: Difference) -> None:
        """Take note of what the engines say of one expression."""
        if found.first == found.second or (found.first + found.second).count("error: ") == 2:  # noqa: PLR2004 - both
            self.agreed += 1
            return
        known = next((row for row in KNOWN if row.holds(found)), None)
        if known is None:
            self.differences[found] = None
        else:
            self.explained[known.name] += 1


class _Compared(Expression):
    """An expression that is evaluated twice."""

    __slots__ = ("_environment", "_given")

    def __init__(
        self, expression: Expression, environment: ComparingEnvironment, given: Mapping[str, Expression]
    ) -> None:
        for slot in Expression.__slots__:
            setattr(self, slot, getattr(expression, slot))  # as its like: it runs as the one given does
        self._environment = environment
        self._given = given

    def evaluate(self, activation: Activation) -> Any:
        first, second = _outcome(partial(super().evaluate, activation)), _outcome(partial(self.ask_second, activation))
        self._environment.note(Difference(self.source, _shown(first), _shown(second)))
        decides = self._environment.second_decides and not isinstance(second, UnreadableError)
        answer = second if decides else first
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask_second(self, activation: Activation) -> Any:
        """Return cel-python's value; a variable that it cannot read has the first engine's."""
        source = self.source
        for spelling, name in UNESCAPED.items():
            source = source.replace(f".{spelling}", f".{name}")
        variables = {name: partial(self._variable, each, activation) for name, each in self._given.items()}
        found = self._environment.second.evaluate(source, activation.bindings, variables, activation.review)
        if problem := misfit(found, self.want):
            raise EvaluationError(problem)
        return found

    def _variable(self, expression: Expression, activation: Activation) -> Any:
        if not isinstance(expression, _Compared):
            raise TypeError("variables: got an expression of another environment, want one of this")
        known = self._environment.variables_of(activation)
        if expression not in known:
            known[expression] = _outcome(partial(self._ask, expression, activation))
        if isinstance(known[expression], EvaluationError):
            raise known[expression]
        return known[expression]

    def _ask(self, expression: "_Compared", activation: Activation) -> Any:
        try:
            return expression.ask_second(activation)
        except UnreadableError as error:
            found = _outcome(partial(Expression.evaluate, expression, activation))
            self._environment.note(Difference(expression.source, _shown(found), _shown(error)))
            if isinstance(found, EvaluationError):
                raise found from error
            return found


def _outcome(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except (EvaluationError, UnreadableError) as error:
        return error


def _shown(outcome: Any) -> str:
    if isinstance(outcome, UnreadableError):
        return f"{_UNREADABLE}{outcome}"
    if isinstance(outcome, EvaluationError):
        return f"error: {outcome}"
    return json.dumps(outcome, sort_keys=True, default=repr)

"""Evaluating sources with the second engine."""

from collections.abc import Callable, Mapping
from typing import Any

from celpy.evaluation import Activation, CELEvalError
from lark import Token, Tree
from lark.exceptions import UnexpectedInput

from podberth.cel.functions import ReviewContext
from podberth.errors import EvaluationError

from .functions import functions
from .language import Taught, parser
from .values import Lazy, Nodes, Optional, described, to_cel, to_plain

Variable = Callable[[], Any]
"""Evaluates a variable when it is asked for: what ``SecondEngine.evaluate`` returns, or an EvaluationError."""


class UnreadableError(Exception):
    """An expression that cel-python cannot parse."""


class SecondEngine:
    """Evaluates sources with cel-python's interpreter."""

    def __init__(self) -> None:
        """Make the parser, which deepens the interpreter's recursion limit; parse nothing yet."""
        self._parser = parser()
        self._parsed: dict[str, Tree[Token] | UnreadableError] = {}

    def evaluate(
        self, source: str, bindings: Mapping[str, object], variables: Mapping[str, Variable], review: ReviewContext
    ) -> Any:
        """Return the value of an expression as plain Python; Nodes and optionals are this engine's own.

        Raises:
            EvaluationError: it has none.
            UnreadableError: it is none to this engine.
        """
        evaluator = Taught(self._parse(source), Activation(functions=functions(review)))
        names = {name: to_cel(value) for name, value in bindings.items()}
        try:
            found: Any = evaluator.evaluate({**names, "variables": Lazy(variables)})
        except CELEvalError as error:
            raise EvaluationError(described(error)) from error
        return found if isinstance(found, Optional) else to_plain(found)

    def _parse(self, source: str) -> Tree[Token]:
        if source not in self._parsed:
            try:
                self._parsed[source] = self._parser.parse(source)
            except UnexpectedInput as error:
                self._parsed[source] = UnreadableError(" ".join(error.get_context(source).split()))
        found = self._parsed[source]
        if isinstance(found, UnreadableError):
            raise found
        return found


def unwrapped(value: Any) -> Any:
    """Return a value as the first engine hands it out: an optional's value or null, the number of Nodes."""
    if isinstance(value, Nodes):
        return value.handle
    if isinstance(value, Optional):
        return to_plain(value.values[0]) if value.values else None
    return value

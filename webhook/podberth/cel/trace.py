"""Computes the value of each part of an expression, by evaluating the part alone with the same variables.

The values explain a decision to people; no decision depends on these values. A part that the engine did not need,
because another operand decided the value, is reported as not evaluated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from ..errors import EvaluationError
from . import opaque
from .engine import Activation, CompileError, Environment, Expression, Want
from .libraries.overload import AUTHORIZATION
from .parts import MacroLoop, SubExpression, parts_of
from .types import NODES, OPTIONAL

MAX_ELEMENTS = 5
"""The maximum number of a loop's elements that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionResult:
    """The result of an expression: a value as plain Python, no value (an absent optional), or an error."""

    value: Any = None
    """The value; None for null, an absent optional, an error, or an expression that was not evaluated. For Nodes, the
    value is a map with the number of nodes."""
    absent: bool = False
    error: str = ""

    @classmethod
    def of(cls, expression: Expression, value: Any) -> Self:
        """Return the result that ``expression`` has the given value."""
        return cls(value=value, absent=value is None and expression.type.name == OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element of a loop, with the result of the loop's body for the element."""

    element: Any
    answer: ExpressionResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A part of an expression in a trace: the text, the result, and the smaller parts inside the part.

    ``asked`` is False if the engine did not evaluate the part; then the part has neither a result nor smaller parts.
    """

    text: str
    answer: ExpressionResult = ExpressionResult()
    asked: bool = True
    variable: str = ""
    """The name of the policy's variable that the part is; empty if the part is no variable."""
    parts: tuple["Traced", ...] = ()
    elements: tuple[Element, ...] = ()
    """The first elements of the loop, if the part is a loop; else empty."""
    more: int = 0
    """The number of the loop's elements that are not shown."""


class Tracer:
    """Computes the values of the parts of one policy's expressions; compiled parts are cached for later reviews."""

    def __init__(self, environment: Environment, variables: Mapping[str, Expression]) -> None:
        """Create the tracer; ``variables`` are the compiled variables of the policy."""
        self._environment = environment
        self._variables = variables
        self._parts: dict[str, SubExpression | None] = {}
        self._compiled: dict[str, Expression | None] = {}

    def trace(self, source: str, activation: Activation) -> Traced | None:
        """Return the tree of an expression's parts, with the parts' values; None if the expression is a literal."""
        if source not in self._parts:
            self._parts[source] = parts_of(source, self._environment, self._variables)
        part = self._parts[source]
        return None if part is None else self._trace(part, activation)

    def reached(self, source: str, activation: Activation) -> dict[str, ExpressionResult]:
        """Return a mapping from each policy variable that an expression needed, directly or not, to the result."""
        found: dict[str, ExpressionResult] = {}
        waiting = [source]
        while waiting:
            tree = self.trace(waiting.pop(), activation)
            for part in [] if tree is None else _asked(tree):
                if part.variable in self._variables and part.variable not in found:
                    found[part.variable] = part.answer
                    waiting.append(self._variables[part.variable].source)
        return found

    def answer(self, source: str, activation: Activation) -> ExpressionResult | None:
        """Return the result of an expression's part, evaluated alone; None if the part cannot be compiled alone.

        The result of an expression that is a set of nodes is ``{"nodes": COUNT}``.
        """
        if source not in self._compiled:
            try:
                made = self._environment.compile(source, want=Want.PART, variables=self._variables)
            except CompileError:
                made = None
            self._compiled[source] = made
        expression = self._compiled[source]
        if expression is None:
            return None
        try:
            value = expression.evaluate(activation)
        except EvaluationError as error:
            return ExpressionResult(error=str(error))
        if expression.type == NODES:
            return ExpressionResult(value={"nodes": activation.review.nodes(value).count})
        if expression.type.name in AUTHORIZATION:
            return ExpressionResult(value=opaque.shown(value))
        return ExpressionResult.of(expression, value)

    def _trace(self, part: SubExpression, activation: Activation) -> Traced | None:
        answer = self.answer(part.text, activation)
        if answer is None:
            return None
        parts = tuple(
            traced
            for child, asked in self._operands(part, activation)
            if child is not None
            and (traced := self._trace(child, activation) if asked else Traced(text=child.text, asked=False))
            is not None
        )
        if part.kind == "path" and not answer.error:  # the values on the way add nothing
            parts = ()
        elements, more = ((), 0) if part.loop is None else self._elements(part.loop, activation)
        return Traced(text=part.text, answer=answer, variable=part.variable, parts=parts, elements=elements, more=more)

    def _operands(self, part: SubExpression, activation: Activation) -> list[tuple[SubExpression | None, bool]]:
        """Return (operand, whether the CEL engine evaluates the operand) for each operand of a part."""
        first = part.children[0] if part.children else None
        if first is None or part.kind not in ("and", "or", "choice", "macro"):
            return [(child, True) for child in part.children]
        if part.kind == "choice":
            test = self._value(first, activation)
            return list(zip(part.children, (True, test is True, test is False), strict=True))
        if part.kind == "macro":
            goes_round = self._value(first, activation) not in (None, [], {})
            return [(first, True), *((child, goes_round) for child in part.children[1:])]
        settles = part.kind == "or"
        found: list[tuple[SubExpression | None, bool]] = []
        settled = False
        for child in part.children:
            found.append((child, not settled))
            settled = settled or (child is not None and self._value(child, activation) is settles)
        return found

    def _value(self, part: SubExpression | None, activation: Activation) -> Any:
        answer = None if part is None else self.answer(part.text, activation)
        return None if answer is None else answer.value

    def _elements(self, loop: MacroLoop, activation: Activation) -> tuple[tuple[Element, ...], int]:
        """Return (the results of a loop's body for the loop's first elements, the number of further elements)."""
        listed = f"({loop.range}).map({loop.variable}, {loop.variable})"
        everything = self.answer(listed, activation)
        if everything is None or not isinstance(everything.value, list):
            return (), 0
        elements = []
        for number, element in enumerate(everything.value[:MAX_ELEMENTS]):
            answer = self.answer(f"[{listed}[{number}]].map({loop.variable}, {loop.body})[0]", activation)
            if answer is not None:
                elements.append(Element(element=element, answer=answer))
        return tuple(elements), len(everything.value) - len(elements)


def _asked(tree: Traced) -> list[Traced]:
    """Return the root of a traced expression and all evaluated parts below the root."""
    return [tree, *(found for part in tree.parts if part.asked for found in _asked(part))] if tree.asked else []

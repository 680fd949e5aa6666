"""What every part of an expression came to: each is evaluated by itself, by the same engine, with the same names.

For people who ask why; nothing is decided with it. A part that the engine did not need, because another operand settled
the matter, is told as not asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import EvaluationError
from .engine import NODES, Activation, CompileError, Environment, Expression, Want
from .parts import Loop, Part

MAX_ELEMENTS = 5
"""Of a loop; who needs more asks a smaller question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an expression came to: a value as plain Python, or an error."""

    value: Any = None
    """None: null, an optional that is absent, an error, or not asked. Of Nodes: how many they are."""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element that a loop goes through, and what the loop's body says of it."""

    element: Any
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One part: its text, its answer, and the parts within it.

    Not asked: the engine had no need of it; then it has neither value nor parts.
    """

    text: str
    answer: Answer = Answer()
    asked: bool = True
    variable: str = ""
    """Which of the policy's variables it is; empty for anything else."""
    parts: tuple["Traced", ...] = ()
    elements: tuple[Element, ...] = ()
    """The first of those that a loop goes through."""
    more: int = 0
    """How many elements are left out."""


class Tracer:
    """Traces the expressions of one policy; what it has compiled is kept for the next review."""

    def __init__(self, environment: Environment, variables: Mapping[str, Expression]) -> None:
        """``variables`` are the policy's own."""
        self._environment = environment
        self._variables = variables
        self._parts: dict[str, Part | None] = {}
        self._compiled: dict[str, Expression | None] = {}

    def trace(self, source: str, activation: Activation) -> Traced | None:
        """Return the parts of a policy's expression with their values; None for a literal."""
        if source not in self._parts:
            self._parts[source] = self._environment.parts(source, self._variables)
        part = self._parts[source]
        return None if part is None else self._trace(part, activation)

    def reached(self, source: str, activation: Activation) -> dict[str, Answer]:
        """Return the variables that evaluating an expression needed, and those that they needed, with their values."""
        found: dict[str, Answer] = {}
        waiting = [source]
        while waiting:
            tree = self.trace(waiting.pop(), activation)
            for part in [] if tree is None else _asked(tree):
                if part.variable in self._variables and part.variable not in found:
                    found[part.variable] = part.answer
                    waiting.append(self._variables[part.variable].source)
        return found

    def answer(self, source: str, activation: Activation) -> Answer | None:
        """Return what a text comes to on its own; None where it means nothing on its own."""
        if source not in self._compiled:
            self._compiled[source] = self._compile(source)
        expression = self._compiled[source]
        if expression is None:
            return None
        try:
            value = expression.evaluate(activation)
        except EvaluationError as error:
            return Answer(error=str(error))
        if expression.type == NODES:
            return Answer(value={"nodes": activation.review.nodes(value).count})
        return Answer(value=value)

    def _compile(self, source: str) -> Expression | None:
        try:
            return self._environment.compile(source, want=Want.ANY, variables=self._variables)
        except CompileError:
            return None

    def _trace(self, part: Part, activation: Activation) -> Traced | None:
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
        if part.kind == "path" and not answer.error:  # what it leads through says no more
            parts = ()
        elements, more = ((), 0) if part.loop is None else self._elements(part.loop, activation)
        return Traced(text=part.text, answer=answer, variable=part.variable, parts=parts, elements=elements, more=more)

    def _operands(self, part: Part, activation: Activation) -> list[tuple[Part | None, bool]]:
        """Return the parts directly inside, with whether the engine needs them; it asks from left to right."""
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
        found: list[tuple[Part | None, bool]] = []
        settled = False
        for child in part.children:
            found.append((child, not settled))
            settled = settled or (child is not None and self._value(child, activation) is settles)
        return found

    def _value(self, part: Part | None, activation: Activation) -> Any:
        answer = None if part is None else self.answer(part.text, activation)
        return None if answer is None else answer.value

    def _elements(self, loop: Loop, activation: Activation) -> tuple[tuple[Element, ...], int]:
        """Ask a loop's body of the first elements, one by one."""
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
    """Return the tree's own part and all below that were asked."""
    return [tree, *(found for part in tree.parts if part.asked for found in _asked(part))] if tree.asked else []

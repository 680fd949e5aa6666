"""Limits of a policy's size before and after compilation (docs/adr/0040-bounds-of-compilation.md).

A user who may store a policy, or reach the port that checks policies, chooses the input of a compiler that holds the
interpreter lock. So sizes are checked before anything is parsed, and the growth by macros and library functions is
computed before the expansion. All limits of policies are in this module, each with the reason.

A part is a node of a checked expression: a literal, name, field or call. On one core of a virtual Xeon, it takes 27 us
and 600 bytes to check, load and price (``cel.pricing``) a part. The program of an expression has a copy of each
variable that the expression needs; a part of such a copy takes 5 us and 250 bytes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .engine_errors import TOO_DEEP, CelProblem
from .libraries import LIBRARIES
from .libraries.native import MACROS

MAX_TEXT_BYTES = 512 * 1024
"""The limit, in bytes, for a file or an object with policies.

Reading YAML takes 10 us for each value, and a value may take only two bytes. All shipped policies have 85 kB together;
the largest file has 12 kB.
"""
MAX_DEPTH = 100
"""The limit for the depth of nested objects and lists in a document, the same as for all documents that podberth reads
(``kube.json_text``)."""
MAX_ENTRIES = 64
"""The limit for the number of a policy's variables, of validations, of mutations, and of the keys in each of these
entries. The API server has the same limit for matchConditions (apiserver validation.go). Shipped policies have 30
variables at most.
"""
MAX_POLICY_BYTES = 64 * 1024
"""The limit, in bytes, for all expressions of a policy together: ten times the largest shipped policy."""
MAX_EXPRESSION_BYTES = 5 * 1024
"""The limit, in bytes, for one expression: five times the longest shipped expression. The API server has the same limit
for audit annotations (apiserver validation.go). The engine takes up to 35 ms to check an expression, in one call that
holds the interpreter lock.
"""
MAX_NESTING = 32
"""The limit for the depth of nested brackets in an expression: the CEL engine's parser accepts no more (cel-cpp
ParserOptions.max_recursion_depth)."""
MAX_EXPRESSION_PARTS = 5_000
"""The limit for the number of parts of one expression with macros and library functions expanded: 15 times the largest
shipped expression.
"""
MAX_PROGRAM_PARTS = 10_000
"""The limit for the number of parts of one expression and of all variables that it needs: 13 times the largest shipped
program. Loading a program of this size holds the interpreter lock for 10 ms."""
MAX_POLICY_PARTS = 20_000
"""The limit for the number of parts of all expressions and programs of a policy together: nine times the largest
shipped policy. Compiling so many parts takes half a second."""
MAX_SET_PARTS = 200_000
"""The limit for the number of parts of all policies that are compiled together: twelve times all shipped policies.
Compiling so many parts takes 5 s and 100 MiB."""


@dataclass(frozen=True, slots=True)
class _Call:
    """The growth of a call by expansion.

    ``receiver`` and ``arguments`` are the numbers of copies of the receiver and of each argument in the expanded call;
    ``beside`` is the number of all other nodes.
    """

    receiver: int = 1
    arguments: int = 1
    beside: int = 1


# a.optMap(x, e) is a.hasValue() ? optional.of(... a.value() ... e ...) : optional.none(); the loops of the other macros
# have nine parts at most, sortBy with the sort of its pairs sixteen (cel-cpp parser/macro.cc, extensions/lists).
_TWICE = _Call(receiver=2, beside=9)
_MACRO = _Call(beside=16)
# A body in CEL (cel.bodies) takes each operand once; the longest has 44 parts including the binding of operands.
_BODY = _Call(beside=45)
# If the receiver may be a string or a list: a choice between the engine's function and the body (cel.program).
_EITHER = _Call(receiver=3, arguments=2, beside=50)


def _calls() -> dict[str, _Call]:
    """Return a mapping from a function's or macro's name, after the last dot, to the growth of a call by expansion."""
    bodies = {row.name for row in LIBRARIES if row.body}
    either = {row.name for row in LIBRARIES if row.is_native} & bodies
    grown = {macro.name: _MACRO for macro in MACROS} | dict.fromkeys(bodies, _BODY) | dict.fromkeys(either, _EITHER)
    grown |= {"optMap": _TWICE, "optFlatMap": _TWICE}
    return {name.rpartition(".")[2]: each for name, each in grown.items()}


_CALLS = _calls()
_PLAIN = _Call()
_SPLIT = "split it with variables"

# A comment; a string, whole (the alternatives of each repetition exclude one another, so this is linear); a quote that
# is never closed; a name or a number; a bracket; anything else. cel-spec doc/langdef.md, Syntax.
_PIECE = re.compile(
    r"(?P<none>//[^\n]*|\s+|\.\??)"
    r"|(?P<leaf>(?:[rR][bB]?|[bB][rR])(?:\"{3}(?:(?!\"{3}).)*\"{3}|'{3}(?:(?!'{3}).)*'{3}|\"[^\"\n]*\"|'[^'\n]*')"
    r"|[bB]?(?:\"{3}(?:(?!\"{3})[^\\]|\\.)*\"{3}|'{3}(?:(?!'{3})[^\\]|\\.)*'{3}"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`)"
    r"|\w+)"
    r"|(?P<open>\[\?|[(\[{])|(?P<close>[)\]}])|(?P<unclosed>[\"'`])|.",
    re.DOTALL,
)


Late: TypeAlias = Callable[[], bool]
"""A function that returns True once the time for compilation is over."""


def never() -> bool:
    """Return False: the compilation has no time limit; only the limits of size apply to the policy."""
    return False


@dataclass(slots=True)
class Room:
    """A budget: the number of syntax-tree nodes that may still be compiled.

    The budget is that of one policy or of all policies.
    """

    left: int
    whole: str
    """The owner of the budget in messages, such as "the policy"."""
    most: int
    within: "Room | None" = None
    """The larger budget that contains this budget; parts that are taken from this budget are taken from both."""

    @classmethod
    def of_policy(cls, within: "Room | None" = None) -> "Room":
        """Return the budget of syntax-tree nodes for the expressions of one policy.

        ``within`` is the budget of all policies; None if the policy is compiled alone.
        """
        return cls(MAX_POLICY_PARTS, "the policy", MAX_POLICY_PARTS, within)

    @classmethod
    def of_set(cls) -> "Room":
        """Return the budget of syntax-tree nodes for all policies that are compiled together."""
        return cls(MAX_SET_PARTS, "all policies together", MAX_SET_PARTS)

    def take(self, parts: int) -> str:
        """Take ``parts`` syntax-tree nodes from the budget, and from the larger budget ``within``.

        Return a message if one of the budgets has too few nodes left; else an empty text.
        """
        if parts > self.left:
            return (
                f"{self.whole} grows beyond {self.most:,} parts here, with variables written into each expression that "
                "needs them; use fewer or smaller expressions"
            )
        self.left -= parts
        return self.within.take(parts) if self.within else ""


def excess(source: str) -> CelProblem | None:
    """Return a problem if an expression is too long, too deeply nested or grows too much; None if all is in bounds."""
    size = len(source.encode(errors="replace"))
    if size > MAX_EXPRESSION_BYTES:
        return CelProblem(1, 1, f"got {size:,} bytes, want {MAX_EXPRESSION_BYTES:,} at most; {_SPLIT}")
    return _Scan(source).excess()


def too_many_parts(parts: int) -> str:
    """Return a message if an expression of at least ``parts`` syntax-tree nodes is too large; else an empty text."""
    if parts <= MAX_EXPRESSION_PARTS:
        return ""
    return (
        f"grows beyond {MAX_EXPRESSION_PARTS:,} parts when macros and functions are written out; {_SPLIT}, the "
        "receiver of optMap() and the operands of indexOf() first"
    )


def too_large(parts: int) -> str:
    """Return a message if an expression and its variables have too many syntax-tree nodes (``parts``); else empty."""
    if parts <= MAX_PROGRAM_PARTS:
        return ""
    return (
        f"got {parts:,} parts with the variables that it needs, want {MAX_PROGRAM_PARTS:,} at most; "
        "make the variables smaller, or need fewer"
    )


class _Scan:
    """Estimates the number of an expression's syntax-tree nodes in one pass over the source.

    The estimate is never below the number of nodes after the expansion of macros and functions, and at most three times
    as high.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._open: list[tuple[str, int, int]] = []
        """For each bracket that is open so far: (the name before the bracket, the parts of the earlier operands, the
        parts of the enclosing call).
        """
        self._parts, self._operand, self._outside = 0, 0, 0
        self._name = ""

    @property
    def parts(self) -> int:
        """The estimated number of syntax-tree nodes of the source that was read so far."""
        return self._outside + self._parts + self._operand

    def excess(self) -> CelProblem | None:
        for piece in _PIECE.finditer(self._source):
            kind = piece.lastgroup
            if kind == "unclosed":  # no CEL: the parser reports it
                return None
            if kind == "open":
                self._open.append((self._name, self._parts, self._operand))
                self._outside = self.parts
                self._parts = self._operand = 0
                if len(self._open) > MAX_NESTING:
                    return CelProblem(*self._place(piece.start()), TOO_DEEP)
            elif kind == "close" and self._open:
                self._close()
            elif kind == "leaf":
                self._operand += 1
            elif kind is None:  # an operator or a comma begins another operand
                self._parts, self._operand = self._parts + self._operand + 1, 0
            if message := too_many_parts(self.parts):
                return CelProblem(*self._place(piece.start()), message)
            if kind != "none":
                self._name = piece.group() if kind == "leaf" else ""
        return None

    def _close(self) -> None:
        inside = self._parts + self._operand
        name, self._parts, before = self._open.pop()
        self._outside -= self._parts + before
        call = _CALLS.get(name, _PLAIN)
        self._operand = call.receiver * before + call.arguments * inside + call.beside

    def _place(self, offset: int) -> tuple[int, int]:
        before = self._source[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

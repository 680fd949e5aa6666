"""Splits an expression into a tree of its parts, each with the part's text in the author's source.

The type checker keeps one position for each part: an operand's first character, an operator, or a call's parenthesis.
This module finds the whole text of the part from the part's position and the brackets around the part. The text is an
expression that can be compiled alone. The parts of a macro are the macro's receiver, and the parts of the macro's body
that use no loop variable. Nothing is evaluated here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from . import ast
from .ast import Node
from .engine import CelType, Environment, Expression
from .program import VARIABLES_PREFIX
from .typing import VARIABLES

# ---- tokens: cel-spec doc/langdef.md, Syntax, as far as the text of a part needs them --------------------------------

CLOSING: Final[Mapping[str, str]] = {"(": ")", "[": "]", "[?": "]", "{": "}"}
"""A mapping from each opening bracket to the closing bracket."""

_SPACE = r"(?P<space>\s+|//[^\n]*)"
_RAW = r"""(?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')"""
_QUOTED = r"""[bB]?(?:\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`\n]*`)"""
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_NUMBER = r"0[xX][0-9a-fA-F]+[uU]?|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?[uU]?"
_TOKEN = re.compile(rf"{_SPACE}|{_RAW}|{_QUOTED}|{_NAME}|{_NUMBER}|\.\?|\[\?|&&|\|\||[=!<>]=|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the source. Offsets count characters from 0; ``end`` is the offset after the last character."""

    text: str
    start: int
    end: int


def tokens_of(source: str) -> list[Token]:
    """Return the tokens of the source in order, without white space and comments."""
    return [
        Token(found.group(), found.start(), found.end())
        for found in _TOKEN.finditer(source)
        if found.group("space") is None
    ]


# ---- parts ----------------------------------------------------------------------------------------------------------

Kind: TypeAlias = Literal["path", "and", "or", "choice", "macro", "other"]

_LAZY: dict[str, Kind] = {"_&&_": "and", "_||_": "or", "_?_:_": "choice"}
_INDEX = frozenset({"_[_]", "_[?_]"})
_OPTIONAL_FIELD = "_?._"
# Macros of one variable whose body is evaluated for each element.
_PER_ELEMENT = frozenset({"all", "exists", "exists_one", "existsOne", "filter", "map"})
_VARIABLE_AND_BODY = 2

Span: TypeAlias = tuple[int, int]
"""A range of tokens in the source: the indexes of the range's first and last token."""


@dataclass(frozen=True, slots=True)
class MacroLoop:
    """A macro that evaluates ``body`` for each element of ``range``, a list or map; all fields are source texts."""

    range: str
    variable: str
    body: str


@dataclass(frozen=True, slots=True)
class SubExpression:
    """A part of an expression that is an expression itself.

    ``kind`` is the kind of expression that the part is. "path": a name with fields and indexes; the child of ``a.b.c``
    is ``a.b``. "and", "or" and "choice": the children are the operands in order; some operands may not be evaluated.
    "macro": the first child is the receiver, and the other children are parts of the body. Literals are not parts, nor
    are bare variables such as ``object``, whose value would be too large.
    """

    text: str
    kind: Kind
    children: tuple["SubExpression | None", ...]
    """The parts within this part. An operand that is a literal is None, so that the indexes of the other operands stay
    right."""
    variable: str = ""
    """The name of the policy's variable that the part is; empty if the part is no variable."""
    loop: MacroLoop | None = None


def parts_of(
    source: str, environment: Environment, variables: Mapping[str, CelType | Expression]
) -> SubExpression | None:
    """Return the expression as a tree of parts, each of which can be compiled alone; None for a literal.

    Raises:
        CompileError: the expression does not compile.
    """
    checked = environment.checked(source, variables)
    return _Reader(checked, source).read(checked.expr)


class _Reader:
    """Finds the source text of each part of one expression."""

    def __init__(self, checked: Node, source: str) -> None:
        self.source = source
        self.tokens = tokens_of(source)
        self.positions = dict(checked.source_info.positions)
        self.by_offset = {token.start: number for number, token in enumerate(self.tokens)}
        self.closing = _closing(self.tokens)
        self.opening = {last: first for first, last in self.closing.items()}

    def read(self, node: Node) -> SubExpression | None:
        """Return an expression as a part, with the parts within it; None for a literal or a bare variable."""
        kind = ast.kind(node)
        if not kind or _is_literal(node) or (kind == "ident_expr" and node.ident_expr.name in VARIABLES):
            return None
        macro = self._macro(node)
        if macro is not None:
            return self._of_macro(node, macro)
        if kind == "call_expr" and node.call_expr.function in _LAZY:
            lazy = _LAZY[node.call_expr.function]
            return self._part(node, lazy, tuple(self._lazy(lazy, node.call_expr.args)))
        inner = tuple(part for child in _operands(node) if (part := self.read(child)) is not None)
        return self._part(node, "path" if _is_path(node) else "other", inner)

    def _lazy(self, kind: Kind, operands: Sequence[Node]) -> Iterator[SubExpression | None]:
        """Yield the operands of a logical operator in order, as parts; "a && b && c" has three operands, not two."""
        for operand in operands:
            part = self.read(operand)
            if part is not None and part.kind == kind != "choice":
                yield from part.children
            else:
                yield part

    def _part(
        self, node: Node, kind: Kind, children: tuple[SubExpression | None, ...], loop: MacroLoop | None = None
    ) -> SubExpression:
        name = node.ident_expr.name if ast.kind(node) == "ident_expr" else ""
        variable = name.removeprefix(VARIABLES_PREFIX) if name.startswith(VARIABLES_PREFIX) else ""
        return SubExpression(self._text(self.span(node)), kind, children, variable, loop)

    # ---- macros -----------------------------------------------------------------------------------------------------

    def _macro(self, node: Node) -> int | None:
        """Return the index of the parenthesis of the macro whose expansion is ``node``; None if there is no macro."""
        token = self._token(node)
        if token is None or self.tokens[token].text != "(":
            return None
        return token if ast.kind(node) == "comprehension_expr" or _is_opt_map(node) else None

    def _of_macro(self, node: Node, parenthesis: int) -> SubExpression:
        target = self._target(node, parenthesis)
        operand = self.read(target)
        free = self._free(node, self.span(target), frozenset(), frozenset())
        return self._part(node, "macro", (operand, *free), self._loop(target, parenthesis))

    def _target(self, node: Node, parenthesis: int) -> Node:
        """Return the receiver of a macro; the position of the receiver in the expansion depends on the macro."""
        if ast.kind(node) == "call_expr":
            return node.call_expr.args[0].call_expr.target
        loop = node.comprehension_expr
        return loop.accu_init if self._token(loop.iter_range) == parenthesis else loop.iter_range

    def _free(self, node: Node, done: Span, macros: frozenset[int], bound: frozenset[str]) -> Iterator[SubExpression]:
        """Yield the largest parts of a macro's body that use no loop variable.

        ``done`` is the token range of the receiver, which is skipped: an expansion may contain the receiver twice.
        ``bound`` are the names of the loop variables around ``node``, and ``macros`` the tokens of the macros around
        it.
        """
        macro = self._macro(node)
        macros |= frozenset() if macro is None else {macro}
        if ast.kind(node) == "comprehension_expr":
            loop = node.comprehension_expr
            bound |= {loop.iter_var, loop.iter_var2, loop.accu_var}
        for child in ast.children(node):
            token = self._token(child)
            if ast.kind(child) == "const_expr" or token is None:
                continue
            if token in macros or bound & _names(child):
                yield from self._free(child, done, macros, bound)
            elif self.span(child) != done and (part := self.read(child)) is not None:
                yield part

    def _loop(self, target: Node, parenthesis: int) -> MacroLoop | None:
        arguments = self._arguments(parenthesis)
        if self.tokens[parenthesis - 1].text not in _PER_ELEMENT or len(arguments) != _VARIABLE_AND_BODY:
            return None
        over, variable, body = (self._text(span) for span in (self.span(target), *arguments))
        return MacroLoop(over, variable, body)

    def _arguments(self, parenthesis: int) -> list[Span]:
        """Return the token ranges of a call's arguments, which are separated by commas."""
        end = self.closing[parenthesis]
        found: list[Span] = []
        start = at = parenthesis + 1
        while at < end:
            if self.tokens[at].text == ",":
                found.append((start, at - 1))
                start = at + 1
            at = self.closing.get(at, at) + 1
        return [*found, (start, end - 1)]

    # ---- the text of a part -----------------------------------------------------------------------------------------

    def span(self, node: Node) -> Span:
        """Return the token range of a part, including the parentheses around the part's operands."""
        token, macro = self._token(node), self._macro(node)
        operands = _operands(node) if macro is None else [self._target(node, macro)]
        inner = [self.span(child) for child in operands if self._token(child) is not None]
        start, end = inner[0] if token is None else self._own(node, token)
        return self._balanced(min([start, *(each for each, _ in inner)]), max([end, *(each for _, each in inner)]))

    def _own(self, node: Node, token: int) -> Span:
        """Return the token range of a part without its operands, such as the operator.

        ``token`` is the index of the token at the part's position, which the parser records.
        """
        text = self.tokens[token].text
        if text == "(":  # a call, has(), or a macro; the name of a called function may have dots
            start = token - 1
            is_member = ast.kind(node) == "comprehension_expr" or node.call_expr.HasField("target")
            while not is_member and start > 1 and self.tokens[start - 1].text == ".":
                start -= 2
            return start, self.closing[token]
        if text in CLOSING:
            return token, self.closing[token]
        if text in (".", ".?"):  # a field, or a name that consists of fields
            dots = node.ident_expr.name.count(".") if ast.kind(node) == "ident_expr" else 0
            return (token - (2 * dots - 1) if dots else token), token + 1
        if text == "-" and ast.kind(node) == "const_expr":
            return token, token + 1
        return token, token

    def _balanced(self, start: int, end: int) -> Span:
        """Return the token range, extended until every bracket in the range has its counterpart in the range."""
        for at in range(start, end + 1):
            end = max(end, self.closing.get(at, end))
        for at in range(end, start - 1, -1):
            start = min(start, self.opening.get(at, start))
        return start, end

    def _token(self, node: Node) -> int | None:
        return self.by_offset.get(self.positions[node.id]) if node.id in self.positions else None

    def _text(self, span: Span) -> str:
        return self.source[self.tokens[span[0]].start : self.tokens[span[1]].end]


def _closing(tokens: Sequence[Token]) -> dict[int, int]:
    """Return a mapping from the index of each opening bracket's token to the index of the closing bracket's token."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for number, token in enumerate(tokens):
        if token.text in CLOSING:
            waiting.append(number)
        elif token.text in CLOSING.values() and waiting:
            found[waiting.pop()] = number
    return found


def _operands(node: Node) -> Iterator[Node]:
    """Yield the direct operands of an expression, except the field name in ``.?name``, which is no expression."""
    children = ast.children(node)
    if ast.kind(node) == "call_expr" and node.call_expr.function == _OPTIONAL_FIELD:
        children = children[:1]
    yield from children


def _is_opt_map(node: Node) -> bool:
    """Return whether a conditional expression is the expansion of the macro ``optMap`` or ``optFlatMap``.

    The expansion has the form ``x.hasValue() ? ... : none``.
    """
    choice = ast.kind(node) == "call_expr" and node.call_expr.function == "_?_:_"
    return choice and node.call_expr.args[0].call_expr.function == "hasValue"


def _is_literal(node: Node) -> bool:
    """Return whether an expression is a literal, or a list or map of literals."""
    kinds = {ast.kind(each) for each in ast.walk(node)}
    return kinds <= {"const_expr", "list_expr", "struct_expr"}


def _is_path(node: Node) -> bool:
    match ast.kind(node):
        case "ident_expr":
            return not node.ident_expr.name.startswith(VARIABLES_PREFIX)
        case "select_expr":
            return not node.select_expr.test_only and _is_path(node.select_expr.operand)
        case "call_expr" if node.call_expr.function in _INDEX:
            return _is_path(node.call_expr.args[0]) and ast.kind(node.call_expr.args[1]) == "const_expr"
        case "call_expr" if node.call_expr.function == _OPTIONAL_FIELD:
            return _is_path(node.call_expr.args[0])
    return False


def _names(node: Node) -> set[str]:
    return {each.ident_expr.name.partition(".")[0] for each in ast.walk(node) if ast.kind(each) == "ident_expr"}

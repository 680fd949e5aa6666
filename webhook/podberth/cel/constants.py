"""Finds the calls in an expression that have only constant operands: such a call fails for every pod or for none.

The API server refuses to create a policy with such a call that fails. The API server evaluates conversions of literals,
and compiles the patterns that are literals (cel-go v0.26.0 interpreter/decorators.go, maybeOptimizeConstUnary, and
cel/validator.go, ValidateRegexLiterals; apiserver pkg/cel/library/regex.go, OptimizeRegex).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from . import ast
from .ast import Node

# cel-go common/overloads/overloads.go, IsTypeConversionFunction, without type and dyn, which take any value.
_CONVERSIONS: Final[Mapping[str, str]] = {
    "bool": "true or false",
    "bytes": "a text",
    "double": "a number",
    "duration": "numbers with the units h, m, s and ms, as in 1h30m",
    "int": "a whole number",
    "string": "bytes that are UTF-8",
    "timestamp": "a time by RFC 3339, as in 2026-01-31T12:00:00Z",
    "uint": "a whole number from 0 on",
}
_PATTERNS: Final = frozenset({"matches", "find", "findAll"})
_STRING: Final = 5
"""The number of the enum value Type.PrimitiveType.STRING in checked.proto."""


@dataclass(frozen=True, slots=True)
class ConstantCall:
    """A call whose operands are constants, as an expression that can be evaluated alone."""

    checked: Node
    literal: Node
    """The converted operand of a conversion, or the pattern of a search; always a literal."""
    want: str
    """A phrase for messages: the operand that the call accepts."""


def constant_calls(checked: Node) -> Iterator[ConstantCall]:
    """Yield the calls of a checked expression that the API server evaluates, or compiles, when a policy is created."""
    for node in ast.walk(checked.expr):
        if ast.kind(node) != "call_expr":
            continue
        function = node.call_expr.function
        operands = ast.children(node)
        if function in _PATTERNS and len(operands) > 1 and ast.kind(operands[1]) == "const_expr":
            yield ConstantCall(_match(checked, node, operands[1]), operands[1], "a regular expression of RE2")
        elif function in _CONVERSIONS and len(operands) == 1 and (literal := _converted(operands[0])) is not None:
            yield ConstantCall(_alone(checked, node), literal, _CONVERSIONS[function])


def _converted(node: Node) -> Node | None:
    """Return the literal that a conversion converts; None if the operand is not a literal.

    The operand may itself be a conversion of a literal.
    """
    while ast.kind(node) == "call_expr" and node.call_expr.function in (*_CONVERSIONS, "dyn"):
        operands = ast.children(node)
        if len(operands) != 1:
            return None
        node = operands[0]
    return node if ast.kind(node) == "const_expr" else None


def _alone(checked: Node, node: Node) -> Node:
    """Return a part of an expression as an expression that can be evaluated alone."""
    made = ast.CheckedExpr()
    made.expr.CopyFrom(node)
    for each in ast.walk(node):
        for name in ("type_map", "reference_map"):
            known = getattr(checked, name)
            if each.id in known:
                getattr(made, name)[each.id].CopyFrom(known[each.id])
    return made


def _match(checked: Node, node: Node, pattern: Node) -> Node:
    """Return the expression ``''.matches(pattern)``, which fails exactly if the pattern cannot be compiled."""
    made = _alone(checked, pattern)
    call = made.expr
    call.Clear()
    call.id = node.id
    call.call_expr.function = "matches"
    call.call_expr.target.const_expr.string_value = ""
    call.call_expr.target.id = max(checked.type_map, default=0) + 1
    call.call_expr.args.add().CopyFrom(pattern)
    made.type_map[call.call_expr.target.id].primitive = _STRING
    made.type_map[call.id].primitive = 1
    made.reference_map[call.id].overload_id.append("matches_string")
    return made

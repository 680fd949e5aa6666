"""The bounds that a condition puts on texts: in ``t.size() <= 8 && t.matches(...)`` the pattern searches 8 characters.

The engine evaluates the second operand of ``&&`` and ``||`` only if the first does not decide, and one branch of
``? :`` (cel-cpp runtime, short-circuiting). After an error in the condition the second operand is evaluated, too. Then
the text either has the bound all the same, or has no value that could be read.
"""

from collections.abc import Mapping

from . import ast, patterns
from .ast import Node

_CHARACTER_BYTES = 4
"""The most bytes of a character in UTF-8; ``size()`` counts characters (cel-spec doc/langdef.md, size)."""
_TURNED: Mapping[str, str] = {"_<_": "_>_", "_<=_": "_>=_", "_>_": "_<_", "_>=_": "_<=_", "_==_": "_==_"}
"""A comparison with its operands exchanged."""
_OPPOSITE: Mapping[str, str] = {"_<_": "_>=_", "_<=_": "_>_", "_>_": "_<=_", "_>=_": "_<_", "_!=_": "_==_"}
_MOST: Mapping[str, int] = {"_<_": -1, "_<=_": 0, "_==_": 0}
"""Comparisons with a number that bound a size, and what the bound is beside the number."""


def longest_texts(checked: Node, condition: Node, *, holds: bool) -> Mapping[str, float]:
    """Return the most bytes of texts, by their names, if the condition does not have the opposite value of ``holds``.

    The names are those of loop variables, and of variables as ``variables.<name>``.
    """
    call = condition.call_expr
    match call.function:
        case "!_":
            return longest_texts(checked, call.args[0], holds=not holds)
        case "_&&_" | "_||_":
            return _both(checked, call.args, holds=holds) if holds == (call.function == "_&&_") else {}
        case "matches" if holds:
            return _matching(checked, list(ast.children(condition)))
        case function if function in _OPPOSITE or function in _TURNED:
            return _sized(checked, function if holds else _OPPOSITE.get(function, ""), call.args[0], call.args[1])
    return {}


def _both(checked: Node, conditions: "list[Node]", *, holds: bool) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for each in conditions:
        for name, most in longest_texts(checked, each, holds=holds).items():
            found[name] = min(most, found.get(name, most))
    return found


def _matching(checked: Node, operands: "list[Node]") -> Mapping[str, float]:
    text, pattern = operands
    if not _is_named_text(checked, text) or ast.kind(pattern) != "const_expr":
        return {}
    return {_name(text): patterns.read(pattern.const_expr.string_value).longest}


def _sized(checked: Node, function: str, left: Node, right: Node) -> Mapping[str, float]:
    if ast.kind(left) == "const_expr":
        function, left, right = _TURNED.get(function, ""), right, left
    number = ast.constant(right)
    if function not in _MOST or not isinstance(number, int):
        return {}
    call = left.call_expr
    if ast.kind(left) != "call_expr" or call.function != "size":
        return {}
    text = call.target if call.HasField("target") else call.args[0]
    if not _is_named_text(checked, text):
        return {}
    return {_name(text): float(max(number + _MOST[function], 0) * _CHARACTER_BYTES)}


def _is_named_text(checked: Node, node: Node) -> bool:
    """Return whether a node is a name of a text; a value of any type could be a list of long texts."""
    return ast.kind(node) == "ident_expr" and ast.type_of(checked, node).name == "string"


def _name(node: Node) -> str:
    return str(node.ident_expr.name.removeprefix("."))

"""Finds limits that conditions set on texts: in ``t.size() <= 8 && t.matches(...)``, ``t`` has at most 8 characters.

The engine evaluates the second operand of ``&&`` and ``||`` only if the first does not decide the result, and only one
branch of ``? :`` (cel-cpp runtime, short-circuiting). The engine also evaluates the second operand if the first has an
error. The limit holds then, too: a false comparison would have decided the result, and a comparison has an error only
if the text has no value.
"""

from collections.abc import Mapping

from . import ast, patterns
from .ast import Node

_CHARACTER_BYTES = 4
"""The maximum number of bytes of a character in UTF-8; ``size()`` counts characters (cel-spec doc/langdef.md, size)."""
_TURNED: Mapping[str, str] = {"_<_": "_>_", "_<=_": "_>=_", "_>_": "_<_", "_>=_": "_<=_", "_==_": "_==_"}
"""Each comparison operator with the operator that is equivalent when the operands are swapped."""
_OPPOSITE: Mapping[str, str] = {"_<_": "_>=_", "_<=_": "_>_", "_>_": "_<=_", "_>=_": "_<_", "_!=_": "_==_"}
_MOST: Mapping[str, int] = {"_<_": -1, "_<=_": 0, "_==_": 0}
"""The comparisons that limit a text's size, each with the difference between that limit and the compared number."""


def longest_texts(checked: Node, condition: Node, *, holds: bool) -> Mapping[str, float]:
    """Return a mapping from each text that a condition limits in length to the maximum number of bytes of the text.

    The maximum applies if ``condition`` has the value ``holds``, or has an error. The keys are the names of loop
    variables, and ``variables.<name>`` for a policy's variables. Texts that the condition does not limit are left out.
    """
    call = condition.call_expr
    match call.function:
        case "!_":
            return longest_texts(checked, call.args[0], holds=not holds)
        case "_&&_" | "_||_":
            return _both(checked, call.args, holds=holds) if holds == (call.function == "_&&_") else {}
        case "matches" if holds:
            return _matching(checked, ast.children(condition))
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
    """Return whether an expression is a variable of type string. A dyn variable could hold a list of long texts."""
    return ast.kind(node) == "ident_expr" and ast.type_of(checked, node).name == "string"


def _name(node: Node) -> str:
    return str(node.ident_expr.name.removeprefix("."))

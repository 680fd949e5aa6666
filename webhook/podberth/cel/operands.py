"""The advice about the operands of an operator or a function that takes no operands of these types.

An ``adviser`` gets the name of the function, the types of its operands as the engine writes them, such as
``(int, string)``, and the text around the place of the operator. It returns the advice, or an empty text.
"""

import re
from collections.abc import Mapping
from typing import Final

from .libraries.overload import QUANTITY, SEMVER
from .mistakes import TEXT, Around

# Operators that quantities and versions lack, and their functions.
INSTEAD: Mapping[str, str] = {
    "_+_": "a.add(b)",
    "_-_": "a.sub(b)",
    "_<_": "a.isLessThan(b)",
    "_>_": "a.isGreaterThan(b)",
    "_<=_": "a.compareTo(b) <= 0",
    "_>=_": "a.compareTo(b) >= 0",
}
_ORDERS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_COMPARISONS: Final = _ORDERS | {"_==_", "_!=_"}
_NUMBERS: Final = frozenset({"int", "uint", "double"})
_TWO: Final = re.compile(r"\((?P<left>[\w.]+), (?P<right>[\w.]+)\)")
_OPERATOR: Final = re.compile(r"\s*(?:[=!<>]=|[<>])\s*")
_QUOTED_NUMBER: Final = r"['\"](?P<number>-?\d+(?:\.\d+)?)['\"]"
_IN_BRACKETS: Final = re.compile(rf"in\s*\(\s*(?P<text>{TEXT})\s*\)")

CALLS: Final = (
    ("_+_", "(list(", "write a + [b]"),
    ("_+_", "string", "write string(...)"),
    ("_%_", "(string,", "write a.format([b])"),
    ("_==_", "(list(", "write a.exists(x, x == b)"),
    ("_[_]", "(list(", "the index of a list is a number; write a.filter(x, x.name == b)"),
    ("_[?_]", "(list(", "the index of a list is a number; write a.filter(x, condition)"),
    ("_[_]", "(string,", "write a.charAt(b)"),
    ("@in", "(string, string)", "write a list, as in a in ['b'], or b.contains(a) for a part of a text"),
    ("@in", "(string, k8s.", "write has(a.b)"),
    ("_||_", "", "write a condition on both sides, as in a != ''; a default is a.?b.orValue(c)"),
    ("_&&_", "", "write a condition on both sides, as in a > 0 or a != ''"),
    ("_?_:_", "(bool,", "write two values of one type"),
    ("_?_:_", "", "write a condition before ?, as in a > 0 or a != ''"),
    ("contains", "(list(", "write b in a"),
    ("contains", "(map(", "write b in a"),
    ("format", "(string,", "write a list, and %s or %d for its items: 'a %d'.format([b])"),
    ("join", "(string, list(", "write b.join(a)"),
    ("sum", QUANTITY, "sum numbers, such as those of asApproximateFloat()"),
)
"""The advice about a call that no function takes: (function, a part of the operands' types, advice)."""


def advice_about(function: str, operands: str, around: Around) -> str:
    """Return the advice of the first adviser that knows these operands; empty if none does."""
    return next((said for adviser in _ADVISERS if (said := adviser(function, operands, around))), "")


def _null(function: str, operands: str, _: Around) -> str:
    if "null_type" not in operands:
        return ""
    if function == "_?_:_":
        return "write condition ? optional.of(value) : optional.none()"
    either = " or compare with ''," if "string" in operands.strip("()").split(", ") else ""
    return f"ask has(...){either} instead of comparing with null"


def _absent(function: str, operands: str, _: Around) -> str:
    is_compared = "optional_type" in operands and function in _COMPARISONS
    return "the value may be absent; write a.orValue(b)" if is_compared else ""


def _quantity(function: str, operands: str, _: Around) -> str:
    is_one = function in INSTEAD and (QUANTITY in operands or SEMVER in operands)
    return f"write {INSTEAD[function]}" if is_one else ""


def _negation(function: str, operands: str, around: Around) -> str:
    if function != "!_":
        return ""
    if re.match(r"!\s*[\w.]+\s+in\b", around.after):
        return "write parentheses around what is negated, as in !(a in b)"
    empty = {"(string)": "a == ''", "(int)": "a == 0"}
    return f"write {empty.get(operands, 'size(a) == 0, or !has(a.b)')}"


def _membership(function: str, _: str, around: Around) -> str:
    found = _IN_BRACKETS.match(around.after) if function == "@in" else None
    return f"a list has brackets: write in [{found['text']}]" if found else ""


def _numbers(function: str, operands: str, _: Around) -> str:
    two = _TWO.fullmatch(operands)
    if not two or two["left"] == two["right"] or two["right"] not in _NUMBERS:
        return ""
    if two["left"] == "bool" and function in _ORDERS:
        return "write a < b && b < c"
    if two["left"] not in _NUMBERS:
        return ""
    if function == "_%_" and "double" in operands:
        return "write int(...) around the double"
    return "write double(...) around the other number" if "double" in operands else "write int(...) around the uint"


def _quotes(function: str, operands: str, around: Around) -> str:
    """Return the advice about a comparison of a text with a value of another type."""
    two, operator = _TWO.fullmatch(operands), _OPERATOR.match(around.after)
    if not two or not operator or function not in _COMPARISONS:
        return ""
    right, other = around.after[operator.end() :], {two["left"], two["right"]} - {"string"}
    if two["left"] == "string" and "." in two["right"] and (name := re.match(r"[a-z]+(?![\w.(\[])", right)):
        return f"a text has quotes: write '{name[0]}'"
    if other == {"bool"} and (value := re.match(r"['\"](true|false)['\"]", right)):
        return f"true and false have no quotes: write {value[1]}"
    if len(other) != 1 or not other <= _NUMBERS:
        return ""
    if quoted := re.match(_QUOTED_NUMBER, right) or re.search(rf"{_QUOTED_NUMBER}\s*$", around.before):
        return f"a number has no quotes: write {quoted['number']}"
    digits = re.match(r"-?\d+", right)
    return (
        f"a text has quotes: write '{digits[0]}'"
        if digits and function not in _ORDERS
        else "write int(...) around the text, or string(...) around the number"
    )


def _listed(function: str, operands: str, _: Around) -> str:
    return next((advice for name, part, advice in CALLS if name == function and part in operands), "")


_ADVISERS: Final = (_null, _absent, _quantity, _negation, _membership, _numbers, _quotes, _listed)

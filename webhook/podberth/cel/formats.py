"""Finds calls of ``format`` that upstream refuses in a new policy: the format does not fit the listed values.

Only calls with a literal format and a literal list are checked. Source: cel-go v0.26.0 ext/formatting.go,
stringFormatValidator.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from . import ast
from .ast import Node
from .engine_errors import CelProblem
from .types import DYN, CelType

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.([0-9]*))?(.?))", re.DOTALL)
_NUMBERS: Final = frozenset({"int", "uint"})
_TEXTS: Final = frozenset({"bool", "bytes", "double", "list", "map", "null_type", "string", "type", *_NUMBERS})
_TIMES: Final = frozenset({"google.protobuf.Duration", "google.protobuf.Timestamp"})
_TAKEN: Final[Mapping[str, frozenset[str]]] = {
    "s": _TEXTS | _TIMES,
    "d": _NUMBERS,
    "f": frozenset({"double", "string"}),
    "e": frozenset({"double", "string"}),
    "b": _NUMBERS | {"bool"},
    "x": _NUMBERS | {"bytes", "string"},
    "X": _NUMBERS | {"bytes", "string"},
    "o": _NUMBERS,
}


def wrong_formats(checked: Node, *, objects_have_text: bool) -> Iterator[CelProblem]:
    """Yield a problem for each call of ``format`` with a literal text and a list literal that fails for every pod.

    ``objects_have_text`` says whether "%s" accepts objects with declared fields, such as ``object.spec``: it does in
    GPUPolicies, but not in native policies.
    """
    for node in ast.walk(checked.expr):
        if ast.kind(node) == "call_expr" and node.call_expr.function == "format" and _is_literal(node):
            yield from _wrong(checked, node, objects_have_text=objects_have_text)


def _is_literal(node: Node) -> bool:
    call = node.call_expr
    is_text = call.target.const_expr.HasField("string_value")
    return is_text and len(call.args) == 1 and ast.kind(call.args[0]) == "list_expr"


def _wrong(checked: Node, node: Node, *, objects_have_text: bool) -> Iterator[CelProblem]:
    values, used = list(node.call_expr.args[0].list_expr.elements), 0
    for clause in _CLAUSE.finditer(node.call_expr.target.const_expr.string_value):
        if clause[0] == "%%":
            continue
        problem = _unwritten(clause, used, len(values))
        if problem:
            yield CelProblem(*ast.position(checked, node.id), problem)
            return
        for each in _parts(values[used]) if clause[2] == "s" else (values[used],):
            found = ast.type_of(checked, each)
            if not _takes(clause[2], found, objects_have_text=objects_have_text):
                want = "a text, a number or a list" if clause[2] == "s" else " or ".join(sorted(_TAKEN[clause[2]]))
                message = f"%{clause[2]} does not take a value of type {found}; want {want}"
                yield CelProblem(*ast.position(checked, each.id), message)
                return
        used += 1
    if used < len(values):
        message = f"format got {len(values)} values, and its text takes {used}; want a clause, as in %s, for each"
        yield CelProblem(*ast.position(checked, node.id), message)


def _unwritten(clause: re.Match[str], used: int, known: int) -> str:
    if clause[1] == "":
        return f"got the clause {clause[0]!r} without a precision, want digits behind the dot, as in %.2f"
    if clause[2] not in _TAKEN:
        return f"got the clause {clause[0]!r}, want one of %{', %'.join(_TAKEN)}, or %% for a percent sign"
    if used >= known:
        return f"format got {known} values, and its text takes more; want a value for each clause"
    return ""


def _takes(clause: str, found: CelType, *, objects_have_text: bool) -> bool:
    return found == DYN or found.name in _TAKEN[clause] or (clause == "s" and objects_have_text and found.is_message)


def _parts(node: Node) -> Iterator[Node]:
    """Yield an expression and, if it is a list or map literal, the expressions inside the literal at any depth."""
    yield node
    if ast.kind(node) in ("list_expr", "struct_expr"):
        for each in ast.children(node):
            yield from _parts(each)

"""What an expression reads, known without evaluating it."""

from collections.abc import Mapping
from typing import TypeAlias

from ..kube.paths import ELEMENT
from . import ast
from .types import OPTIONAL
from .typing import UNESCAPED

Path: TypeAlias = tuple[str, ...]
"""Field names from a variable on: ("object", "spec", "nodeName"); ELEMENT for each element of a list."""

_INDEX = frozenset({"_[_]", "_[?_]", "_?._"})
"""Operators whose constant string argument is a field: a['x'], a[?'x'] and a.?x."""


def reads(checked: ast.Node) -> frozenset[Path]:
    """Return what an expression reads, as paths.

    ``topology.nodes(gpu)`` reads ``topology`` alone: its argument only says what is asked, the review knows the answer.
    A constant string key counts as a field, ``has()`` counts as reading, ``variables.x`` is ("variables", "x"). A path
    ends where an index is a number or not constant, or where a value is made rather than read. The variable of a loop
    over a list stands for its elements, that of a loop over anything else for what is looped over. A path means
    everything below it. Names of types are among the variables.
    """
    found: set[Path] = set()
    _Reader(checked, found).visit(checked.expr, {})
    return frozenset(found)


class _Reader:
    """Collects the paths of one tree. A scope maps a loop's variables to what they stand for; None is a made value."""

    def __init__(self, checked: ast.Node, found: set[Path]) -> None:
        self._checked = checked
        self._found = found

    def visit(self, node: ast.Node, scope: Mapping[str, Path | None]) -> None:
        """Record what the expression reads."""
        path = self._resolve(node, scope)[0]
        if path:
            self._found.add(path)

    def _resolve(self, node: ast.Node, scope: Mapping[str, Path | None]) -> tuple[Path | None, bool]:
        """Return the path that an expression stands for, and whether a field may be added to it.

        Whatever else is read on the way is recorded. None: the expression makes a value, all it reads is recorded.
        """
        match ast.kind(node):
            case "ident_expr":
                name = node.ident_expr.name
                if name.startswith("."):  # absolute: never a loop's variable
                    return tuple(name[1:].split(".")), True
                # The checker resolves a declared name with dots (variables.x) to one identifier.
                if name not in scope:
                    return tuple(name.split(".")), True
                path = scope[name]
                return path, path is not None and path[-1] == ELEMENT
            case "select_expr":
                path, is_open = self._resolve(node.select_expr.operand, scope)
                field = self._field(node.select_expr.operand, node.select_expr.field)
                return ((*path, field) if is_open and path else path), is_open
            case "call_expr":
                return self._call(node.call_expr, scope)
            case "comprehension_expr":
                self._loop(node.comprehension_expr, scope)
            case _:
                for child in ast.children(node):
                    self.visit(child, scope)
        return None, False

    def _call(self, call: ast.Node, scope: Mapping[str, Path | None]) -> tuple[Path | None, bool]:
        operands = [*([call.target] if call.HasField("target") else []), *call.args]
        if call.function == "dyn":  # only says: do not check
            return self._resolve(operands[0], scope)
        if call.function not in _INDEX:
            for operand in operands:
                if not (call.function == "nodes" and operand.ident_expr.name == "gpu"):
                    self.visit(operand, scope)
            return None, False
        path, is_open = self._resolve(operands[0], scope)
        key = operands[1]
        if ast.kind(key) == "const_expr" and key.const_expr.WhichOneof("which") == "string_value":
            field = self._field(operands[0], key.const_expr.string_value)
            return ((*path, field) if is_open and path else path), is_open
        self.visit(key, scope)
        return path, False

    def _field(self, operand: ast.Node, name: str) -> str:
        """Return the field that a name stands for; where ours are declared, CEL's reserved words are escaped."""
        kind = ast.type_of(self._checked, operand)
        holder = kind.parameters[0] if kind.name == OPTIONAL and kind.parameters else kind
        return UNESCAPED.get(name, name) if holder.is_message else name

    def _loop(self, loop: ast.Node, scope: Mapping[str, Path | None]) -> None:
        range_path, is_open = self._resolve(loop.iter_range, scope)
        per_element = is_open and not loop.iter_var2 and ast.type_of(self._checked, loop.iter_range).name == "list"
        if range_path and per_element:
            range_path = (*range_path, ELEMENT)
            # An element's field that none has still tells how many elements there are.
            self._found.add((*range_path, ""))
        elif range_path:
            self._found.add(range_path)
        self.visit(loop.accu_init, scope)
        inner = {**scope, loop.accu_var: None}
        self.visit(loop.result, inner)
        inner[loop.iter_var] = range_path
        if loop.iter_var2:
            inner[loop.iter_var2] = range_path
        self.visit(loop.loop_condition, inner)
        self.visit(loop.loop_step, inner)

"""Finds the paths of fields that an expression reads, without an evaluation."""

from collections.abc import Mapping

from ..kube.paths import ELEMENT, FieldPath
from . import ast
from .types import OPTIONAL
from .typing import UNESCAPED

_ONLY_NAMED = frozenset({("nodes", "gpu"), ("narrowestLevel", "gang"), ("narrowestSafeLevel", "gang")})
"""The functions, each with an argument whose value the function does not read; the function's row (``functions``) has
the paths that the function reads instead.
"""
_INDEX = frozenset({"_[_]", "_[?_]", "_?._"})
"""The operators whose constant string argument is a field name: a['x'], a[?'x'] and a.?x."""


def reads(checked: ast.Node) -> frozenset[FieldPath]:
    """Return the paths that an expression reads.

    A path includes everything below the path. A path ends at a key that is not constant, or at a value that the
    expression makes. ``has()`` counts as reading, a constant string key is a field, and ``variables.x`` is
    ("variables", "x"). The name of a type, as in ``type(a) == string``, counts as a variable that is read.

    ELEMENT stands for an element of a list at any index, and for the variable of a loop over a list. The path of a
    filtered list is the path of the list. The variable of a loop over any other value has the path of that value.

    The field "", which no object has, stands for the presence of an object, or for the number of elements of a list.

    ``topology.nodes(gpu)`` and ``topology.narrowestLevel(gang)`` read only the variable ``topology``, because the value
    does not come from the argument but from the review.
    """
    found: set[FieldPath] = set()
    _Reader(checked, found).visit(checked.expr, {})
    return frozenset(found)


_POD = "object"


class _Reader:
    """Collects the paths that one expression reads.

    A scope maps the variables of loops to the paths of the values; None if the expression makes the value.
    """

    def __init__(self, checked: ast.Node, found: set[FieldPath]) -> None:
        self._checked = checked
        self._found = found

    def visit(self, node: ast.Node, scope: Mapping[str, FieldPath | None]) -> None:
        """Add the paths that an expression reads; ``scope`` has the paths of the variables of the enclosing loops."""
        path = self._resolve(node, scope)[0]
        if path:
            self._found.add(path)

    def _resolve(self, node: ast.Node, scope: Mapping[str, FieldPath | None]) -> tuple[FieldPath | None, bool]:
        """Return (the path of an expression's value, whether the path is exact).

        An exact path leads to the value itself, so that a field of the value can be appended to it. Another path leads
        to an object that contains the value, for example because a key is not constant. The path is None if the
        expression makes the value. The paths that the expression reads besides are recorded.
        """
        match ast.kind(node):
            case "ident_expr":
                return _named(node.ident_expr.name, scope)
            case "select_expr":
                return self._select(node.select_expr, scope)
            case "call_expr":
                return self._call(node.call_expr, scope)
            case "comprehension_expr":
                return self._loop(node.comprehension_expr, scope)
            case _:
                for child in ast.children(node):
                    self.visit(child, scope)
        return None, False

    def _select(self, select: ast.Node, scope: Mapping[str, FieldPath | None]) -> tuple[FieldPath | None, bool]:
        path, is_open = self._resolve(select.operand, scope)
        field = self._field(select.operand, select.field)
        # has() tests for presence; podberth's facts are always present.
        asked = ("",) if select.test_only and path and path[0] == _POD else ()
        return ((*path, field, *asked) if is_open and path else path), is_open

    def _call(self, call: ast.Node, scope: Mapping[str, FieldPath | None]) -> tuple[FieldPath | None, bool]:
        operands = [*([call.target] if call.HasField("target") else []), *call.args]
        # dyn only turns the checker off; orValue stands for its receiver, or for a constant.
        if call.function == "dyn" or (call.function == "orValue" and _is_constant(operands[1])):
            return self._resolve(operands[0], scope)
        if call.function == "size":
            self._count(operands[0], scope)
            return None, False
        if call.function not in _INDEX:
            for operand in operands:
                if (call.function, operand.ident_expr.name) not in _ONLY_NAMED:
                    self.visit(operand, scope)
            return None, False
        path, is_open = self._resolve(operands[0], scope)
        key = operands[1]
        name = ast.constant(key)
        if isinstance(name, str):
            field = self._field(operands[0], name)
            return ((*path, field) if is_open and path else path), is_open
        self.visit(key, scope)
        if not (path and is_open and self._is_list(operands[0])):
            return path, False
        self._found.add((*path, ELEMENT, ""))
        return (*path, ELEMENT), True

    def _count(self, node: ast.Node, scope: Mapping[str, FieldPath | None]) -> None:
        """Record what ``size()`` reads: the number of elements of a list, or the whole of any other value."""
        path, is_open = self._resolve(node, scope)
        if path:
            self._found.add((*path, ELEMENT, "") if is_open and self._is_list(node) else path)

    def _is_list(self, node: ast.Node) -> bool:
        return ast.type_of(self._checked, node).name == "list"

    def _field(self, operand: ast.Node, name: str) -> str:
        """Return the JSON name of a field; expressions escape the fields that have CEL's reserved words as names."""
        kind = ast.type_of(self._checked, operand)
        holder = kind.parameters[0] if kind.name == OPTIONAL and kind.parameters else kind
        return UNESCAPED.get(name, name) if holder.is_message else name

    def _loop(self, loop: ast.Node, scope: Mapping[str, FieldPath | None]) -> tuple[FieldPath | None, bool]:
        """Record the reads of a loop; return (the path of the loop's value, whether the path is exact).

        The value of the macro ``filter`` has the path of the filtered list, and that path is exact. Any other loop
        makes its value, so the result is (None, False).
        """
        range_path, is_open = self._resolve(loop.iter_range, scope)
        element = range_path
        if range_path and is_open and not loop.iter_var2 and self._is_list(loop.iter_range):
            element = (*range_path, ELEMENT)
            # A field that no element has still reveals how many elements there are.
            self._found.add((*element, ""))
            condition = _filter_condition(loop)
            if condition is not None:
                self.visit(condition, {**scope, loop.iter_var: element})
                return range_path, True
        elif range_path:
            self._found.add(range_path)
        self.visit(loop.accu_init, scope)
        inner = {**scope, loop.accu_var: None}
        self.visit(loop.result, inner)
        inner[loop.iter_var] = element
        if loop.iter_var2:
            inner[loop.iter_var2] = element
        self.visit(loop.loop_condition, inner)
        self.visit(loop.loop_step, inner)
        return None, False


def _named(name: str, scope: Mapping[str, FieldPath | None]) -> tuple[FieldPath | None, bool]:
    """Return (the path of a variable's value, whether the path is exact), as ``_Reader._resolve`` does.

    ``scope`` has the paths of the loops' variables. The path is None if the expression makes the variable's value.
    """
    if name.startswith("."):  # absolute: never a loop's variable
        return tuple(name[1:].split(".")), True
    # The checker resolves a declared name with dots (variables.x) to one identifier.
    if name not in scope:
        return tuple(name.split(".")), True
    path = scope[name]
    return path, path is not None and path[-1] == ELEMENT


def _is_constant(node: ast.Node) -> bool:
    """Return whether a node is a literal: a scalar, or an empty list or map."""
    kind = ast.kind(node)
    return kind == "const_expr" or (kind in ("list_expr", "struct_expr") and not ast.children(node))


def _filter_condition(loop: ast.Node) -> ast.Node | None:
    """Return the condition of a loop that the macro ``filter`` expands to; None for any other loop."""
    added = ast.added(loop)
    if added is None or added.ident_expr.name != loop.iter_var or loop.loop_step.call_expr.function != "_?_:_":
        return None
    return loop.loop_step.call_expr.args[0]

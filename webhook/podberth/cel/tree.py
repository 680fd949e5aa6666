"""The syntax tree of a checked expression as plain Python values, for code that analyses expressions.

Macros are expanded, as the checker leaves them. Two equal parts at different positions are equal values. Unlike the
engine's messages (``ast``), the tree may be used outside the package ``cel``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from . import ast
from .ast import Node, Scalar
from .engine import CelType, Environment, Expression
from .typing import UNESCAPED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    line: int = field(default=1, compare=False)
    """The line of the part in the source, from 1; for a call the line of the parenthesis, for an operator the
    operator's line.
    """
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal(_Placed):
    """A literal of a scalar type, such as ``'a'`` or ``3``."""

    value: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(_Placed):
    """The name of a variable: ``object``, ``variables.x``, or a loop variable."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(_Placed):
    """The access to a field; if ``asks`` is true, the macro ``has()``, which returns whether the field is present."""

    operand: "Tree"
    field: str
    asks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(_Placed):
    """A call of a function or an operator; the first operand of a member function is the receiver."""

    function: str
    operands: tuple["Tree", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Items(_Placed):
    """A list literal with the trees of the items."""

    items: tuple["Tree", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries(_Placed):
    """A map literal with the trees of the keys and values."""

    entries: tuple[tuple["Tree", "Tree"], ...]

    def get(self, key: str) -> "Tree | None":
        """Return the tree of the value with the constant key ``key``; None if the map literal lacks the key.

        If the map literal repeats the key, the last value is returned, as in the evaluation.
        """
        entries = reversed(self.entries)
        return next((value for name, value in entries if isinstance(name, Literal) and name.value == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(_Placed):
    """The loop that a macro over a list or map, such as ``all()``, expands to."""

    variables: tuple[str, ...]
    over: "Tree"
    parts: tuple["Tree", ...]
    """The trees of the loop's start value, condition, step and result."""


OPTIONAL_ITEMS: Final = "[?]"
"""The name of the function in the tree that stands for a list with optional items, whose length is unknown."""

Tree: TypeAlias = Literal | Name | Select | Call | Items | Entries | Loop


def tree_of(source: str, environment: Environment, variables: Mapping[str, CelType | Expression]) -> Tree:
    """Return the tree of an expression, for analysis.

    Raises:
        CompileError: the expression does not compile.
    """
    checked = environment.checked(source, variables)
    return _read(checked, checked.expr)


def children(tree: Tree) -> tuple[Tree, ...]:
    """Return the direct subexpressions of an expression."""
    match tree:
        case Select():
            return (tree.operand,)
        case Call():
            return tree.operands
        case Items():
            return tree.items
        case Entries():
            return tuple(part for entry in tree.entries for part in entry)
        case Loop():
            return (tree.over, *tree.parts)
        case _:
            return ()


def walk(tree: Tree) -> Iterator[Tree]:
    """Yield the expression and all subexpressions at any depth; an expression comes before its subexpressions."""
    yield tree
    for child in children(tree):
        yield from walk(child)


def plain(tree: Tree | None) -> object:
    """Return the value of a literal, or of a list or map of literals.

    Raises:
        ValueError: the expression is not constant.
    """
    match tree:
        case Literal():
            return tree.value
        case Items():
            return [plain(item) for item in tree.items]
        case Entries():
            return {str(plain(key)): plain(value) for key, value in tree.entries}
        case _:
            raise ValueError("want literals, and lists and maps of them")


def _read(checked: Node, node: Node) -> Tree:
    line, column = ast.position(checked, node.id)
    return replace(_part(checked, node), line=line, column=column)


def _part(checked: Node, node: Node) -> Tree:  # noqa: PLR0911 - one for each kind of part
    """Return the tree of an expression; the position of the expression itself is not set yet."""
    read = partial(_read, checked)
    match ast.kind(node):
        case "const_expr":
            return Literal(value=ast.constant(node))
        case "ident_expr":
            return Name(name=node.ident_expr.name.removeprefix("."))
        case "select_expr":
            select = node.select_expr
            name = UNESCAPED.get(select.field, select.field)
            return Select(operand=read(select.operand), field=name, asks=select.test_only)
        case "list_expr":
            items = tuple(map(read, node.list_expr.elements))
            may_lack = bool(node.list_expr.optional_indices)
            return Call(function=OPTIONAL_ITEMS, operands=items) if may_lack else Items(items=items)
        case "struct_expr":
            return Entries(entries=tuple((read(each.map_key), read(each.value)) for each in node.struct_expr.entries))
        case "comprehension_expr":
            loop = node.comprehension_expr
            names = (loop.iter_var, loop.iter_var2, loop.accu_var)
            parts = (loop.accu_init, loop.loop_condition, loop.loop_step, loop.result)
            return Loop(variables=tuple(filter(None, names)), over=read(loop.iter_range), parts=tuple(map(read, parts)))
        case _:
            return Call(function=node.call_expr.function, operands=tuple(map(read, ast.children(node))))

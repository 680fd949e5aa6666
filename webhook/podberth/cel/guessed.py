"""Types of a checked expression that the checker guessed from the use of a value.

For ``dyn(x)[?'a']['b']`` it knows that a value is absent or present, and concludes from ``['b']`` that it is a map. At
run time it may be of any type.
"""

from . import ast
from .ast import Node
from .types import DYN, OPTIONAL, CelType

_ANY = frozenset({DYN, CelType(OPTIONAL, (DYN,))})
# Nothing reads a part of these, so a guess does not matter.
_WHOLE = frozenset({"bool", "int", "uint", "double", "string", "bytes", "null_type"})


def guessed(checked: Node) -> frozenset[int]:
    """Return the ids of expressions whose type may be guessed: those made from a value of any type."""
    nodes = list(reversed(list(ast.walk(checked.expr))))  # children first
    found: set[int] = set()
    names: set[str] = set()
    known = -1
    while known != len(found) + len(names):  # a loop's variables come before the expressions that they stand for
        known = len(found) + len(names)
        for node in nodes:
            if ast.kind(node) == "ident_expr":
                is_guess = node.ident_expr.name in names
            else:
                is_guess = any(_spreads(checked, each, found) for each in ast.children(node))
            if is_guess and ast.type_of(checked, node).name not in _WHOLE:
                found.add(node.id)
            if ast.kind(node) == "comprehension_expr":
                names |= _names(checked, node.comprehension_expr, found)
    return frozenset(found)


def _spreads(checked: Node, node: Node, found: set[int]) -> bool:
    if ast.kind(node) == "const_expr":  # the field of a.?b has no type of its own
        return False
    return node.id in found or ast.type_of(checked, node) in _ANY


def _names(checked: Node, loop: Node, found: set[int]) -> set[str]:
    """Return the variables of a loop that have a guessed type."""
    names: set[str] = set()
    if _spreads(checked, loop.iter_range, found):
        names |= {loop.iter_var, loop.iter_var2}
    if any(_spreads(checked, each, found) for each in (loop.accu_init, loop.loop_step)):
        names.add(loop.accu_var)
    return names - {""}

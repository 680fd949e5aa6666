"""Library functions that are written in CEL: each call is replaced by a CEL expression, the body."""

from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # no py.typed in 0.1.3

from . import ast, opaque
from .ast import Node
from .libraries import INTERNAL

ARGUMENTS = ("a", "b", "c")
"""The names of the arguments in a function's body, in order."""
FOLD = "internal.fold"
"""The name of the macro ``internal.fold(list, initial, step)``, which only bodies may use. The macro's value is ``r``,
which starts as ``initial`` and becomes ``step`` for each element ``v`` of the list. CEL itself has no macro of this
kind.
"""
_RESULT, _ELEMENT = "r", "v"
_CONDITION, _LOGIC, _FAIL = "_?_:_", frozenset({"_&&_", "_||_"}), "internal.fail"
_LAZY, _EAGER = "#unused", "@unused"


class Bodies:
    """Compiles the CEL expressions that implement library functions, each at the first use of the function."""

    def __init__(self, config: Any) -> None:
        """Create the compiler; ``config`` names the CEL extensions that the expressions use."""
        dyn = cel.Type.DYN
        internal = {row.name: len(row.parameters) for row in INTERNAL} | {FOLD: 3}
        self._engine = cel.NewEnv(
            opaque.POOL,
            config,
            variables=dict.fromkeys((*ARGUMENTS, _RESULT, _ELEMENT), dyn),
            functions=[
                cel.FunctionDecl(name, [cel.Overload(name, return_type=dyn, parameters=[dyn] * arity)])
                for name, arity in internal.items()
            ],
        )
        self._known: dict[str, Node] = {}

    def apply(self, source: str, operands: list[Node], *, skips: str = "") -> Node:
        """Return the CEL expression ``source`` with the operands in place of its arguments ``a``, ``b`` and ``c``.

        An operand is evaluated once, even if ``source`` uses the operand several times; only literals and variables are
        repeated. If an operand has an error, the whole expression has that error, even if ``source`` does not use the
        operand. An error of the operand that ``skips`` names counts only if the operand is evaluated in ``source``.
        """
        body = self._known.get(source)
        if body is None:
            body = self._known[source] = self._compile(source)
        made = ast.copy_of(body)
        # A policy cannot use a name with "@" in it.
        given = [(f"@{name}", operand) for name, operand in zip(ARGUMENTS, operands, strict=False)]
        # A literal has no error that the body could hide.
        evaluated = [name for name, operand in given if name != f"@{skips}" and ast.kind(operand) != "const_expr"]
        made = _behind([name for name in evaluated if not _fails_with(body, name)], made)
        own = _loop_names(body)
        bound = []
        for name, operand in given:
            if ast.kind(operand) == "const_expr" or operand.ident_expr.name not in ("", *own):
                _put(name, operand, made)
            else:
                bound.append((name, operand))
        # Inside out: the first argument is bound first.
        for name, operand in reversed(bound):
            made = _bind(name, operand, made)
        return made

    def _compile(self, source: str) -> Node:
        root = ast.decode(bytes(self._engine.compile(source).serialize())).expr
        for node in reversed(list(ast.walk(root))):
            node.id = 0  # no node of the policy's own: it has no position and no type
            bind_at_once(node)
            if ast.kind(node) == "call_expr" and node.call_expr.function == FOLD:
                items, initial, step = (ast.copy_of(each) for each in node.call_expr.args)
                node.CopyFrom(_fold(items, initial, step))
            elif ast.kind(node) == "ident_expr" and node.ident_expr.name in ARGUMENTS:
                node.ident_expr.name = f"@{node.ident_expr.name}"
        return root


def _fails_with(node: Node, name: str) -> bool:
    """Return whether an expression surely has an error if the variable ``name`` has an error; False if unknown."""
    match ast.kind(node):
        case "ident_expr":
            return bool(node.ident_expr.name == name)
        case "comprehension_expr":  # what a macro binds is an error only where it is read
            return _fails_with(node.comprehension_expr.iter_range, name)
        case "call_expr" if node.call_expr.function == _FAIL:
            return True
        case "call_expr" if node.call_expr.function == _CONDITION:
            condition, *branches = node.call_expr.args
            return _fails_with(condition, name) or all(_fails_with(each, name) for each in branches)
        case "call_expr" if node.call_expr.function in _LOGIC:  # an error beside false, or true, is none
            return all(_fails_with(each, name) for each in node.call_expr.args)
        case _:
            return any(_fails_with(each, name) for each in ast.children(node))


def _behind(names: list[str], body: Node) -> Node:
    """Return an expression with the value of ``body``, or with an error if a variable in ``names`` has an error.

    The expression is a function call, which has an error if an operand has an error.
    """
    if not names:
        return body
    made = ast.Expr()
    made.call_expr.function = _CONDITION
    asked = made.call_expr.args.add()
    asked.call_expr.function = "_!=_"
    listed = asked.call_expr.args.add()
    for name in names:
        listed.list_expr.elements.add().ident_expr.name = name
    asked.call_expr.args.add().list_expr.SetInParent()
    made.call_expr.args.add().CopyFrom(body)
    made.call_expr.args.add().const_expr.bool_value = False
    return made


def _loop_names(body: Node) -> set[str]:
    """Return the names of the loop variables and accumulators in the expression ``body``."""
    loops = [node.comprehension_expr for node in ast.walk(body) if ast.kind(node) == "comprehension_expr"]
    return {name for loop in loops for name in (loop.iter_var, loop.iter_var2, loop.accu_var)}


def _put(name: str, value: Node, body: Node) -> None:
    """Replace the argument ``name`` in the expression ``body`` by a literal or a variable, which is cheap to repeat."""
    for node in list(ast.walk(body)):
        if ast.kind(node) == "ident_expr" and node.ident_expr.name == name:
            node.CopyFrom(value)


def _fold(items: Node, initial: Node, step: Node) -> Node:
    made = ast.Expr()
    loop = made.comprehension_expr
    loop.iter_var, loop.accu_var = _ELEMENT, _RESULT
    loop.iter_range.CopyFrom(items)
    loop.accu_init.CopyFrom(initial)
    loop.loop_condition.const_expr.bool_value = True
    loop.loop_step.CopyFrom(step)
    loop.result.ident_expr.name = _RESULT
    return made


def bind_at_once(node: Node) -> None:
    """Change a loop that a macro such as ``optMap`` expands to, so that the bound value is evaluated immediately.

    Without the change, the CEL engine evaluates the value at the first read, and may read the result of an earlier loop
    instead (cel-cpp eval/eval/comprehension_step.cc, lazy_init_step.cc). Other expressions stay unchanged.
    """
    if ast.kind(node) == "comprehension_expr" and node.comprehension_expr.iter_var == _LAZY:
        node.comprehension_expr.iter_var = _EAGER


def _bind(name: str, value: Node, body: Node) -> Node:
    """Return an expression that evaluates ``value`` once, binds the value to ``name``, and has the value of ``body``.

    The expression is a loop over an empty list, as the macro ``cel.bind`` makes.
    """
    made = ast.Expr()
    loop = made.comprehension_expr
    loop.iter_var, loop.accu_var = _EAGER, name
    loop.iter_range.list_expr.SetInParent()
    loop.accu_init.CopyFrom(value)
    loop.loop_condition.const_expr.bool_value = False
    loop.loop_step.ident_expr.name = name
    loop.result.CopyFrom(body)
    return made

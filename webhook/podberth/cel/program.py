"""Makes the CEL engine's programs from checked expressions: resolves functions, shares variables, joins expressions.

Type checking sees objects with declared fields; at run time there is plain JSON, and a node set is a number. At compile
time, this module rewrites expressions from the first form to the second. Nothing is evaluated here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..kube.paths import FieldPath
from . import ast, patch_types
from .ast import Node
from .bodies import Bodies, bind_at_once
from .compile_limits import MAX_EXPRESSION_PARTS, too_many_parts
from .correcting import Correcting, forget_offsets
from .dispatch import run_name
from .engine_errors import CelProblem
from .functions import CARRIED, FUNCTIONS
from .libraries import AUTHORIZATION, LIBRARIES, Overload
from .libraries.lists import BOUNDED
from .libraries.native import NATIVE
from .reads import reads as reads_of
from .types import NODES, OPTIONAL, CelType
from .typing import NATIVE_VARIABLES, UNESCAPED, VARIABLES

VARIABLES_PREFIX = "variables."

_BY_ID = {row.id: row for row in FUNCTIONS}
_LIBRARY = {row.id: row for row in (*LIBRARIES, *AUTHORIZATION)}
_MAKE_OPTIONALS = frozenset(row.name for row in (*NATIVE, *LIBRARIES) if OPTIONAL in row.result) - {"_[_]"}
"""The functions that make optionals. The static type of a call does not show the optional if an operand is dyn."""
_RANGE = "lists.range"
_BLOCK = "cel.@block"
"""The name of the CEL engine's construct for common subexpressions (cel-cpp): a list of values that are evaluated
lazily and only once, and an expression that refers to the values as @index0, @index1, ...
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lowered:
    """One expression in its run-time form, which works on plain JSON. The expression refers to variables by name."""

    checked: Node
    variables: Mapping[str, "Lowered"]
    """The variables that the expression may use and that are expressions themselves; other variables get values at run
    time.
    """
    type: CelType
    names: frozenset[str]
    """The names of the policy's variables that the expression itself refers to."""
    reads: frozenset[FieldPath]
    """The paths of the fields that the expression, the needed variables and the called functions read (``cel.reads``).
    """
    functions: frozenset[str]
    may_hold_optional: bool
    """Whether the expression's value may be or contain an optional."""
    writes_times: bool
    """Whether the expression may write as text a time that was read elsewhere (see ``correcting.forget_offsets``)."""
    parts: int
    """The number of nodes of the expression, without the nodes of variables."""

    @property
    def named(self) -> list["Lowered"]:
        """The variables that the expression itself refers to, sorted by name.

        Variables that only other variables refer to are left out.
        """
        return [self.variables[name] for name in sorted(self.names) if name in self.variables]

    @property
    def parts_in_all(self) -> int:
        """The number of nodes in the expression's program: the expression's nodes and the needed variables' nodes."""
        found, waiting = {id(self): self}, [self]
        while waiting:
            new = {id(each): each for each in waiting.pop().named if id(each) not in found}
            found |= new
            waiting += new.values()
        return sum(each.parts for each in found.values())


def lower(checked: Node, variables: Mapping[str, Lowered], bodies: Bodies) -> tuple[Lowered, list[CelProblem]]:
    """Rewrite a checked expression in place to its run-time form, which works on plain JSON.

    Args:
        checked: the expression, with the types that the checker found.
        variables: the compiled variables of the policy.
        bodies: returns a library function's CEL implementation with the operands in place of the parameters.

    Returns:
        (the rewritten expression, the problems that prevent its use).
    """
    kind, functions = ast.type_of(checked, checked.expr), ast.functions(checked)
    of_policy = VARIABLES_PREFIX.rstrip(".")
    roots = (*VARIABLES, *NATIVE_VARIABLES, of_policy)
    reads = {path for path in reads_of(checked) if path[0] in roots}
    problems: list[CelProblem] = []
    may_hold_optional = (
        bool(functions & _MAKE_OPTIONALS)
        or ast.has_type(checked, OPTIONAL)
        or any(each.may_hold_optional for each in variables.values())
    )
    correcting = Correcting(checked, bodies, may_hold_optional=may_hold_optional)
    correcting.times_as_read()
    correcting.keys_as_written()
    # Children first: a node that is replaced takes copies of them along.
    for node in reversed(list(ast.walk(checked.expr))):
        message = ""
        bind_at_once(node)
        match ast.kind(node):
            case "select_expr":
                if not correcting.select(node):
                    _lower_select(checked, node)
            case "call_expr":
                message = patch_types.unjudged(checked, node)
                message = message or ("" if correcting.call(node) else _lower_call(checked, node, reads, bodies))
            case "struct_expr" if patch_types.is_patch_type(node.struct_expr.message_name):
                message = patch_types.lower(checked, node, bodies)
            case "struct_expr" if node.struct_expr.message_name:
                message = f"{node.struct_expr.message_name}{{...}} makes an object; write a map: {{'key': value}}"
            case "struct_expr":
                correcting.map_literal(node)
        message = message or too_many_parts(correcting.grown)
        if message:
            problems.append(CelProblem(*ast.position(checked, node.id), message))
        if correcting.grown > MAX_EXPRESSION_PARTS:
            break
    names = frozenset(path[1] for path in reads if path[0] == of_policy and len(path) > 1)
    lowered = Lowered(
        checked=checked,
        variables=variables,
        type=kind,
        names=names,
        reads=frozenset(reads).union(*(each.reads for name, each in variables.items() if name in names)),
        functions=functions,
        may_hold_optional=may_hold_optional,
        writes_times=correcting.writes_times,
        parts=ast.size(checked.expr),
    )
    return lowered, problems


def field_function(name: str) -> str:
    """Return the name of the CEL engine's function that computes the field ``name`` of the type Nodes at run time."""
    return f"nodes_field_{name}"


def assemble(elements: Iterable[Lowered], *, as_list: bool) -> bytes:
    """Return several expressions as one serialised program; a shared variable is evaluated only once.

    If ``as_list`` is true, the value of the program is the list of the expressions' values. Otherwise ``elements`` has
    one expression, whose value is the value of the program. If that value is an optional, the program's value is a list
    with at most one item, because the engine cannot return an optional.
    """
    builder = _Builder()
    roots = list(elements)
    for root in roots:
        builder.add_variables(root)
    program = builder.body()
    if as_list or roots[0].type.name == OPTIONAL:
        target = program.list_expr
        target.SetInParent()
        for root in roots:
            builder.copy(root, target.elements.add())
        if not as_list:
            target.optional_indices.append(0)
    else:
        builder.copy(roots[0], program)
    return ast.encode(builder.checked)


def assemble_alone(variable: Lowered) -> bytes:
    """Return a serialised program of one variable, without the variables that the variable's expression refers to.

    The program is a test: if the engine cannot read it, the engine cannot read any program that needs the variable.
    """
    builder = _Builder()
    builder.add_variable(replace(variable, variables={}))
    builder.body().const_expr.bool_value = True
    return ast.encode(builder.checked)


class _Builder:
    """Copies several expressions into one tree, in which every node has a unique id."""

    def __init__(self) -> None:
        self.checked = ast.CheckedExpr()
        self._writes_times = False
        self._last_id = 0
        self._places: dict[int, int] = {}
        """A mapping from the ``id()`` of a variable's Lowered object to the index of the variable in the program's list
        of variables.
        """
        self._variables: list[Lowered] = []

    def add_variables(self, element: Lowered) -> None:
        """Give an index to every variable that the expression needs, directly or not.

        The index of a variable is higher than the indexes of the variables that this variable needs.
        """
        self._writes_times = self._writes_times or element.writes_times
        for variable in element.named:
            if id(variable) not in self._places:
                self.add_variables(variable)
                self.add_variable(variable)

    def add_variable(self, variable: Lowered) -> None:
        """Give the next free index in the program's list of variables to a variable."""
        self._places[id(variable)] = len(self._variables)
        self._variables.append(variable)

    def body(self) -> Node:
        """Write the list of variables, if not empty, into the program; return the node for the program's expression."""
        root = self.checked.expr
        if not self._variables:
            root.id = self._next()
            return root
        root.id = self._next()
        root.call_expr.function = _BLOCK
        initial = root.call_expr.args.add()
        initial.id = self._next()
        for variable in self._variables:
            self.copy(variable, initial.list_expr.elements.add())
        body = root.call_expr.args.add()
        body.id = self._next()
        return body

    def copy(self, element: Lowered, target: Node) -> None:
        """Copy an expression into ``target``, with new node ids and with indexes in place of variables."""
        target.CopyFrom(element.checked.expr)
        references = element.checked.reference_map
        for node in ast.walk(target):
            old, node.id = node.id, self._next()
            kind = ast.kind(node)
            if self._writes_times:
                forget_offsets(node)
            if kind == "struct_expr":
                for entry in node.struct_expr.entries:
                    entry.id = self._next()
            name = node.ident_expr.name if kind == "ident_expr" else ""
            variable = element.variables.get(name.removeprefix(VARIABLES_PREFIX))
            if name.startswith(VARIABLES_PREFIX) and variable is not None:
                node.ident_expr.name = f"@index{self._places[id(variable)]}"
            elif old in references:
                self.checked.reference_map[node.id].CopyFrom(references[old])

    def _next(self) -> int:
        self._last_id += 1
        return self._last_id


def _lower_select(checked: Node, node: Node) -> None:
    select = node.select_expr
    operand = ast.type_of(checked, select.operand)
    if operand.is_message and select.field in UNESCAPED:
        select.field = UNESCAPED[select.field]
    if operand != NODES:
        return
    if select.test_only:  # every field is always present
        node.const_expr.bool_value = True
        return
    asked, name = ast.copy_of(select.operand), select.field
    node.call_expr.function = field_function(name)
    node.call_expr.args.add().CopyFrom(asked)


def _lower_call(checked: Node, node: Node, reads: set[FieldPath], bodies: Bodies) -> str:
    """Replace a call of one of podberth's functions by its run-time form; return a problem, or "".

    The paths that the function reads are added to ``reads``. ``bodies`` is the parameter of ``lower``.
    """
    call = node.call_expr
    operands = ast.children(node)
    overloads = ast.overloads(checked, node)
    row = _BY_ID.get(overloads[0]) if overloads else None
    if row is not None:
        carried = [ast.copy_of(each) for each, kind in zip(operands, row.parameters, strict=True) if kind in CARRIED]
        ast.put(checked, node, _called(row.id, carried))
        reads.update(row.reads)
    elif overloads and overloads[0] in _LIBRARY:
        _lower_library(checked, node, [_LIBRARY[each] for each in overloads if each in _LIBRARY], bodies)
    elif call.function == _RANGE:
        ast.put(checked, node, _called(_RANGE, [_called(BOUNDED, [ast.copy_of(operands[0])])]))
    elif call.function == "_?._" and ast.type_of(checked, call.args[0]) == NODES:
        return "Nodes has all its fields always; write . instead of .?"
    elif call.function == "cel.@mapInsert":
        return "maps cannot be made in a loop here; write transformList(...), or the map out: {'key': value}"
    return ""


def _lower_library(checked: Node, node: Node, rows: list[Overload], bodies: Bodies) -> None:
    """Replace a call of a library function by the implementation; ``rows`` are the overloads that the types allow.

    The implementation is a function in Python, or a CEL expression that takes the place of the call. Calls of functions
    that the CEL engine implements are left unchanged. If an operand is dyn, there may be several overloads. A function
    in Python selects the overload at run time. All overloads that are CEL expressions share one expression. If the
    engine has some overloads (for strings) and others are CEL expressions (for lists), the call becomes a conditional
    expression, which tests the type of the receiver.
    """
    operands = list(map(ast.copy_of, ast.children(node)))
    by_body = [row for row in rows if row.body]
    if by_body:
        made = bodies.apply(by_body[0].body, operands)
        if any(row.is_native for row in rows):
            made = _if_list(operands[0], made, ast.copy_of(node))
        ast.put(checked, node, made)
    elif not any(row.is_native for row in rows):
        ast.put(checked, node, _called(run_name(rows[0].name), operands))


def _if_list(operand: Node, then: Node, otherwise: Node) -> Node:
    kind = ast.Expr()
    kind.ident_expr.name = "list"
    otherwise.id = 0
    return _called("_?_:_", [_called("_==_", [_called("type", [operand]), kind]), then, otherwise])


def _called(function: str, operands: list[Node]) -> Node:
    made = ast.Expr()
    made.call_expr.function = function
    made.call_expr.args.extend(operands)
    return made

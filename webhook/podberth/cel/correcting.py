"""Replaces calls and field accesses whose value in the CEL engine differs from the value in the API server (cel-go).

The table in ``cel.corrections`` lists the calls.
"""

from typing import Final

from . import ast
from .ast import Node
from .bodies import Bodies
from .corrections import CORRECTIONS, Body, NativeCall, has, item, present
from .libraries.conversions import INSTANT, INSTANT_OF_UTC, TIME_TEXT
from .types import DYN, OPTIONAL, CelType
from .typing import UNESCAPED

_OBJECT: Final = "object"
_OPTIONAL_FIELD: Final = "_?._"
# An index, or a key, is evaluated only if there is something that it could be in (cel-go interpreter/attributes.go).
_KEY: Final = "b"
_ACCESSES: Final = frozenset({_OPTIONAL_FIELD, "_[?_]", "_[_]"})
_TIME_OF_TEXT: Final = "string_to_timestamp"
# An error of an entry that is hidden is one of the map, too.
_BEHIND: Final = "size(a) == 0 ? {} : b"
# A value whose key a later entry may have; b says whether it has.
_UNLESS: Final = "b ? optional.none() : optional.of(a)"
_UNLESS_OPTIONAL: Final = "b ? optional.none() : a"
_TEXT_OF_ANY_TIME: Final = f"type(a) == type('') ? {TIME_TEXT}(a) : {TIME_TEXT}(string(timestamp(a)))"
_ANY = frozenset({DYN, CelType(OPTIONAL, (DYN,))})
# Nothing reads a part of these, so a guess does not matter.
_WHOLE = frozenset({"bool", "int", "uint", "double", "string", "bytes", "null_type"})


class Correcting:
    """Corrects the calls and the field accesses of one expression by changing its tree, subexpressions first."""

    def __init__(self, checked: Node, bodies: Bodies, *, may_hold_optional: bool) -> None:
        """Create the object for the expression ``checked``, whose tree the corrections change.

        ``bodies`` writes the operands of a call into the CEL expression that replaces the call. ``may_hold_optional``
        says whether a value of the expression ``checked`` may be or contain an optional.
        """
        self._checked = checked
        self._apply = bodies.apply
        self._may_hold_optional = may_hold_optional
        self._guessed = guessed(checked)
        self.writes_times = False
        """Whether a correction writes a time as text, and the same correction did not read the time from a text."""
        self.grown = ast.size(checked.expr)
        """The number of the expression's nodes, including the nodes that corrections have added so far."""

    def times_as_read(self) -> None:
        """Replace ``string(timestamp(text))`` by a function of ``text``, which keeps the time zone that is in ``text``.

        A timestamp of the CEL engine has no time zone, so the engine would write the time in UTC.
        """
        for node in ast.walk(self._checked.expr):
            if ast.kind(node) != "call_expr" or node.call_expr.function != "string" or not node.call_expr.args:
                continue
            read = node.call_expr.args[0]
            overloads = ast.overloads(self._checked, read)
            if _TIME_OF_TEXT in overloads:
                body = f"{TIME_TEXT}(a)" if len(overloads) == 1 else _TEXT_OF_ANY_TIME
                self._replace(node, body, [ast.copy_of(read.call_expr.args[0])])

    def select(self, node: Node) -> bool:
        """Replace ``a.b`` or ``has(a.b)`` if the API server's value differs; return whether the node was replaced."""
        select = node.select_expr
        if ast.kind(select.operand) == "ident_expr" and select.operand.ident_expr.name == _OBJECT:
            return False  # the one field of its type that is always present
        call = self._call([select.operand])
        body = has(call) if select.test_only else item(call)
        return self._corrected(node, body, [ast.copy_of(select.operand), self._field(node, select)], skips=_KEY)

    def call(self, node: Node) -> bool:
        """Replace a call if the value differs from the API server's value; return whether the call was replaced."""
        call = node.call_expr
        operands = ast.children(node)
        if call.function == _OPTIONAL_FIELD:
            is_object = ast.kind(operands[0]) == "ident_expr" and operands[0].ident_expr.name == _OBJECT
            body = "" if is_object else present(self._call(operands))
        else:
            correct = CORRECTIONS.get((call.function, len(operands)))
            body = correct(self._call(operands)) if correct else ""
        skips = _KEY if call.function in _ACCESSES else ""
        return self._corrected(node, body, [ast.copy_of(each) for each in operands], skips=skips)

    def map_literal(self, node: Node) -> None:
        """Remove each item of a map literal whose key is repeated later in the literal.

        For the API server, the last item with a repeated key counts; the CEL engine fails instead. If the last item is
        optional and absent, the map has no item with the key.

        Source: evalMap, cel-go interpreter/interpretable.go.
        """
        entries = list(node.struct_expr.entries)
        last = {ast.key_of(each): index for index, each in enumerate(entries) if ast.kind(each.map_key) == "const_expr"}
        hidden = [index for index, each in enumerate(entries) if last.get(ast.key_of(each), index) != index]
        if hidden:
            values, kept = type(node)(), ast.copy_of(node)
            for index in reversed(hidden):
                values.list_expr.elements.add().CopyFrom(entries[index].value)
                del kept.struct_expr.entries[index]
            self._replace(node, _BEHIND, [values, kept])

    def keys_as_written(self) -> None:
        """Rewrite the map literals with computed keys: of two items with equal keys, the last counts, as in cel-go.

        An earlier item becomes optional, and is absent if a later key is equal at run time. Only keys that are
        literals, variables or fields of variables are compared, because each comparison evaluates the keys again.
        """
        for node in list(ast.walk(self._checked.expr)):
            if ast.kind(node) == "struct_expr" and not node.struct_expr.message_name:
                self._hide_computed(node)

    def _hide_computed(self, node: Node) -> None:
        entries = list(node.struct_expr.entries)
        for index, entry in enumerate(entries[:-1]):
            later = [each.map_key for each in entries[index + 1 :] if _may_equal(entry.map_key, each.map_key)]
            if later:
                equal = self._any_equal(entry.map_key, later)
                body = _UNLESS_OPTIONAL if entry.optional_entry else _UNLESS
                made = self._apply(body, [ast.copy_of(entry.value), equal])
                self.grown += ast.size(made) - ast.size(entry.value)
                entry.value.CopyFrom(made)
                entry.optional_entry = True

    def _any_equal(self, key: Node, others: list[Node]) -> Node:
        made = self._apply("a == b", [ast.copy_of(key), ast.copy_of(others[0])])
        for each in others[1:]:
            made = self._apply("a || b", [made, self._apply("a == b", [ast.copy_of(key), ast.copy_of(each)])])
        return made

    def _corrected(self, node: Node, body: Body, operands: list[Node], *, skips: str) -> bool:
        if body:
            self.writes_times = self.writes_times or TIME_TEXT in body
            self._replace(node, body, operands, skips=skips)
        return bool(body)

    def _replace(self, node: Node, body: Body, operands: list[Node], *, skips: str = "") -> None:
        made = self._apply(body, operands, skips=skips)
        self.grown += ast.size(made) - sum(map(ast.size, operands))
        ast.put(self._checked, node, made)

    def _call(self, operands: list[Node]) -> NativeCall:
        last = operands[-1]
        listed = list(last.list_expr.elements) if ast.kind(last) == "list_expr" else None
        return NativeCall(
            [self._type(each) for each in operands],
            self._may_hold_optional,
            None if listed is None else [self._type(each) for each in listed],
            last.const_expr.string_value if ast.kind(last) == "const_expr" else None,
        )

    def _type(self, node: Node) -> CelType:
        """Return the type of an expression; dyn or optional(dyn) if the type checker may only have guessed the type."""
        found = ast.type_of(self._checked, node)
        if node.id not in self._guessed:
            return found
        return CelType(OPTIONAL, (DYN,)) if found.name == OPTIONAL else DYN

    def _field(self, node: Node, select: Node) -> Node:
        made = type(node)()
        is_message = ast.type_of(self._checked, select.operand).is_message
        made.const_expr.string_value = UNESCAPED.get(select.field, select.field) if is_message else select.field
        return made


def forget_offsets(node: Node) -> None:
    """Replace a call ``timestamp(text)`` by a call that accepts only times in UTC; do nothing for other expressions.

    The function is used for programs that write times as text. The CEL engine forgets the time zone in ``text``, so the
    program would write the time in UTC.
    """
    if ast.kind(node) == "call_expr" and node.call_expr.function == INSTANT:
        node.call_expr.function = INSTANT_OF_UTC


def guessed(checked: Node) -> frozenset[int]:
    """Return the ids of the expressions whose type the type checker may have guessed, from a value of type dyn.

    For ``dyn(x)[?'a']['b']`` the checker concludes from ``['b']`` that the optional holds a map. At run time the
    optional may hold a value of any type.
    """
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


def _may_equal(key: Node, other: Node) -> bool:
    """Return whether two keys may be equal, and are cheap to evaluate again: literals, variables, fields of variables.

    The result is False for two literals.
    """
    kinds = {ast.kind(key), ast.kind(other)}
    return kinds != {"const_expr"} and _is_field(key) and _is_field(other)


def _is_field(node: Node) -> bool:
    """Return whether an expression is a literal, a variable, or a field of a variable: ``object.spec.nodeName``."""
    while ast.kind(node) == "select_expr":
        node = node.select_expr.operand
    return ast.kind(node) in ("const_expr", "ident_expr")


def _spreads(checked: Node, node: Node, found: set[int]) -> bool:
    if ast.kind(node) == "const_expr":  # the field of a.?b has no type of its own
        return False
    return node.id in found or ast.type_of(checked, node) in _ANY


def _names(checked: Node, loop: Node, found: set[int]) -> set[str]:
    """Return the names of a loop's variables whose type the type checker may have guessed.

    ``found`` has the ids of the nodes whose type may be a guess, as far as known.
    """
    names: set[str] = set()
    if _spreads(checked, loop.iter_range, found):
        names |= {loop.iter_var, loop.iter_var2}
    if any(_spreads(checked, each, found) for each in (loop.accu_init, loop.loop_step)):
        names.add(loop.accu_var)
    return names - {""}

"""Finds the field of the pod, or of podberth's variables, that a part of a CEL expression reads."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from ..cel.tree import Call, Entries, Items, Literal, Loop, Name, Select, Tree, children
from ..cel.typing import VARIABLES
from ..kube.paths import ELEMENT, FieldPath
from ..kube.schema import PodSchema, Schema
from ..kube.typed import MisfitError, type_at
from .conditions import variable
from .findings import Linted

Scope: TypeAlias = Mapping[str, FieldPath]
"""A mapping from each loop variable around a part of an expression to the path of the field that the variable stands
for.

An empty path: the variable stands for no field.
"""

_STEPS: Final = frozenset({"_[_]", "_[?_]", "_?._"})
_SAME: Final = frozenset({"orValue", "dyn", "optional.of", "value"})
"""The functions that return their first operand or, if it has no value, a default."""
_NOBODY: Final[Scope] = {}
_TWO: Final = 3
"""The number of names in a loop with two variables; the third name is internal to the macro."""


def parts_of(policy: Linted) -> Iterator[tuple[tuple[str | int, ...], Tree, Scope]]:
    """Yield (path, subexpression, scope) for every subexpression of a policy's expressions.

    The path leads to the whole expression. The scope has the variables of macros that the subexpression can read.
    """
    for placed in policy.expressions:
        for part, scope in _walk(policy, policy.tree(placed.source), _NOBODY):
            yield placed.path, part, scope


def where(policy: Linted, tree: Tree, scope: Scope) -> FieldPath | None:  # noqa: PLR0911 - one for each form
    """Return the path of the field that ``tree``, a part of an expression, reads; None if the part computes a value.

    In the path, ELEMENT is the step for any element of a list. A variable of the policy stands for its expression.
    """
    match tree:
        case Name(name=name) if name in scope:
            return scope[name] or None
        case Name() if (name := variable(tree)) in policy.variables:
            return where(policy, policy.variables[name], _NOBODY)
        case Name(name=name) if name.partition(".")[0] in VARIABLES:
            return tuple(name.split("."))
        case Select(operand=operand, field=field, asks=False):
            return _below(where(policy, operand, scope), field)
        case Call(function=function, operands=(operand, Literal(value=str() as key))) if function in _STEPS:
            return _below(where(policy, operand, scope), key)
        case Call(function="_[_]" | "_[?_]", operands=(operand, Literal(value=int()))):
            return _below(where(policy, operand, scope), ELEMENT)
        case _:
            return _handed_on(policy, tree, scope)


def type_of(schema: PodSchema, found: FieldPath) -> Schema | None:
    """Return the type of a field of the pod; None for a path that is no field of a Pod."""
    if found[0] not in ("object", "oldObject"):
        return None
    try:
        return type_at(schema, found[1:])
    except MisfitError:
        return None


def holder(schema: PodSchema, found: FieldPath) -> str:
    """Return the name of the Kubernetes type that has the field of the pod, such as ``Container`` for an image.

    Empty for a key of a map, and for a path that is no field of a Pod.
    """
    kind = type_of(schema, found[:-1])
    return kind.message.rpartition(".")[2] if kind is not None and kind.kind == "message" else ""


def is_map(schema: PodSchema, found: FieldPath) -> bool:
    """Return whether a field of the pod is a map; the labels, for example, are a map."""
    kind = type_of(schema, found)
    return kind is not None and kind.kind == "map"


def shown(found: FieldPath) -> str:
    """Return a path as text: ``spec.containers[].image``, ``metadata.labels[example.com/team]``, ``gpu.vendor``."""
    first, *rest = found
    text = "" if first == "object" else first
    for step in rest:
        plain = step.isidentifier()
        text += "[]" if step == ELEMENT else f".{step}" if plain and text else step if plain else f"[{step}]"
    return text


def _handed_on(policy: Linted, tree: Tree, scope: Scope) -> FieldPath | None:
    """Return the path of the field whose value, or whose elements, a call or a loop returns; None if there is none."""
    match tree:
        case Call(function=function, operands=(operand, *_)) if function in _SAME:
            return where(policy, operand, scope)
        case Call(function="_?_:_", operands=(_, *branches)) if len(given := _given(branches)) == 1:
            return where(policy, given[0], scope)
        case Call(function="_+_", operands=(operand, _)):
            return _list(policy, operand, scope)
        case Loop(over=operand) if _is_filter(tree):
            return _list(policy, operand, scope)
        case _:
            return None


def _given(branches: Iterable[Tree]) -> list[Tree]:
    """Return the branches of a choice that are no empty list or map, which stands for an absent field."""
    return [each for each in branches if each not in (Items(items=()), Entries(entries=()))]


def _list(policy: Linted, tree: Tree, scope: Scope) -> FieldPath | None:
    """Return the path of the field that ``tree`` reads if the field is a list of the pod; else None."""
    found = where(policy, tree, scope)
    kind = None if found is None else type_of(policy.environment.schema, found)
    return found if kind is not None and kind.kind == "array" else None


def _is_filter(loop: Loop) -> bool:
    """Return whether a loop is the expansion of ``filter()``: it appends some of the elements, as they are."""
    match loop.parts[2]:
        case Call(function="_?_:_", operands=(_, Call(function="_+_", operands=(_, Items(items=(item,)))), _)):
            return isinstance(item, Name) and item.name == loop.variables[0]
        case _:
            return False


def _below(path: FieldPath | None, step: str) -> FieldPath | None:
    return None if path is None else (*path, step)


def _walk(policy: Linted, tree: Tree, scope: Scope) -> Iterator[tuple[Tree, Scope]]:
    yield tree, scope
    if not isinstance(tree, Loop):
        for child in children(tree):
            yield from _walk(policy, child, scope)
        return
    yield from _walk(policy, tree.over, scope)
    inner = {**scope, **dict.fromkeys(tree.variables, ()), **_elements(policy, tree, scope)}
    for part in tree.parts:
        yield from _walk(policy, part, inner)


def _elements(policy: Linted, loop: Loop, scope: Scope) -> Scope:
    """Return a mapping from the loop variable that is an element of a list to the path of the element.

    Empty if no variable of the loop is an element. If the loop has two variables, the second is the element. The only
    variable of a loop over a map is a key.
    """
    over = where(policy, loop.over, scope)
    two = len(loop.variables) == _TWO
    if over is None or (not two and is_map(policy.environment.schema, over)):
        return {}
    return {loop.variables[1 if two else 0]: (*over, ELEMENT)}

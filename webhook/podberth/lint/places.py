"""Finds the field of the pod, or of podberth's variables, that a part of an expression reads."""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from ..cel.tree import Call, Literal, Loop, Name, Select, Tree, children
from ..cel.typing import VARIABLES
from ..kube.paths import ELEMENT
from .findings import Linted

Where: TypeAlias = tuple[str, ...]
"""The path of a field, from the variable: ("object", "spec", "containers", ELEMENT, "name")."""
Scope: TypeAlias = Mapping[str, Where]
"""The paths of the values that the variables of the loops around a part stand for."""

_PREFIX: Final = "variables."
_STEPS: Final = frozenset({"_[_]", "_[?_]", "_?._"})
_SAME: Final = frozenset({"orValue", "dyn", "optional.of", "value"})
"""The functions whose result is their first operand, or a default."""
_NOBODY: Final[Scope] = {}


def parts_of(policy: Linted) -> Iterator[tuple[tuple[str | int, ...], Tree, Scope]]:
    """Yield every part of every expression of a policy, each after its expression's path and with its scope."""
    for placed in policy.expressions:
        for part, scope in _walk(policy, policy.tree(placed.source), _NOBODY):
            yield placed.path, part, scope


def where(policy: Linted, tree: Tree, scope: Scope) -> Where | None:  # noqa: PLR0911 - one for each form
    """Return the path of the field that a part reads; None if the part makes a value.

    An element of a list has the step ELEMENT, at any index. A variable of the policy stands for its expression.
    """
    match tree:
        case Name(name=name) if name in scope:
            return scope[name]
        case Name(name=name) if name.removeprefix(_PREFIX) in policy.variables and name.startswith(_PREFIX):
            return where(policy, policy.variables[name.removeprefix(_PREFIX)], _NOBODY)
        case Name(name=name) if name.partition(".")[0] in VARIABLES:
            return tuple(name.split("."))
        case Select(operand=operand, field=field, asks=False):
            return _below(where(policy, operand, scope), field)
        case Call(function=function, operands=(operand, Literal(value=str() as key))) if function in _STEPS:
            return _below(where(policy, operand, scope), key)
        case Call(function="_[_]" | "_[?_]", operands=(operand, Literal(value=int()))):
            return _below(where(policy, operand, scope), ELEMENT)
        case Call(function=function, operands=(operand, *_)) if function in _SAME:
            return where(policy, operand, scope)
        case _:
            return None


def _below(path: Where | None, step: str) -> Where | None:
    return None if path is None else (*path, step)


def _walk(policy: Linted, tree: Tree, scope: Scope) -> Iterator[tuple[Tree, Scope]]:
    yield tree, scope
    if not isinstance(tree, Loop):
        for child in children(tree):
            yield from _walk(policy, child, scope)
        return
    yield from _walk(policy, tree.over, scope)
    element = _below(where(policy, tree.over, scope), ELEMENT)
    own = {name for name in tree.variables if element is None or name != tree.variables[0]}
    inner = {name: path for name, path in scope.items() if name not in own}
    for part in tree.parts:
        yield from _walk(policy, part, inner if element is None else {**inner, tree.variables[0]: element})

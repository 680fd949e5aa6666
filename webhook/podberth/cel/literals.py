"""Finds literals that upstream refuses in a new policy: lists and maps whose elements have several types.

Source: cel-go cel/validator.go, ValidateHomogeneousAggregateLiterals, which apiserver pkg/cel/environment/base.go turns
on. GPUPolicies may have such literals.
"""

from collections.abc import Iterator
from typing import Final

from . import ast
from .ast import Node
from .engine_errors import CelProblem
from .types import OPTIONAL, CelType

# The one function whose list may be of several types (cel-go ext/strings.go).
_EXEMPT: Final = "format"
_ONE_TYPE: Final = "in a native policy, the values of a list or a map have one type"


def mixed_literals(checked: Node) -> Iterator[CelProblem]:
    """Yield a problem for each list or map literal with elements of several types, at the first one that differs."""
    calls = (node for node in ast.walk(checked.expr) if ast.kind(node) == "call_expr")
    exempt = {each.id for call in calls if call.call_expr.function == _EXEMPT for each in ast.walk(call)}
    for node in ast.walk(checked.expr):
        if node.id in exempt:
            continue
        if ast.kind(node) == "list_expr":
            optional = set(node.list_expr.optional_indices)
            elements = [(each, place in optional) for place, each in enumerate(node.list_expr.elements)]
            yield from _differing(checked, elements)
        elif ast.kind(node) == "struct_expr" and not node.struct_expr.message_name:
            entries = list(node.struct_expr.entries)
            yield from _differing(checked, [(each.map_key, False) for each in entries])
            yield from _differing(checked, [(each.value, each.optional_entry) for each in entries])


def _differing(checked: Node, elements: list[tuple[Node, bool]]) -> Iterator[CelProblem]:
    kinds: list[CelType] = []
    for element, optional in elements:
        kind = ast.type_of(checked, element)
        kinds.append(kind.parameters[0] if optional and kind.name == OPTIONAL else kind)
    for (element, _), kind in zip(elements, kinds, strict=True):
        if kind != kinds[0]:
            message = f"expected type '{kinds[0]}' but found '{kind}'; {_ONE_TYPE}"
            yield CelProblem(*ast.position(checked, element.id), message)
            return

"""Computes the minimum length of the lines that users get from a policy: the policy's messages and reasons."""

from collections.abc import Iterator

from ..admission.messages import line
from ..cel.tree import Call, Literal, Tree
from ..kube.paths import Path
from .findings import Linted


def shortest_lines(policy: Linted) -> Iterator[tuple[Path, int]]:
    """Yield (path, minimum length of the line) for each message and reason; the line includes the policy's name."""
    author = len(line(policy.name, "x")) - 1
    for index, validation in enumerate(policy.spec.validations):
        path: Path = ("spec", "validations", index)
        if validation.message is not None:
            yield (*path, "message"), author + len(validation.message)
        if validation.message_expression is not None:
            yield (*path, "messageExpression"), author + _least(policy.tree(validation.message_expression))
    for mutation in policy.mutations:
        if mutation.source.reason is not None:
            yield (*mutation.path, "reason"), author + _least(policy.tree(mutation.source.reason))


def _least(tree: Tree) -> int:
    """Return the minimum length of the text that an expression returns.

    A part whose value is computed counts as empty.
    """
    match tree:
        case Literal(value=str() as text):
            return len(text)
        case Call(function="_+_", operands=operands):
            return sum(map(_least, operands))
        case Call(function="_?_:_", operands=(_, left, right)):
            return min(_least(left), _least(right))
        case _:
            return 0

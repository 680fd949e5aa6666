"""Lists the CEL expressions of a compiled policy, each with the expression's path in the policy's document."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..cel.engine import Expression
from ..kube.paths import Path
from .compile import CompiledPolicy
from .model import leaves_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One CEL expression of a policy: the path in the document, the source text, and the compiled form.

    The compiled form is None if the expression is just a scalar field of ``gpu`` or ``gang``, which needs no evaluation
    by CEL.
    """

    path: Path
    source: str
    expression: Expression | None


def expressions_of(policy: CompiledPolicy) -> Iterator[Placed]:
    """Yield every expression of a policy, in the order of the fields in docs/policy.md."""
    for index, (_, each) in enumerate(policy.conditions):
        yield _placed(("matchConditions", index, "expression"), each)
    for index, variable in enumerate(policy.source.spec.variables):
        yield _placed(("variables", index, "expression"), policy.variables[variable.name])
    for index in range(len(policy.mutations)):
        yield from _of_mutation(policy, index)
    for index, validation in enumerate(policy.validations):
        yield _placed(("validations", index, "expression"), validation.expression)
        if validation.message_expression is not None:
            yield _placed(("validations", index, "messageExpression"), validation.message_expression)
    for index, (_, each) in enumerate(policy.audit_annotations):
        yield _placed(("auditAnnotations", index, "valueExpression"), each)
    for _, path, each in policy.patches:
        yield _placed(path, each)


def _of_mutation(policy: CompiledPolicy, index: int) -> Iterator[Placed]:
    compiled = policy.mutations[index]
    if compiled.when is not None:
        yield _placed(("mutations", index, "when"), compiled.when)
    for leaf in leaves_of(policy.source.spec.mutations[index])[0]:
        path: Path = ("spec", "mutations", index, *leaf.path)
        yield Placed(path=path, source=leaf.source, expression=compiled.leaves.get(leaf.name))
    if compiled.reason is not None:
        yield _placed(("mutations", index, "reason"), compiled.reason)


def _placed(path: Path, expression: Expression) -> Placed:
    return Placed(path=("spec", *path), source=expression.source, expression=expression)

"""A validation that is always true or always false.

A validation that is always true refuses nothing, and one that is always false refuses every pod that passes the
matchConditions. The literal `false`, as in ValidatingAdmissionPolicy's examples, is taken as intended.

Bad:

    matchConditions:
    - {name: whole, expression: gpu.kind == 'whole'}
    validations:
    - {expression: gpu.kind != 'mig', message: no slices here}
    validationActions: [Deny]

Good:

    validations:
    - {expression: gpu.kind != 'mig', message: no slices here}
    validationActions: [Deny]
"""

from collections.abc import Iterator

from ...cel.tree import Literal
from ...errors import Problem
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each validation that is always true or always false."""
    for policy in library.applicable:
        conditions = policy.conditions
        for index, validation in enumerate(policy.spec.validations):
            path = ("spec", "validations", index, "expression")
            tree = policy.tree(validation.expression)
            if tree == Literal(value=False):
                continue
            if not conditions.can_hold(conditions.says(tree, wanted=False)):
                yield policy.problem(path, "it is always true where it is evaluated, so it refuses nothing")
            elif not conditions.can_hold(conditions.says(tree)):
                yield policy.problem(path, "it is never true where it is evaluated, so it refuses every such pod")

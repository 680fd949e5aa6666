"""A condition that is never false, and so has no effect.

A matchCondition or a `when` is true for every pod for which it is evaluated: it is constant, or it repeats the
matchConditions or `scope: GPU`. Remove it, or write the condition that was meant. The evaluation of the condition may
still fail for some pods, which is an error and not a false condition.

Bad:

    matchConditions:
    - {name: whole, expression: gpu.kind == 'whole'}
    mutations:
    - when: gpu.kind != 'mig'
      labels: {example.com/kind: gpu.kind}

Good:

    matchConditions:
    - {name: whole, expression: gpu.kind == 'whole'}
    mutations:
    - labels: {example.com/kind: gpu.kind}
"""

from collections.abc import Iterator

from ...errors import Problem
from ..findings import Library
from ..formula import possible


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each condition that is never false, in policies that can apply to some pod."""
    for policy in library.applicable:
        conditions = policy.conditions
        for index, tree in enumerate(conditions.trees):
            if not possible(*conditions.given, conditions.says(tree, wanted=False)):
                path = ("spec", "matchConditions", index, "expression")
                yield policy.problem(path, "it is never false; remove it, or write the condition that was meant")
        for mutation in policy.mutations:
            if mutation.when is not None and not conditions.can_hold(conditions.says(mutation.when, wanted=False)):
                message = (
                    "it is never false where the matchConditions hold; remove it, or write the condition that was meant"
                )
                yield policy.problem((*mutation.path, "when"), message)

"""A condition that is never false, and so says nothing.

A matchCondition or a `when` that holds for every pod that it is asked about: a constant, what the matchConditions say
already, what `scope: GPU` says already. Leave it out, or say what was meant. It may still have no value for some pod,
which is an error there and not a false condition.

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
from ..formula import possible
from ..model import Level, Library

LEVEL = Level.WARNING


def check(library: Library) -> Iterator[Problem]:
    """Yield conditions that are never false, in policies that apply at all."""
    for policy in library.policies:
        conditions = policy.conditions
        if not conditions.can_hold():
            continue
        for index, tree in enumerate(conditions.trees):
            if not possible(*conditions.given, conditions.says(tree, wanted=False)):
                path = ("spec", "matchConditions", index, "expression")
                yield policy.problem(path, "it is never false; leave it out, or say what was meant")
        for mutation in policy.mutations:
            if mutation.when is not None and not conditions.can_hold(conditions.says(mutation.when, wanted=False)):
                message = "it is never false where the matchConditions hold; leave it out, or say what was meant"
                yield policy.problem((*mutation.path, "when"), message)

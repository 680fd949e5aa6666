"""A condition that can never be true, so that a policy or a mutation never applies.

The rule finds conditions that are constant, and conditions that compare a variable with a value that it never has
(`gpu.kind == 'gpu'`). It also finds conditions that exclude each other: several matchConditions, or a `when` and the
matchConditions. podberth's own guarantees count as conditions, too: for example, a policy of scope GPU is never
evaluated for a pod that has `gpu.kind == 'none'` and is in no gang.

Bad:

    matchConditions:
    - {name: slices, expression: gpu.kind == 'mig'}
    mutations:
    - when: gpu.kind == 'whole'
      labels: {example.com/kind: gpu.kind}

Good:

    matchConditions:
    - {name: devices, expression: "gpu.kind in ['mig', 'whole']"}
    mutations:
    - when: gpu.kind == 'whole'
      labels: {example.com/kind: gpu.kind}
"""

from collections.abc import Iterator

from ...errors import Problem
from ..findings import Library, Linted
from ..formula import possible


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each matchCondition of a policy that can never be true.

    If all can be true, yield a problem for each condition ``when`` of a mutation that can never be true.
    """
    for policy in library.every:
        found = list(_conditions(policy))
        yield from found or _whens(policy)


def _conditions(policy: Linted) -> Iterator[Problem]:
    conditions = policy.conditions
    names = [item.name for item in policy.spec.match_conditions]
    for index, formula in enumerate(conditions.formulas):
        path = ("spec", "matchConditions", index, "expression")
        if not possible(*conditions.given, formula):
            yield policy.problem(path, "it is never true, so the policy never applies")
            return
        if not possible(*conditions.given, *conditions.formulas[: index + 1]):
            others = ", ".join(names[:index])
            yield policy.problem(path, f"it is never true together with {others}, so the policy never applies")
            return


def _whens(policy: Linted) -> Iterator[Problem]:
    for mutation in policy.mutations:
        if not policy.conditions.can_hold(mutation.applies):
            alone = possible(mutation.applies)
            why = " where the matchConditions hold" if alone and policy.spec.match_conditions else ""
            yield policy.problem((*mutation.path, "when"), f"it is never true{why}, so nothing is ever written")

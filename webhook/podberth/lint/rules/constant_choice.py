"""A conditional `test ? a : b` whose test always has the same value, so that `a` or `b` is never used.

The rule reads every expression except the matchConditions, and assumes that the matchConditions are true.

Bad:

    matchConditions:
    - {name: several, expression: gpu.count > 1}
    mutations:
    - labels:
        example.com/size: "gpu.count > 0 ? 'some' : 'none'"

Good:

    mutations:
    - labels:
        example.com/size: "gpu.count > 1 ? 'several' : 'one'"
"""

from collections.abc import Iterator

from ...cel.tree import Call, walk
from ...errors import Problem
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each conditional ``? :`` whose test has one value for all pods."""
    for policy in library.applicable:
        conditions = policy.conditions
        for placed in policy.expressions:
            if placed.path[1] == "matchConditions":
                continue
            for part in walk(policy.tree(placed.source)):
                if not isinstance(part, Call) or part.function != "_?_:_":
                    continue
                for wanted, side in ((False, "second"), (True, "first")):
                    if not conditions.can_hold(conditions.says(part.operands[0], wanted=wanted)):
                        message = f"the test is always {str(not wanted).lower()}, so the {side} value is never taken"
                        yield policy.within(placed.path, part, message)

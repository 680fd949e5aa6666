"""A variable that nothing reads.

It costs nothing when the policy runs, but it misleads the policy's readers. A variable that only unused variables read
is unused, too.

Bad:

    variables:
    - {name: nodes, expression: topology.nodes(gpu)}
    mutations:
    - tolerations: topology.nodes(gpu).tolerations

Good:

    variables:
    - {name: nodes, expression: topology.nodes(gpu)}
    mutations:
    - tolerations: variables.nodes.tolerations
"""

from collections.abc import Iterator

from ...errors import Problem
from ..findings import Library, Linted


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each variable that no condition, mutation, validation or audit annotation needs."""
    for policy in library.every:
        used = _used(policy)
        for index, variable in enumerate(policy.spec.variables):
            if variable.name not in used:
                path = ("spec", "variables", index, "name")
                yield policy.problem(path, f"nothing reads variables.{variable.name}; remove it")


def _used(policy: Linted) -> frozenset[str]:
    found: set[str] = set()
    for placed in policy.expressions:
        if placed.expression is not None and placed.path[1] != "variables":
            found |= {path[1] for path in placed.expression.reads if path[0] == "variables" and len(path) > 1}
    return frozenset(found)

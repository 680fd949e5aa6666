"""A toleration without a key.

With `operator: Exists` it tolerates every taint: nodes that are not ready, that are reserved for a team, or that are
being removed. podberth accepts such a policy, and the mutation then fails on each pod (docs/rules.md, rule 4). Name the
key.

Bad:

    mutations:
    - tolerations: "[{'operator': 'Exists'}]"

Good:

    mutations:
    - tolerations: "[{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]"
"""

from collections.abc import Iterator

from ...cel.tree import Entries, Literal
from ...errors import Problem
from ..findings import Library

_FIELDS = frozenset({"operator", "effect", "value", "tolerationSeconds"})


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each map literal that has a toleration's form, and whose key is missing or empty."""
    for mutation, place, part in library.parts("tolerations"):
        if isinstance(part, Entries) and _is_toleration(part) and part.get("key") in (None, Literal(value="")):
            yield mutation.policy.within(place, part, "tolerates every taint; want a key")


def _is_toleration(part: Entries) -> bool:
    names = {key.value for key, _ in part.entries if isinstance(key, Literal)}
    return bool(names & _FIELDS) and names <= _FIELDS | {"key"} and "matchExpressions" not in names

"""A mutation `topology` in a policy set without a mutation `gang` that comes before.

`topology` writes only on pods that have the gang's label or are members of a group. The policy that decides on the gang
writes the label by an entry `gang`, in the same policy or in an earlier one. Without such an entry, only pods whose
authors set `podberth.io/gang` are placed together.

Bad, if no other policy has an entry `gang`:

    matchConditions:
    - {name: member, expression: gang.known}
    mutations:
    - topology: {level: "'topology.kubernetes.io/zone'", mode: preferred}

Good:

    matchConditions:
    - {name: member, expression: gang.known}
    mutations:
    - gang: {name: gang.name, size: gang.size}
    - topology: {level: "'topology.kubernetes.io/zone'", mode: preferred}
"""

from collections.abc import Iterator

from ...errors import Problem
from ...wellknown import GANG_LABEL
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each mutation ``topology`` before which no mutation ``gang`` of the library writes."""
    orders = [each.policy.spec.order for each in library.mutations if each.source.concern == "gang"]
    for mutation in library.mutations:
        if mutation.source.concern == "topology" and not any(order <= mutation.policy.spec.order for order in orders):
            message = f"it writes only on pods with the label {GANG_LABEL}; an entry gang before it writes the label"
            yield mutation.policy.problem((*mutation.path, "topology"), message)

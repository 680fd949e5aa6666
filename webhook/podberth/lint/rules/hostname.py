"""Node affinity that names a host.

The scheduler chooses the node (docs/rules.md, rule 1). A term on a hostname pins the pod to one node, and the pod waits
if that node is full or gone. Select nodes by their properties: GPU product, links between GPUs, zone.

Bad:

    mutations:
    - nodeAffinity:
        required: "[{'matchExpressions': [{'key': 'kubernetes.io/hostname', 'operator': 'In', 'values': ['gpu-7']}]}]"

Good:

    mutations:
    - nodeAffinity:
        preferred: topology.nodes(gpu).preferredTerms
        weight: 50
"""

from collections.abc import Iterator

from ...cel.tree import Entries, Literal
from ...errors import Problem
from ...wellknown import HOSTNAME_LABEL
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each node affinity expression on the hostname's label, and for each field ``matchFields``."""
    for mutation, place, part in library.parts("nodeAffinity", "applyConfiguration", "jsonPatch"):
        if not isinstance(part, Entries):
            continue
        if part.get("key") == Literal(value=HOSTNAME_LABEL) or part.get("matchFields") is not None:
            yield mutation.policy.within(place, part, "names a host; the scheduler chooses the node")

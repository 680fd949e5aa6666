"""Node affinity that names a host.

The scheduler chooses the node (docs/rules.md, rule 1): a term on a hostname pins a pod to one machine, and the pod
waits when that machine is full or gone. Select nodes by their properties: product, link shape, zone.

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

from ...cel.tree import Entries, Literal, walk
from ...errors import Problem
from ...wellknown import HOSTNAME_LABEL
from ..model import Level, Library

LEVEL = Level.ERROR

_CONCERNS = ("nodeAffinity", "applyConfiguration", "jsonPatch")


def check(library: Library) -> Iterator[Problem]:
    """Yield every key of a term that is the hostname's, and every matchFields."""
    for mutation in library.mutations:
        for leaf in mutation.leaves if mutation.source.concern in _CONCERNS else ():
            for path, tree in mutation.policy.reached(leaf.source):
                for part in walk(tree):
                    if isinstance(part, Entries) and _names_host(part):
                        place = path or (*mutation.path, *leaf.path)
                        yield mutation.policy.within(place, part, "names a host; the scheduler chooses the node")


def _names_host(part: Entries) -> bool:
    return part.get("key") == Literal(value=HOSTNAME_LABEL) or part.get("matchFields") is not None

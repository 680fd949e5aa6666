"""A mutation `schedulerName` with the scheduler of a group system, where no mutation `gang` joins pods to a group.

The scheduler starts the pods of a gang together only if they are in a group. By the scheduler's name alone they start
one by one. Volcano, for example, reads how many pods start together from an annotation of the Job that owns them, and a
policy for pods cannot write the annotation.

Bad, if the Jobs have no annotation `scheduling.volcano.sh/group-min-member`:

    mutations:
    - schedulerName: "'volcano'"

Good:

    mutations:
    - gang: {name: gang.name, size: gang.size, system: "'koordinator'"}
    - schedulerName: "'koord-scheduler'"
"""

from collections.abc import Iterator

from ...cel.tree import Literal
from ...errors import Problem
from ...workload.systems import SYSTEMS
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each name of a group system's scheduler, if no ``gang`` entry joins pods to a group."""
    titles = {name: row.title for row in SYSTEMS for name in row.schedulers}
    if any(leaf.name == "system" for _, leaf in library.leaves("gang")):
        return
    for mutation, place, part in library.parts("schedulerName"):
        if isinstance(part, Literal) and part.value in titles:
            title = titles[str(part.value)]
            message = f"{title} starts pods of no group one by one, and this makes no group (docs/systems.md)"
            yield mutation.policy.within(place, part, message)

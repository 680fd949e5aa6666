"""A toleration for a taint that no known node has. It needs `--topology` or `--simulate`.

The rule compares only keys that are written as literals. A toleration of a taint that no node has changes nothing. The
key is misspelled, or another provider uses it, or the node group with this taint has no nodes now.

Bad, on a cluster whose GPU nodes are tainted nvidia.com/gpu:

    mutations:
    - tolerations: "[{'key': 'nvidia.com/gpus', 'operator': 'Exists', 'effect': 'NoSchedule'}]"

Good:

    mutations:
    - tolerations: "[{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]"
"""

from collections.abc import Iterator

from ...cel.tree import Entries, Literal
from ...errors import Problem
from ...words import did_you_mean
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each key of a toleration that no taint of a known node has."""
    if not library.nodes:
        return
    known = sorted({taint.key for node in library.nodes for taint in node.taints})
    for mutation, place, part in library.parts("tolerations"):
        key = part.get("key") if isinstance(part, Entries) else None
        if isinstance(key, Literal) and isinstance(key.value, str) and key.value not in ("", *known):
            meant = did_you_mean(key.value, known)
            yield mutation.policy.within(place, part, f"no known node has the taint {key.value}{meant}")

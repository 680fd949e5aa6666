"""A label or annotation under a prefix that is Kubernetes' or podberth's own.

`kubernetes.io/` and `k8s.io/`, with all that ends in them, are for Kubernetes itself
(https://kubernetes.io/docs/reference/labels-annotations-taints/); under `podberth.io/` podberth writes, and reads what
users write. A gang is written by a mutation of kind `gang`. Use a domain of your own.

Bad:

    mutations:
    - labels: {podberth.io/team: "'research'"}

Good:

    mutations:
    - labels: {example.com/team: "'research'"}
"""

from collections.abc import Iterator

from ...errors import Problem
from ..model import Level, Library

LEVEL = Level.WARNING

_RESERVED = ("kubernetes.io", "k8s.io", "podberth.io")


def check(library: Library) -> Iterator[Problem]:
    """Yield keys that mutations write and should not."""
    for mutation in library.mutations:
        if mutation.source.concern not in ("labels", "annotations"):
            continue
        for leaf in mutation.leaves:
            domain = leaf.name.rpartition("/")[0]
            taken = next((each for each in _RESERVED if domain == each or domain.endswith(f".{each}")), None)
            if taken:
                message = f"{taken} is not the policy's to write under; use a domain of your own"
                yield mutation.policy.problem((*mutation.path, *leaf.path), message, of_key=True)

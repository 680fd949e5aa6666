"""A label or annotation under a prefix of Kubernetes or of podberth.

`kubernetes.io/` and `k8s.io/`, and every prefix that ends in them, belong to Kubernetes
(https://kubernetes.io/docs/reference/labels-annotations-taints/). The keys under `podberth.io/` are podberth's: it
writes some of them, and reads those that users write. Use the mutation `gang` for a gang's label, and a domain of your
own for other keys.

Bad:

    mutations:
    - labels: {podberth.io/team: "'research'"}

Good:

    mutations:
    - labels: {example.com/team: "'research'"}
"""

from collections.abc import Iterator

from ...errors import Problem
from ..findings import Library

_RESERVED = ("kubernetes.io", "k8s.io", "podberth.io")


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each key with a reserved prefix that a mutation writes."""
    for mutation, leaf in library.leaves("labels", "annotations"):
        domain = leaf.name.rpartition("/")[0]
        taken = next((each for each in _RESERVED if domain == each or domain.endswith(f".{each}")), None)
        if taken:
            message = f"{taken} is not the policy's to write under; use a domain of your own"
            yield mutation.policy.problem((*mutation.path, *leaf.path), message, of_key=True)

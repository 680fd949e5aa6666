"""A label or annotation under a prefix of Kubernetes or of podberth.

`kubernetes.io/` and `k8s.io/`, and every prefix that ends in them, belong to Kubernetes
(https://kubernetes.io/docs/reference/labels-annotations-taints/). The keys under `podberth.io/` are podberth's: it
writes some of them, and reads those that users write. Use the mutation `gang` for a gang's label, and a domain of your
own for other keys. What Kubernetes reads from the author of a pod, such as
`cluster-autoscaler.kubernetes.io/safe-to-evict`, is free.

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
# kubernetes/autoscaler cluster-autoscaler/FAQ.md; kubernetes pkg/apis/core/annotation_key_constants.go;
# kubernetes-sigs/descheduler README.md
_OF_AUTHORS = frozenset(
    {
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
        "controller.kubernetes.io/pod-deletion-cost",
        "descheduler.alpha.kubernetes.io/evict",
    }
)


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each key with a reserved prefix that a mutation writes."""
    for mutation, leaf in library.leaves("labels", "annotations"):
        domain = leaf.name.rpartition("/")[0]
        taken = next((each for each in _RESERVED if domain == each or domain.endswith(f".{each}")), None)
        if taken and leaf.name not in _OF_AUTHORS:
            message = f"{taken} is not the policy's to write under; use a domain of your own"
            yield mutation.policy.problem((*mutation.path, *leaf.path), message, of_key=True)

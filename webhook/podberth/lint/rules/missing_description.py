"""A policy without a description.

`podberth policies list`, reports and dashboards show the description: one sentence, for a reader who has never seen the
policy.

Bad:

    description: ""
    mutations:
    - tolerations: topology.nodes(gpu).tolerations

Good:

    description: A pod with GPUs tolerates the GPU taints of the nodes that it fits on.
    mutations:
    - tolerations: topology.nodes(gpu).tolerations
"""

from collections.abc import Iterator

from ...errors import Problem
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each policy without a description; a policy that only turns one off needs none."""
    for policy in library.policies:
        if not policy.spec.description.strip() and not policy.spec.disabled:
            yield policy.problem(("spec", "description"), "want a sentence that says what the policy is for")

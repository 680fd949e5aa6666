"""An exception that names a policy that is not among the policies beside it.

podberth accepts such an exception, because the policy may come later. Until then the name has no effect, and a policy
with a similar name still decides. If exceptions are linted without policies, the rule finds nothing.

Bad:

    apiVersion: podberth.io/v1alpha1
    kind: GPUPolicy
    metadata: {name: whole-gpus}
    spec:
      description: Whole GPUs are labelled.
      mutations:
      - labels: {example.com/vendor: gpu.vendor}
    ---
    apiVersion: podberth.io/v1alpha1
    kind: GPUPolicyException
    metadata: {name: pinned}
    spec:
      policies: [whole-gpu]
      namespaces: [vision]
      reason: The driver is pinned.
      requestedBy: team-vision
      expiresAt: "2027-03-31T00:00:00Z"

Good:

    apiVersion: podberth.io/v1alpha1
    kind: GPUPolicy
    metadata: {name: whole-gpus}
    spec:
      description: Whole GPUs are labelled.
      mutations:
      - labels: {example.com/vendor: gpu.vendor}
    ---
    apiVersion: podberth.io/v1alpha1
    kind: GPUPolicyException
    metadata: {name: pinned}
    spec:
      policies: [whole-gpus]
      namespaces: [vision]
      reason: The driver is pinned.
      requestedBy: team-vision
      expiresAt: "2027-03-31T00:00:00Z"
"""

from collections.abc import Iterator

from ...errors import Problem
from ...policy.exceptions import of_unknown
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each name in an exception that no policy has; nothing if there are no policies."""
    if library.names:
        yield from of_unknown(library.exceptions, library.names)

"""A policy of scope All, which needs the component `all-pods` for pods without GPUs.

As installed, the webhook configurations send only pods with extended resources, with ResourceClaims, or of a gang. The
policy never sees other pods, and no user gets a message about it. The component `all-pods` sends every pod. A policy
that needs only the pods that are sent as installed has the annotation `podberth.io/needs-every-pod: "false"`.

Bad, unless the component is installed:

    scope: All
    validations:
    - {expression: object.spec.containers.size() < 10, message: too many containers}
    validationActions: [Deny]

Good:

    apiVersion: podberth.io/v1alpha1
    kind: GPUPolicy
    metadata:
      name: example
      annotations: {podberth.io/needs-every-pod: "false"}
    spec:
      description: A pod of a sharing dialect has few containers.
      scope: All
      validations:
      - {expression: object.spec.containers.size() < 10, message: too many containers}
      validationActions: [Deny]
"""

from collections.abc import Iterator

from ...admission.snapshot import count_needing_every_pod
from ...errors import Problem
from ...wellknown import NEEDS_EVERY_POD_ANNOTATION
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for the scope of each policy that needs the reviews of all pods."""
    for policy in library.policies:
        if any(count_needing_every_pod((policy.compiled,)).values()):
            message = (
                f"pods without GPUs are sent only with the component all-pods; "
                f'install it, or set the annotation {NEEDS_EVERY_POD_ANNOTATION} to "false"'
            )
            yield policy.problem(("spec", "scope"), message)

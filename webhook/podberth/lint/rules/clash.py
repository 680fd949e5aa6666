"""Two policies that write the same field of the pod, such as a label, from different expressions.

On a pod that both policies match, the value of the policy that is applied first is kept, and the user gets a warning.
Whether any pod matches both policies depends on their conditions, so the finding is a warning and no error. There is
none about a policy whose match conditions name the field, for they see what earlier policies wrote.
docs/mutations.md describes the result in "Two policies that write one field".

Bad:

    apiVersion: podberth.io/v1alpha1
    kind: GPUPolicy
    metadata: {name: first}
    spec:
      description: Says who pays.
      mutations:
      - labels: {example.com/payer: "'research'"}
    ---
    apiVersion: podberth.io/v1alpha1
    kind: GPUPolicy
    metadata: {name: second}
    spec:
      description: Says who pays, too.
      mutations:
      - labels: {example.com/payer: "'production'"}

Good:

    mutations:
    - labels: {example.com/payer: "gpu.count > 8 ? 'research' : 'production'"}
"""

from collections.abc import Iterator

from ...errors import Problem
from ...policy.clashes import clashes
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a warning at each field that an earlier policy writes from a different expression."""
    yield from clashes(policy.parsed for policy in library.policies)

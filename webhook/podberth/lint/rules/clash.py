"""Two policies that write one label, annotation, variable or name from different expressions.

On a pod that meets both, the value of the first in order stays and the user is warned. Whether one pod ever meets both
is in their conditions: so it is a note. docs/policy.md, "Two policies that write one field", says what happens.

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
from ..model import Level, Library

LEVEL = Level.NOTE


def check(library: Library) -> Iterator[Problem]:
    """Yield a note at each later policy."""
    yield from clashes(policy.parsed for policy in library.policies)

"""A policy that cannot be loaded, because of its YAML, fields, names or types.

The rule reports everything that `podberth serve` would refuse at its start: text that is not YAML, unknown fields and
values, anything that ValidatingAdmissionPolicy refuses, an expression that does not parse or does not type-check, a
policy above the limit of cost. The rule also reports what the API server would refuse in a ValidatingAdmissionPolicy, a
MutatingAdmissionPolicy or their bindings.

Of the other rules, only missing-tests and unknown-policy read documents that cannot be loaded. If a policy's only
problems are wrong expressions, the warnings of all rules about what does not depend on these are reported, too.

Bad:

    mutations:
    - labels: {example.com/vendor: gpu.vender}

Good:

    mutations:
    - labels: {example.com/vendor: gpu.vendor}
"""

from collections.abc import Iterator

from ...errors import Problem
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield the problems that were found when the policies were parsed and compiled."""
    yield from library.problems

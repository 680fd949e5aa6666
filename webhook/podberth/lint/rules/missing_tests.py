"""A policy without tests beside it.

`podberth test` runs the `tests.yaml` of a policy's folder: pods, their cluster, and the expected results. A policy
without tests is tried in production. `podberth policies init` writes a first `tests.yaml`.

Bad, a folder like this:

    policies/payer/policy.yaml

Good:

    policies/payer/policy.yaml
    policies/payer/tests.yaml
"""

from collections.abc import Iterator

from ...errors import Problem
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each policy whose folder has no tests; a policy that only turns one off needs none."""
    said = "got no tests.yaml beside the policy, want one (docs/testing.md)"
    for each in library.untested:
        yield each.positions.problem(each.file, ("metadata", "name"), said)

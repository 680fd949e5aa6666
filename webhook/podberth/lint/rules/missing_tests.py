"""A policy without tests beside it.

`podberth test` runs the `tests.yaml` of a policy's folder: pods, the cluster that they meet, what must come of them. A
policy without one is tried in production. `podberth policies init` writes a first one.

Bad, a folder like this:

    policies/payer/policy.yaml

Good:

    policies/payer/policy.yaml
    policies/payer/tests.yaml
"""

from collections.abc import Iterator

from ...errors import Problem
from ..model import Level, Library

LEVEL = Level.WARNING


def check(library: Library) -> Iterator[Problem]:
    """Yield policies in whose folder no tests stand."""
    for policy in library.policies:
        if not policy.tested:
            said = "got no tests.yaml beside the policy, want one (docs/testing.md)"
            yield policy.problem(("metadata", "name"), said)

"""An expression that may take half of what the whole policy may take of a worker.

The bound is for the largest pod that podberth takes, and worked out without running anything: 100 ms for a policy
(docs/policy.md, "CEL: the language and its limits"). A second expression like it and the policy is refused.

Bad:

    validations:
    - expression: "!object.metadata.?annotations[?'path'].orValue('').replace('/', '//').contains('//staging//')"
      message: what is of staging stays in staging
    validationActions: [Warn]

Good:

    validations:
    - expression: "!object.metadata.?annotations[?'path'].orValue('').contains('/staging/')"
      message: what is of staging stays in staging
    validationActions: [Warn]
"""

from collections.abc import Iterator

from ...errors import Problem
from ..costs import problems_of
from ..model import Level, Library

LEVEL = Level.WARNING


def check(library: Library) -> Iterator[Problem]:
    """Return the dear expressions, at their dearest part."""
    return problems_of(library, "dear")

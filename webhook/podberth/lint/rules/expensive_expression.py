"""An expression that alone may take half of the time limit of a policy.

The limit is 100 ms for a policy (docs/expressions.md, "The language and its limits"). The time is computed for the
largest pod that podberth accepts, without running anything. A policy with two such expressions may be refused.

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
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each expression of the most expensive class, at the expression's most expensive part."""
    return problems_of(library, "expensive")

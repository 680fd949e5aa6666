"""An expression that may take more than a hundredth of the time that a whole policy may take.

This is no fault: on common pods the expression takes microseconds. The time is computed for the largest pod that
podberth accepts. `podberth lint --costs` lists the cost of every expression.

Bad:

    validations:
    - expression: object.spec.containers.all(c, c.?env.orValue([]).all(e, e.name != 'DEBUG'))
      message: no debugging here
    validationActions: [Warn]

Good:

    validations:
    - expression: object.spec.containers.size() < 10
      message: too many containers
    validationActions: [Warn]
"""

from collections.abc import Iterator

from ...errors import Problem
from ..costs import problems_of
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each expression of the class ``moderate``, at the expression's most expensive part."""
    return problems_of(library, "moderate")

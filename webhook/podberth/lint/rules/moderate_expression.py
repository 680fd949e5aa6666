"""An expression that may take more than a hundredth of what the whole policy may take.

Nothing is wrong with it: on common pods it is a matter of microseconds. `podberth lint --costs` has the figures of all
expressions. The bound is for the largest pod that podberth takes.

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
from ..model import Level, Library

LEVEL = Level.NOTE


def check(library: Library) -> Iterator[Problem]:
    """Return the moderate expressions, at their dearest part."""
    return problems_of(library, "moderate")

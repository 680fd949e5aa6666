"""What cannot be loaded at all: YAML, fields, names, types.

Everything that `podberth serve` would refuse at its start: text that is no YAML, unknown fields and values, what
ValidatingAdmissionPolicy refuses, an expression that does not parse or does not type-check, a policy that costs more
than a policy may. Other rules look only at policies that can be loaded.

Bad:

    mutations:
    - labels: {example.com/vendor: gpu.vender}

Good:

    mutations:
    - labels: {example.com/vendor: gpu.vendor}
"""

from collections.abc import Iterator

from ...errors import Problem
from ..model import Level, Library

LEVEL = Level.ERROR


def check(library: Library) -> Iterator[Problem]:
    """Yield what parsing and compiling found."""
    yield from library.problems

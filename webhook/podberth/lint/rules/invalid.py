"""A policy that cannot be loaded, because of its YAML, fields, names or types.

The rule reports everything that `podberth serve` would refuse at its start: text that is not YAML, unknown fields and
values, anything that ValidatingAdmissionPolicy refuses, expressions that do not parse or do not type-check, policies
above the limit of cost. Other rules check only policies that can be loaded.

Bad:

    mutations:
    - labels: {example.com/vendor: gpu.vender}

Good:

    mutations:
    - labels: {example.com/vendor: gpu.vendor}
"""

from collections.abc import Iterator

from ...errors import Problem
from ..findings import Level, Library

LEVEL = Level.ERROR


def check(library: Library) -> Iterator[Problem]:
    """Yield the problems of parsing and compiling the policies."""
    yield from library.problems

"""A literal that a function refuses, so that the expression fails for each pod that reaches it.

The functions are those that read a text: `quantity`, `duration`, `timestamp`, `semver`, `ip`, `cidr`, `url`, and the
regular expressions of `matches`, `find` and `findAll`.

Bad:

    validations:
    - {expression: "!quantity('8GB').isLessThan(quantity(string(gpu.memoryMiB) + 'Mi'))", message: want less}
    validationActions: [Deny]

Good:

    validations:
    - {expression: "!quantity('8Gi').isLessThan(quantity(string(gpu.memoryMiB) + 'Mi'))", message: want less}
    validationActions: [Deny]
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from ...cel.engine import CompileError, Environment, ReviewContext
from ...cel.tree import Call, Literal, Tree
from ...cel.types import Want
from ...errors import EvaluationError, Problem
from ...topology.index import TopologyIndex
from ...topology.need import Need
from ..findings import Level, Library
from ..places import parts_of

LEVEL = Level.ERROR

# Each function with the index of the operand that it reads, an expression that reads the same text, and what it takes.
_READERS: Final[Mapping[str, tuple[int, str, str]]] = {
    "quantity": (0, "quantity({})", "a Kubernetes quantity, as in 500m, 8G or 8Gi"),
    "duration": (0, "duration({})", "numbers with the units h, m, s and ms, as in 1h30m"),
    "timestamp": (0, "timestamp({})", "a time by RFC 3339, as in 2026-01-31T12:00:00Z"),
    "semver": (0, "semver({})", "major.minor.patch, as in 1.2.3"),
    "ip": (0, "ip({})", "an IP address"),
    "cidr": (0, "cidr({})", "an address with the length of its prefix, as in 10.0.0.0/8"),
    "url": (0, "url({})", "an absolute URL or path"),
    **{name: (1, f"''.{name}({{}})", "a regular expression of RE2") for name in ("matches", "find", "findAll")},
}


def check(library: Library) -> Iterator[Problem]:
    """Yield each literal argument that its function refuses."""
    for policy in library.policies:
        for path, part, _ in parts_of(policy):
            if isinstance(part, Call) and part.function in _READERS:
                read, said = _refused(policy.environment, part)
                if said:
                    yield policy.within(path, read, said)


def _refused(environment: Environment, call: Call) -> tuple[Tree, str]:
    """Return the literal that a function of ``_READERS`` reads, and why it is refused; empty if it is not."""
    place, reader, want = _READERS[call.function]
    # With more operands, such as semver's second, the function reads the text otherwise.
    read = call.operands[place] if len(call.operands) == place + 1 else call
    if not isinstance(read, Literal) or not isinstance(read.value, str):
        return read, ""
    nothing = environment.activation({}, ReviewContext(TopologyIndex.build(()), Need()))
    try:
        environment.compile(reader.format(json.dumps(read.value, ensure_ascii=False)), want=Want.ANY).evaluate(nothing)
    except (CompileError, EvaluationError) as error:
        why = f" ({error})" if place else ""
        return read, f"got {read.value!r}, want {want}{why}"
    return read, ""

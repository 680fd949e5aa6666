"""A literal that a function refuses, so that the expression fails for each pod that reaches it.

The functions are those that read a text: `quantity`, `duration`, `timestamp`, `semver`, `ip`, `cidr`, `url`, and the
regular expressions of `matches`, `find` and `findAll`.

Bad:

    validations:
    - {expression: "quantity('8GB').isGreaterThan(quantity('1Gi'))", message: want more}
    validationActions: [Deny]

Good:

    validations:
    - {expression: "gpu.count < 9 || quantity('8G').isGreaterThan(quantity('1Gi'))", message: want more}
    validationActions: [Deny]
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from ...cel.engine import CompileError, Environment, ReviewContext
from ...cel.tree import Call, Literal
from ...cel.types import Want
from ...errors import EvaluationError, Problem
from ...topology.index import TopologyIndex
from ...topology.need import Need
from ..findings import Level, Library
from ..places import parts_of

LEVEL = Level.ERROR

# Each function with the index of the operand that it reads, and an expression that reads the same text.
_READERS: Final[Mapping[str, tuple[int, str]]] = {
    **{name: (0, f"{name}({{}})") for name in ("quantity", "duration", "timestamp", "semver", "ip", "cidr", "url")},
    **{name: (1, f"''.{name}({{}})") for name in ("matches", "find", "findAll")},
}


def check(library: Library) -> Iterator[Problem]:
    """Yield each literal argument that its function refuses."""
    for policy in library.policies:
        for path, part, _ in parts_of(policy):
            if isinstance(part, Call) and part.function in _READERS:
                place, reader = _READERS[part.function]
                read = part.operands[place] if place < len(part.operands) else None
                if isinstance(read, Literal) and isinstance(read.value, str):
                    said = _refusal(policy.environment, reader.format(json.dumps(read.value, ensure_ascii=False)))
                    if said:
                        yield policy.within(path, read, said)


def _refusal(environment: Environment, source: str) -> str:
    """Return why an expression without variables fails; empty if it has a value."""
    nothing = environment.activation({}, ReviewContext(TopologyIndex.build(()), Need()))
    try:
        environment.compile(source, want=Want.ANY).evaluate(nothing)
    except (CompileError, EvaluationError) as error:
        return f"{source}: {error}"
    return ""

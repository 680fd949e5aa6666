"""A literal argument that a function refuses, so that the evaluation of the expression fails.

The rule checks the functions that parse a text: `quantity`, `semver`, `ip`, `cidr` and `url`. If `duration`,
`timestamp` or another conversion refuses a literal, or a pattern is no regular expression, the policy is not loaded,
and the rule invalid reports it.

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

from ...cel.engine import Environment, ReviewContext
from ...cel.tree import Call, Literal, Tree
from ...cel.types import Want
from ...errors import EvaluationError, Problem
from ...topology.index import TopologyIndex
from ...topology.need import Need
from ..findings import Library
from ..places import parts_of

# Each function with the text that it wants. ``cel.constants`` has the functions whose literals the compiler checks.
_READERS: Final[Mapping[str, str]] = {
    "quantity": "a Kubernetes quantity, as in 500m, 8G or 8Gi",
    "semver": "major.minor.patch, as in 1.2.3",
    "ip": "an IP address",
    "cidr": "an address with the length of its prefix, as in 10.0.0.0/8",
    "url": "an absolute URL or path",
}


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each literal argument that the called function refuses."""
    for policy in library.every:
        for path, part, _ in parts_of(policy):
            if isinstance(part, Call) and part.function in _READERS:
                read, said = _refused(policy.environment, part)
                if said:
                    yield policy.within(path, read, said)


def _refused(environment: Environment, call: Call) -> tuple[Tree, str]:
    """Return (argument that the called function refuses, reason); the reason is empty if the argument is accepted."""
    want, read = _READERS[call.function], call.operands[0]
    # With a second operand, semver parses the text differently.
    if len(call.operands) > 1 or not isinstance(read, Literal) or not isinstance(read.value, str):
        return read, ""
    nothing = environment.activation({}, ReviewContext(TopologyIndex.build(()), Need()))
    source = f"{call.function}({json.dumps(read.value, ensure_ascii=False)})"
    try:
        environment.compile(source, want=Want.ANY).evaluate(nothing)
    except EvaluationError:
        return read, f"got {read.value!r}, want {want}"
    return read, ""

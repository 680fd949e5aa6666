"""A limit on `gpu.count` that a pod passes by asking for its devices with ResourceClaims.

`gpu.count` and `gpu.perContainer` count extended resources. Devices of claims are in `gpu.claims`, and their number may
be unknown. The rule looks at validations that compare these fields by order, in policies that read neither `gpu.claims`
nor `gpu.kind`.

Bad:

    validations:
    - {expression: gpu.count <= 8, message: at most 8 GPUs}
    validationActions: [Deny]

Good:

    validations:
    - {expression: gpu.count <= 8 && gpu.claims.size() == 0, message: at most 8 GPUs and no claims}
    validationActions: [Deny]
"""

from collections.abc import Iterator
from typing import Final

from ...cel.tree import Call
from ...errors import Problem
from ..findings import Level, Library
from ..places import parts_of, where

LEVEL = Level.NOTE

_ORDERS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_COUNTS: Final = (("gpu", "count"), ("gpu", "perContainer"))
_OF_CLAIMS: Final = (("gpu", "claims"), ("gpu", "kind"))


def check(library: Library) -> Iterator[Problem]:
    """Yield the limits of a denying policy that leave out claims."""
    for policy in library.policies:
        if "Deny" not in policy.spec.validation_actions:
            continue
        parts = list(parts_of(policy))
        if any((where(policy, part, scope) or ())[:2] in _OF_CLAIMS for _, part, scope in parts):
            continue
        for path, part, scope in parts:
            if path[1] == "validations" and isinstance(part, Call) and part.function in _ORDERS:
                counted = [each for each in part.operands if where(policy, each, scope) in _COUNTS]
                for each in counted:
                    yield policy.within(path, each, "devices of ResourceClaims are not counted; see gpu.claims")

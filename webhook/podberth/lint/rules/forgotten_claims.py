"""A limit on `gpu.count` that a pod evades by asking for its devices with ResourceClaims.

`gpu.count` and `gpu.perContainer` count extended resources. Devices of claims are in `gpu.claims`, and their number may
be unknown. The rule finds validations such as `gpu.count <= 8`, also joined by `&&`, in policies that read neither
`gpu.claims` nor `gpu.kind` nor the pod's `resourceClaims`.

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

from ...cel.tree import Call, Select, Tree
from ...errors import Problem
from ..findings import Library, Linted
from ..places import Scope, parts_of, where

_COUNTS: Final = (("gpu", "count"), ("gpu", "perContainer"))
_OF_CLAIMS: Final = (("gpu", "claims"), ("gpu", "kind"), ("object", "spec", "resourceClaims"))
_SAID: Final = "leaves out devices of ResourceClaims; add gpu.claims.size() == 0, or count gpu.claims"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each limit on GPU counts in a policy that denies pods and does not read claims."""
    for policy in library.policies:
        if "Deny" not in policy.spec.validation_actions:
            continue
        if any(_asks_for_claims(policy, part, scope) for _, part, scope in parts_of(policy)):
            continue
        for index, validation in enumerate(policy.spec.validations):
            for limited in _limits(policy, policy.tree(validation.expression)):
                place = ("spec", "validations", index, "expression")
                yield policy.within(place, limited, f"{'.'.join(where(policy, limited, {}) or ())} {_SAID}")


def _asks_for_claims(policy: Linted, part: Tree, scope: Scope) -> bool:
    asked = Select(operand=part.operand, field=part.field, asks=False) if isinstance(part, Select) else part
    found = where(policy, asked, scope) or ()
    return any(found[: len(each)] == each for each in _OF_CLAIMS)


def _limits(policy: Linted, tree: Tree) -> Iterator[Tree]:
    """Yield each GPU count to which an expression sets an upper limit; limits may be joined by ``&&``."""
    match tree:
        case Call(function="_&&_", operands=operands):
            for each in operands:
                yield from _limits(policy, each)
        case Call(function="_<_" | "_<=_", operands=(count, _)) | Call(function="_>_" | "_>=_", operands=(_, count)):
            if where(policy, count, {}) in _COUNTS:
                yield count
        case _:
            return

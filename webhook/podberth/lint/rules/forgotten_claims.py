"""A limit on `gpu.count` that a pod evades by asking for its devices with ResourceClaims.

`gpu.count` and `gpu.perContainer` count extended resources. `gpu.devices` counts the devices of claims as well, but a
claim for an unknown number of devices as one. The rule finds validations such as `gpu.count <= 8`, also joined by `&&`,
in policies that read neither `gpu.devices` nor `gpu.claims` nor `gpu.kind` nor the pod's `resourceClaims`. It finds a
limit on `gpu.devices`, too, in policies that do not read `gpu.claims`.

Bad:

    validations:
    - {expression: gpu.count <= 8, message: at most 8 GPUs}
    validationActions: [Deny]

Good:

    validations:
    - {expression: gpu.devices <= 8, message: at most 8 GPUs}
    - {expression: "gpu.claims.all(c, c.kind == 'none' || c.count > 0)", message: a claim has to say how many}
    validationActions: [Deny]
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ...cel.tree import Call, Select, Tree
from ...errors import Problem
from ..findings import Library, Linted
from ..places import Scope, parts_of, where

_DEVICES: Final = ("gpu", "devices")
_OF_CLAIMS: Final = (_DEVICES, ("gpu", "claims"), ("gpu", "kind"), ("object", "spec", "resourceClaims"))
_SAID: Final[Mapping[tuple[str, ...], str]] = {
    **dict.fromkeys(
        (("gpu", "count"), ("gpu", "perContainer")),
        "leaves out devices of ResourceClaims; limit gpu.devices, or add gpu.claims.size() == 0",
    ),
    _DEVICES: (
        "counts a claim for an unknown number as one; "
        "add a validation gpu.claims.all(c, c.kind == 'none' || c.count > 0)"
    ),
}
"""The message about an upper limit on each count."""


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each limit on GPU counts in a policy that denies pods and does not read claims."""
    for policy in library.policies:
        if "Deny" not in policy.spec.validation_actions:
            continue
        read = {each for _, part, scope in parts_of(policy) for each in _of_claims(policy, part, scope)}
        if read - {_DEVICES}:
            continue
        for index, validation in enumerate(policy.spec.validations):
            for limited in _limits(policy, policy.tree(validation.expression)):
                count = tuple(where(policy, limited, {}) or ())
                if count == _DEVICES or not read:
                    place = ("spec", "validations", index, "expression")
                    yield policy.within(place, limited, f"{'.'.join(count)} {_SAID[count]}")


def _of_claims(policy: Linted, part: Tree, scope: Scope) -> Iterator[tuple[str, ...]]:
    """Yield the path of ``_OF_CLAIMS`` that a part of an expression reads, if it reads one."""
    asked = Select(operand=part.operand, field=part.field, asks=False) if isinstance(part, Select) else part
    found = where(policy, asked, scope) or ()
    yield from (each for each in _OF_CLAIMS if found[: len(each)] == each)


def _limits(policy: Linted, tree: Tree) -> Iterator[Tree]:
    """Yield each GPU count to which an expression sets an upper limit; limits may be joined by ``&&``."""
    match tree:
        case Call(function="_&&_", operands=operands):
            for each in operands:
                yield from _limits(policy, each)
        case Call(function="_<_" | "_<=_", operands=(count, _)) | Call(function="_>_" | "_>=_", operands=(_, count)):
            if where(policy, count, {}) in _SAID:
                yield count
        case _:
            return

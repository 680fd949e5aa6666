"""A field that a pod may lack, read without a question whether it is there.

The expression fails for a pod without the field, and under failurePolicy Fail that pod is refused. A field counts as
guarded if the policy asks for it anywhere: with `has()`, with `in`, or by `.?` and `[?...]`. Fields that every pod has
when a webhook gets it (a container's name, `restartPolicy`, the tolerations of the API server) are left alone.

Bad:

    validations:
    - {expression: "object.metadata.labels['team'] != ''", message: want a team}
    validationActions: [Deny]

Good:

    validations:
    - {expression: "object.metadata.?labels[?'team'].orValue('') != ''", message: want a team}
    validationActions: [Deny]
"""

from collections.abc import Iterator
from typing import Final

from ...cel.tree import Call, Literal, Select, Tree
from ...errors import Problem
from ...kube.paths import ELEMENT
from ..findings import Level, Library, Linted
from ..places import Scope, Where, parts_of, where

LEVEL = Level.WARNING

_OPTIONAL: Final = frozenset({"_?._", "_[?_]"})
# What the API server always writes or sets before it asks webhooks: kubernetes pkg/apis/core/v1/defaults.go, the fields
# of api core/v1 types.go without omitempty, and the admission plugins ServiceAccount, Priority and
# DefaultTolerationSeconds, which are on by default.
_ALWAYS: Final = frozenset(
    {
        *("metadata", "spec", "name", "namespace", "uid", "kind", "apiVersion", "containers", "resources"),
        *("restartPolicy", "dnsPolicy", "schedulerName", "securityContext", "terminationGracePeriodSeconds"),
        *("enableServiceLinks", "serviceAccountName", "serviceAccount", "tolerations", "priority", "preemptionPolicy"),
        *("image", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"),
        *("mountPath", "containerPort", "protocol", "controller", "nodeSelectorTerms", "topologyKey", "maxSkew"),
        *("whenUnsatisfiable", "weight", "preference", "podAffinityTerm", "conditionType"),
    }
)
# core/v1 NodeSelectorRequirement: key and operator are always there, and the operators In and NotIn need values.
_SELECTORS: Final = frozenset({"matchExpressions", "matchFields"})


def check(library: Library) -> Iterator[Problem]:
    """Yield each read of an optional field of the pod for which the policy never asks."""
    for policy in library.policies:
        parts = list(parts_of(policy))
        asked = {found for _, part, scope in parts for found in _asked(policy, part, scope)}
        guarded = {each[:length] for each in asked for length in range(1, len(each) + 1)}
        seen: set[Where] = set()
        for path, part, scope in parts:
            found = _read(policy, part, scope)
            if found is not None and found not in guarded and found not in seen:
                seen.add(found)
                name = ".".join(step for step in found[1:] if step != ELEMENT)
                yield policy.within(path, part, f"a pod may have no {name}; want has(), in, .? or [?...]")


def _asked(policy: Linted, part: Tree, scope: Scope) -> Iterator[Where]:
    """Yield the path of the field for whose presence a part asks."""
    match part:
        case Select(operand=operand, field=field, asks=True):
            base, key = where(policy, operand, scope), field
        case Call(function="@in", operands=(Literal(value=str() as key), operand)):
            base = where(policy, operand, scope)
        case Call(function=function, operands=(operand, Literal(value=str() as key))) if function in _OPTIONAL:
            base = where(policy, operand, scope)
        case _:
            return
    if base is not None:
        yield (*base, key)


def _read(policy: Linted, part: Tree, scope: Scope) -> Where | None:
    """Return the path of an optional field of the pod whose absence makes a part fail; None for any other part."""
    match part:
        case Select(operand=operand, field=key, asks=False):
            pass
        case Call(function="_[_]", operands=(operand, Literal(value=str() as key))):
            pass
        case _:
            return None
    base = None if key in _ALWAYS or _is_optional(operand) else where(policy, operand, scope)
    if base is None or base[0] != "object" or _SELECTORS.intersection(base):
        return None
    return (*base, key)


def _is_optional(tree: Tree) -> bool:
    """Return whether an expression has an optional value, of which an absent field is no error."""
    match tree:
        case Call(function=function) if function in _OPTIONAL:
            return True
        case Select(operand=operand) | Call(function="_[_]", operands=(operand, _)):
            return _is_optional(operand)
        case _:
            return False

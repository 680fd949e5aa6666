"""A field that a pod may lack, and that an expression reads without a check for its presence.

The expression fails for a pod without the field, and under failurePolicy Fail that pod is refused. A field counts as
checked if the policy has a check for it anywhere: `has()`, `in`, `.?`, `[?...]`, a loop over the map, or an
objectSelector. `has(a.b.c)` checks `c`, and fails if `b` is absent. A variable stands for the field that it reads, and
so do `a.filter(...)`, `a + b` and `has(a) ? a : {}` for the field `a`. The rule does not report fields that every pod
has when a webhook gets it, such as a container's name, `restartPolicy` or the tolerations of the API server.

Bad:

    validations:
    - {expression: "object.metadata.labels['team'] != ''", message: want a team}
    validationActions: [Deny]

Good:

    validations:
    - {expression: "object.metadata.?labels[?'team'].orValue('') != ''", message: want a team}
    validationActions: [Deny]
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ...cel.tree import Call, Literal, Loop, Name, Select, Tree
from ...errors import Problem
from ...kube.paths import ELEMENT, FieldPath, Path
from ..conditions import variable
from ..findings import Library, Linted
from ..places import Scope, holder, is_map, parts_of, shown, where

_OPTIONAL: Final = frozenset({"_?._", "_[?_]"})
_NAME: Final[FieldPath] = ("object", "metadata", "name")
_LABELS: Final[FieldPath] = ("object", "metadata", "labels")
# The fields that a Pod always has when webhooks get it, by type. Sources: the fields of kubernetes/api core/v1 types.go
# without omitempty, pkg/apis/core/v1/defaults.go, and the admission plugins ServiceAccount, Priority and
# DefaultTolerationSeconds, which are on by default. The fields of types that are not listed are not reported.
_ALWAYS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(fields.split())
    for name, fields in {
        "Pod": "apiVersion kind metadata spec",
        "ObjectMeta": "namespace",
        "OwnerReference": "apiVersion kind name uid",
        "PodSpec": "containers restartPolicy dnsPolicy schedulerName securityContext terminationGracePeriodSeconds "
        "enableServiceLinks serviceAccountName serviceAccount tolerations priority preemptionPolicy",
        "Container": "name image imagePullPolicy resources terminationMessagePath terminationMessagePolicy",
        "ContainerPort": "containerPort protocol",
        "ResourceRequirements": "",
        "SecurityContext": "",
        "PodSecurityContext": "",
        "EnvVar": "name",
        "VolumeMount": "name mountPath",
        "Volume": "name",
        "Toleration": "",
        "Affinity": "",
        "NodeAffinity": "",
        "PodAffinity": "",
        "PodAntiAffinity": "",
        "NodeSelectorTerm": "",
        "PodAffinityTerm": "topologyKey",
        "TopologySpreadConstraint": "maxSkew topologyKey whenUnsatisfiable",
        "PodResourceClaim": "name",
    }.items()
}


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each read of an optional field of the pod that the policy never checks for presence.

    Of nested fields, only the outermost is reported.
    """
    for policy in library.on_pods:
        parts = [(path, part, scope) for path, part, scope in parts_of(policy) if path[-1] != "messageExpression"]
        asked = {found for _, part, scope in parts for found in _asked(policy, part, scope)} | _selected(policy)
        # When /validate gets the pod, the API server has already generated its name.
        asked |= set() if policy.spec.mutations or policy.compiled.patches else {_NAME}
        reads: dict[FieldPath, tuple[Path, Tree]] = {}
        for path, part, scope in parts:
            found = _read(policy, part, scope)
            if found is not None and not {found, (*found[:-1], ELEMENT)} & asked:
                reads.setdefault(found, (path, part))
        for found, (path, part) in reads.items():
            if not any(found[:length] in reads for length in range(1, len(found))):
                advice = f"want {_optional(found)}, has() or in"
                yield policy.within(path, part, f"a pod may have no {shown(found)}; {advice}")


def _asked(policy: Linted, part: Tree, scope: Scope) -> Iterator[FieldPath]:
    """Yield the path of the field whose presence a part of an expression checks. ELEMENT in a path is any key."""
    match part:
        case Select(operand=operand, field=key, asks=True):
            pass
        case Call(function="@in", operands=(Literal(value=str() as key), operand)):
            pass
        case Call(function=function, operands=(operand, Literal(value=str() as key))) if function in _OPTIONAL:
            pass
        case Call(function="@in" | "_[?_]", operands=(_, operand) | (operand, _)) | Loop(over=operand):
            key = ELEMENT
        case _:
            return
    base = where(policy, operand, scope)
    if base is not None:
        yield (*base, key)


def _selected(policy: Linted) -> set[FieldPath]:
    """Return the paths of the labels that each matched pod has; the policy's objectSelector requires these labels."""
    selector = policy.spec.match_constraints.object_selector
    keys = [
        *selector.match_labels,
        *(each.key for each in selector.match_expressions if each.operator in ("In", "Exists")),
    ]
    return {_LABELS, *((*_LABELS, key) for key in keys)} if keys else set()


def _read(policy: Linted, part: Tree, scope: Scope) -> FieldPath | None:
    """Return the path of the optional pod field whose absence makes a part of an expression fail; else None."""
    match part:
        case Select(operand=operand, field=key, asks=False):
            pass
        case Call(function="_[_]", operands=(operand, Literal(value=str() as key))):
            pass
        case _:
            return None
    base = None if _is_optional(policy, operand) else where(policy, operand, scope)
    if base is None or base[0] != "object":
        return None
    schema, found = policy.environment.schema, (*base, key)
    if is_map(schema, base):
        return found
    return None if key in _ALWAYS.get(holder(schema, found), {key}) else found


def _is_optional(policy: Linted, tree: Tree) -> bool:
    """Return whether an expression has an optional value; reading an absent field of an optional value is no error."""
    match tree:
        case Name() if (name := variable(tree)) in policy.variables:
            return _is_optional(policy, policy.variables[name])
        case Call(function=function) if function in _OPTIONAL:
            return True
        case Select(operand=operand) | Call(function="_[_]", operands=(operand, _)):
            return _is_optional(policy, operand)
        case _:
            return False


def _optional(found: FieldPath) -> str:
    """Return the last step of a path as an optional selection: ``.?labels``, ``[?'team']``."""
    return f".?{found[-1]}" if found[-1].isidentifier() else f"[?'{found[-1]}']"

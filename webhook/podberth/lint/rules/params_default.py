"""Params that are read and have no default beside the policy.

A ConfigMap in a policy's folder is the default of the policy's params. If there is neither a default nor such an object
in the cluster, podberth skips the policy (`parameterNotFoundAction: Allow`) or denies its pods (`Deny`). A key that
expressions read and the default lacks is misspelled or undocumented. A read of `params` in a policy without a paramKind
is reported, too: `params` is null there. A paramRef without a namespace needs no default, because each namespace has
its own. A ConfigMap outside podberth-system is read only with the label `podberth.io/params: "true"`.

Bad:

    paramKind: {apiVersion: v1, kind: ConfigMap}
    paramRef: {name: weights, namespace: podberth-system, parameterNotFoundAction: Allow}
    mutations:
    - labels: {example.com/payer: "params.data['payer']"}

Good:

    apiVersion: podberth.io/v1alpha1
    kind: GPUPolicy
    metadata: {name: payer}
    spec:
      description: Says who pays.
      paramKind: {apiVersion: v1, kind: ConfigMap}
      paramRef: {name: payer, namespace: podberth-system, parameterNotFoundAction: Allow}
      mutations:
      - labels: {example.com/payer: "params.data['payer']"}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: payer, namespace: podberth-system}
    data: {payer: research}
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...admission.namespace_params import is_read
from ...admission.params import called
from ...cel.tree import Call, Literal, Name, Select, Tree, walk
from ...errors import Problem
from ...kube.paths import Path
from ...wellknown import PARAMS_LABEL
from ..findings import Library, Linted

_INDEX = frozenset({"_[_]", "_[?_]"})


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each paramRef without a default, and each key that expressions read and the default lacks."""
    for policy in library.policies:
        ref = policy.spec.param_ref
        reads = list(_reads(policy))
        if ref is None:
            for path, part, _ in reads[:1]:
                yield policy.within(path, part, "params is null here; want a paramKind and a paramRef")
        elif ref.name is not None:
            default = _default(library, ref.name, ref.namespace)
            if default is None:
                if ref.namespace:
                    message = (
                        f"no ConfigMap {ref.namespace}/{ref.name} stands beside the policies; want the default there"
                    )
                    yield policy.problem(("spec", "paramRef"), message)
            elif not is_read(default):
                message = (
                    f"{called(default)} beside the policies is not read; want the label {PARAMS_LABEL}: 'true' on it"
                )
                yield policy.problem(("spec", "paramRef"), message)
            else:
                yield from _missing(policy, reads, default)


def _default(library: Library, name: str, namespace: str | None) -> Mapping[str, Any] | None:
    found = [each for (space, own), each in library.params.items() if own == name and namespace in (None, space)]
    return found[0] if found else None


def _missing(policy: Linted, reads: list[tuple[Path, Tree, str]], default: Mapping[str, Any]) -> Iterator[Problem]:
    reported: set[str] = set()
    for path, part, key in reads:
        if key and key not in (default.get("data") or {}) and key not in reported:
            reported.add(key)
            yield policy.within(path, part, f"the default ConfigMap has no {key!r}; want it there, or drop it here")


def _reads(policy: Linted) -> Iterator[tuple[Path, Tree, str]]:
    """Yield (path of the expression, part that reads params, key) for each read of params.

    The key is the key of the ConfigMap's ``data``; empty if the key is no literal.
    """
    for placed in policy.expressions:
        if "params" not in placed.source:
            continue
        tree = policy.tree(placed.source)
        keyed = [(part, key) for part in walk(tree) if (key := _key(part))]
        yield from ((placed.path, part, key) for part, key in keyed)
        if not keyed:
            yield from ((placed.path, part, "") for part in walk(tree) if part == Name(name="params"))


def _key(part: Tree) -> str:
    match part:
        case Call(function=function, operands=(operand, Literal(value=str() as key))) if function in _INDEX:
            return key if _is_data(operand) else ""
        case Select(operand=operand, field=field) if _is_data(operand):
            return field
        case _:
            return ""


def _is_data(part: Tree) -> bool:
    match part:
        case Select(operand=Name(name="params"), field="data"):
            return True
        case Call(function="_?._", operands=(Name(name="params"), Literal(value="data"))):
            return True
        case _:
            return False

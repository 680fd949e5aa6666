"""A value that no pod can have, so that podberth or the API server refuses it for each pod.

The rule applies a mutation whose expressions read nothing to an example pod. In other mutations it checks the literals
in tolerations, node affinity and JSON Patch operations: operators, effects, names of fields and paths.

Bad:

    mutations:
    - tolerations: "[{'key': 'nvidia.com/gpu', 'operator': 'Exist', 'effect': 'NoSchedule'}]"

Good:

    mutations:
    - tolerations: "[{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]"
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, get_args

from ...cel.engine import ReviewContext
from ...cel.tree import Call, Entries, Items, Literal, Loop, Tree
from ...errors import EvaluationError, Problem
from ...kube.json_patch import PatchError, Verb, steps_of
from ...kube.patch import Draft
from ...kube.schema import PodSchema
from ...kube.typed import MisfitError, type_at
from ...mutation import pipeline
from ...mutation.change import Proposal
from ...mutation.concern import Surroundings
from ...mutation.membership import NOTHING_KNOWN
from ...topology.index import TopologyIndex
from ...topology.need import Need
from ...words import did_you_mean
from ..findings import Library, LintedMutation

_Shape: TypeAlias = "Mapping[str, frozenset[str] | _Shape | None]"
"""The fields of the maps in a mutation's list, each with the allowed values, or the shape of the maps in its own list.

None if the field may have any value.
"""

# kubernetes/api core/v1 types.go: TolerationOperator, TaintEffect and NodeSelectorOperator, and the fields beside them.
_REQUIREMENT: Final[_Shape] = {
    "key": None,
    "operator": frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}),
    "values": None,
}
_SHAPES: Final[Mapping[str, _Shape]] = {
    "tolerations": {
        "key": None,
        "operator": frozenset({"Exists", "Equal"}),
        "value": None,
        "effect": frozenset({"", "NoSchedule", "PreferNoSchedule", "NoExecute"}),
        "tolerationSeconds": None,
    },
    "nodeAffinity": {"matchExpressions": _REQUIREMENT, "matchFields": _REQUIREMENT},
    "jsonPatch": {"op": frozenset(get_args(Verb)), "path": None, "from": None, "value": None},
}


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each mutation that is refused for every pod.

    In other mutations, yield a problem for each refused literal.
    """
    for mutation in library.mutations:
        if said := _refusal(mutation):
            yield mutation.policy.problem((*mutation.path, mutation.source.concern), said)
        elif shape := _SHAPES.get(mutation.source.concern):
            yield from _found(mutation, shape)


def _found(mutation: LintedMutation, shape: _Shape) -> Iterator[Problem]:
    """Yield a problem for each refused literal in the lists that a mutation's expressions return."""
    policy = mutation.policy
    for leaf in mutation.leaves:
        place, tree = mutation.placed(leaf)
        for item in _items(tree):
            for part, said in _wrong(policy.environment.schema, shape, item):
                yield policy.within(place, part, said)


def _items(tree: Tree) -> Iterator[Entries]:
    """Yield the map literals that are items of the list that an expression returns."""
    match tree:
        case Items(items=items):
            yield from (each for each in items if isinstance(each, Entries))
        case Call(function="_?_:_", operands=(_, *branches)) | Call(function="_+_", operands=branches):
            for each in branches:
                yield from _items(each)
        case Loop(parts=(_, _, step, _)):
            yield from _items(step)
        case _:
            return


def _refusal(mutation: LintedMutation) -> str:
    """Return why a mutation with constant values is refused.

    Empty if the mutation is accepted or a value is computed.
    """
    compiled = mutation.compiled
    if compiled.concern in pipeline.ANYTHING or compiled.facts or any(each.reads for each in compiled.leaves.values()):
        return ""
    environment = mutation.policy.environment
    nothing = environment.activation({}, ReviewContext(TopologyIndex.build(()), Need()))
    surroundings = Surroundings(lambda: NOTHING_KNOWN, "", None, environment.schema)
    example: dict[str, Any] = {"metadata": {}, "spec": {"containers": [{"name": "main"}]}}
    try:
        leaves = {name: each.evaluate(nothing) for name, each in compiled.leaves.items()}
        proposal = Proposal(concern=compiled.concern, leaves={**leaves, **compiled.literals})
        pipeline.apply(Draft(example), proposal, surroundings)
    except EvaluationError as error:
        return f"refused for every pod: {error}"
    return ""


def _wrong(schema: PodSchema, shape: _Shape, item: Entries) -> Iterator[tuple[Tree, str]]:
    """Yield (key or value, problem) for each part of a map literal that the schema or the mutation does not allow."""
    for key, value in item.entries:
        if not isinstance(key, Literal) or not isinstance(key.value, str):
            continue
        name, known = key.value, shape.get(key.value)
        if name not in shape:
            near = did_you_mean(name, shape) or f"; want one of {', '.join(sorted(shape))}"
            yield key, f"unknown field {name!r}{near}"
        elif isinstance(known, Mapping):
            for each in _items(value):
                yield from _wrong(schema, known, each)
        elif isinstance(value, Literal) and isinstance(value.value, str):
            if known is not None and value.value not in known:
                want = did_you_mean(value.value, known) or f", want one of {', '.join(sorted(filter(None, known)))}"
                yield value, f"{name}: got {value.value!r}{want}"
            if "op" in shape and name in ("path", "from") and (said := _no_such_path(schema, value.value)):
                yield value, said


def _no_such_path(schema: PodSchema, pointer: str) -> str:
    try:
        type_at(schema, steps_of(pointer))
    except (PatchError, MisfitError) as error:
        return f"path: {error}"
    return ""

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
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from ...cel.engine import ReviewContext
from ...cel.tree import Call, Entries, Items, Literal, Loop, Tree
from ...errors import EvaluationError, Problem, did_you_mean
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
from ..findings import Library, LintedMutation


@dataclass(frozen=True, slots=True)
class _Shape:
    """The fields of the maps in a mutation's list, and the allowed values of fields with a fixed set of values."""

    keys: frozenset[str]
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    below: Mapping[str, "_Shape"] = field(default_factory=dict)
    """The shape of the maps in a list, by the field that contains the list."""


# kubernetes/api core/v1 types.go: TolerationOperator, TaintEffect and NodeSelectorOperator, and the fields beside them.
_REQUIREMENT: Final = _Shape(
    frozenset({"key", "operator", "values"}),
    {"operator": frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})},
)
_SHAPES: Final[Mapping[str, _Shape]] = {
    "tolerations": _Shape(
        frozenset({"key", "operator", "value", "effect", "tolerationSeconds"}),
        {
            "operator": frozenset({"Exists", "Equal"}),
            "effect": frozenset({"", "NoSchedule", "PreferNoSchedule", "NoExecute"}),
        },
    ),
    "nodeAffinity": _Shape(
        frozenset({"matchExpressions", "matchFields"}),
        below={"matchExpressions": _REQUIREMENT, "matchFields": _REQUIREMENT},
    ),
    "jsonPatch": _Shape(frozenset({"op", "path", "from", "value"}), {"op": frozenset(get_args(Verb))}),
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
        leaves = {name: bound.expression.evaluate(nothing) for name, bound in compiled.leaves.items()}
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
        name = key.value
        if name not in shape.keys:
            near = did_you_mean(name, shape.keys) or f"; want one of {', '.join(sorted(shape.keys))}"
            yield key, f"unknown field {name!r}{near}"
        elif name in shape.below:
            for each in _items(value):
                yield from _wrong(schema, shape.below[name], each)
        elif isinstance(value, Literal) and isinstance(value.value, str):
            known = shape.words.get(name, frozenset({value.value}))
            if value.value not in known:
                want = did_you_mean(value.value, known) or f", want one of {', '.join(sorted(filter(None, known)))}"
                yield value, f"{name}: got {value.value!r}{want}"
            if "op" in shape.keys and name in ("path", "from") and (said := _no_such_path(schema, value.value)):
                yield value, said


def _no_such_path(schema: PodSchema, pointer: str) -> str:
    try:
        type_at(schema, steps_of(pointer))
    except (PatchError, MisfitError) as error:
        return f"path: {error}"
    return ""

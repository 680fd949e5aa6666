"""A value that no pod can have: podberth or the API server refuses it when the first pod comes.

A mutation whose expressions read nothing is tried on an example pod. In other mutations, the literals of tolerations,
of node affinity and of JSON Patch operations are looked at: operators, effects, field names and paths.

Bad:

    mutations:
    - tolerations: "[{'key': 'nvidia.com/gpu', 'operator': 'Exist', 'effect': 'NoSchedule'}]"

Good:

    mutations:
    - tolerations: "[{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]"
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from ...cel.engine import ReviewContext
from ...cel.tree import Entries, Literal, Tree
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
from ..findings import Level, Library, LintedMutation

LEVEL = Level.ERROR

# kubernetes/api core/v1 types.go: TolerationOperator, TaintEffect and NodeSelectorOperator, and the fields beside them.
_WORDS: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "tolerations": {
        "operator": frozenset({"Exists", "Equal"}),
        "effect": frozenset({"", "NoSchedule", "PreferNoSchedule", "NoExecute"}),
    },
    "nodeAffinity": {"operator": frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})},
    "jsonPatch": {"op": frozenset(get_args(Verb))},
}
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "tolerations": frozenset({"key", "operator", "value", "effect", "tolerationSeconds"}),
    "nodeAffinity": frozenset({"matchExpressions", "matchFields", "key", "operator", "values", "weight", "preference"}),
    "jsonPatch": frozenset({"op", "path", "from", "value"}),
}
# Other maps stand in the same expressions; one that has none of these keys, or nearly, is left alone.
_MARKS: Final[Mapping[str, frozenset[str]]] = {
    "tolerations": frozenset({"key", "operator", "effect"}),
    "nodeAffinity": frozenset({"matchExpressions", "matchFields", "operator"}),
    "jsonPatch": frozenset({"op", "path"}),
}


def check(library: Library) -> Iterator[Problem]:
    """Yield the values of mutations that are refused for every pod, and the literals that are."""
    refusals = {id(each): _refusal(each) for each in library.mutations}
    for mutation in library.mutations:
        if refusals[id(mutation)]:
            yield mutation.policy.problem((*mutation.path, mutation.source.concern), refusals[id(mutation)])
    for mutation, place, part in library.parts(*_WORDS):
        if isinstance(part, Entries) and not refusals[id(mutation)]:
            for found, said in _wrong(mutation, part, of_variable=place[1] == "variables"):
                yield mutation.policy.within(place, found, said)


def _refusal(mutation: LintedMutation) -> str:
    """Return why a mutation of constants is refused; empty if it is not, or if it reads anything."""
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
        return f"no pod can have it: {error}"
    return ""


def _wrong(mutation: LintedMutation, part: Entries, *, of_variable: bool) -> Iterator[tuple[Tree, str]]:
    """Yield the keys and values of a map literal that no pod can have there, each with the problem.

    A variable may have maps of another kind, so one with unknown keys is left alone.
    """
    concern = mutation.source.concern
    marks, keys = _MARKS[concern], _KEYS[concern]
    pairs = [(key, value) for key, value in part.entries if isinstance(key, Literal) and isinstance(key.value, str)]
    texts = {str(key.value): (key, value) for key, value in pairs}
    strange = texts.keys() - keys
    if (of_variable and strange) or not any(name in marks or did_you_mean(name, marks) for name in texts):
        return
    for name, (key, value) in texts.items():
        if name in strange:
            yield key, f"got the field {name!r}{did_you_mean(name, keys)}"
        if not isinstance(value, Literal) or not isinstance(value.value, str):
            continue
        known = _WORDS[concern].get(name, frozenset({value.value}))
        if value.value not in known:
            want = did_you_mean(value.value, known) or f", want one of {', '.join(sorted(filter(None, known)))}"
            yield value, f"{name}: got {value.value!r}{want}"
        if concern == "jsonPatch" and name in ("path", "from"):
            said = _no_such_path(mutation.policy.environment.schema, value.value)
            if said:
                yield value, said


def _no_such_path(schema: PodSchema, pointer: str) -> str:
    try:
        type_at(schema, steps_of(pointer))
    except (PatchError, MisfitError) as error:
        return f"path: {error}"
    return ""

"""A label that agents keep current, in a required term, a nodeSelector, or a validation that demands one of these.

`podberth.io/free-linked-gpus` changes with use (docs/agent.md, "Live labels"). The rule reads keys that are literals.
While the label is old or absent, a required term keeps pods off good nodes. An autoscaler cannot know the label of a
node to come: it adds no node, or one too many. The scheduler evaluates preferred terms when it places the pod, so a
preference is as fresh as the label and keeps no pod waiting.

Bad:

    mutations:
    - nodeAffinity:
        required: >-
          [{'matchExpressions': [{'key': 'podberth.io/free-linked-gpus', 'operator': 'Gt', 'values': ['3']}]}]

Good:

    mutations:
    - nodeAffinity:
        preferred: "[{'matchExpressions': [{'key': 'nvidia.com/gpu.count', 'operator': 'Gt', 'values': ['3']}]}]"
        weight: 50
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ...cel.tree import Call, Entries, Items, Literal, Loop, Tree, walk
from ...errors import Problem
from ...kube.json_patch import PatchError, steps_of
from ...kube.paths import FieldPath, Path
from ...mutation.affinity import REQUIRED, SELECTOR
from ...wellknown import LIVE_LABELS
from ..conditions import variable
from ..findings import Library, Linted, LintedMutation
from ..places import Scope, parts_of, where

_TERMS: Final = REQUIRED[:-1]
_WRITES: Final = frozenset({"add", "replace"})
_STEPS: Final = frozenset({"_[_]", "_[?_]"})
_STEP: Final = 2
"""The index, among the parts of a loop, of the step: the expression that a macro has about one element."""


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each live label that a mutation requires, or that a validation wants a pod to require."""
    for mutation, leaf in library.leaves("nodeSelector"):
        if leaf.name in LIVE_LABELS:
            yield mutation.policy.problem((*mutation.path, *leaf.path), _message(leaf.name), of_key=True)
    for mutation, leaf in library.leaves("nodeAffinity"):
        for path, tree in mutation.policy.reached(leaf.source) if leaf.name == "required" else ():
            place = path or (*mutation.path, *leaf.path)
            yield from _problems(mutation.policy, place, map(_key, walk(tree)))
    for mutation, leaf in library.leaves("applyConfiguration", "jsonPatch"):
        place, tree = mutation.placed(leaf)
        yield from _problems(mutation.policy, place, _written(mutation, tree))
    for policy in library.on_pods:
        wanted = {
            id(part) for item in policy.spec.validations for part in _wanted(policy, policy.tree(item.expression))
        }
        for place, part, scope in parts_of(policy):
            if id(part) in wanted:
                yield from _problems(policy, place, _demanded(policy, part, scope))


def _problems(policy: Linted, place: Path, keys: Iterable[Tree | None]) -> Iterator[Problem]:
    for key in keys:
        if isinstance(key, Literal) and key.value in LIVE_LABELS:
            yield policy.within(place, key, _message(str(key.value)))


def _message(name: str) -> str:
    return f"requires {name}, which may be old and which no new node has; want it in a preferred term"


def _key(part: Tree) -> Tree | None:
    """Return the label's key if an expression is a map literal with a node selector requirement; else None."""
    return part.get("key") if isinstance(part, Entries) else None


def _written(mutation: LintedMutation, tree: Tree) -> Iterator[Tree | None]:
    """Yield the label keys in the nodeSelector and the required terms that an expression of a mutation writes."""
    if mutation.source.concern == "applyConfiguration":
        yield from _keys(tree, ())
    for operation in tree.items if isinstance(tree, Items) else ():
        if not isinstance(operation, Entries):
            continue
        kind, pointer, value = map(operation.get, ("op", "path", "value"))
        if isinstance(kind, Literal) and kind.value in _WRITES and isinstance(pointer, Literal) and value is not None:
            with suppress(PatchError):  # the rule refused-value reports it
                *path, last = steps_of(str(pointer.value))
                yield from _keys(Entries(entries=((replace(pointer, value=last), value),)), tuple(path))


def _keys(tree: Tree, path: FieldPath) -> Iterator[Tree | None]:
    """Yield the label keys in the nodeSelector and the required terms of an object's part at a path."""
    if path[: len(_TERMS)] == _TERMS:
        yield from map(_key, walk(tree))
        return
    for key, value in tree.entries if isinstance(tree, Entries) else ():
        if path == SELECTOR:
            yield key
        elif isinstance(key, Literal):
            yield from _keys(value, (*path, str(key.value)))


def _wanted(policy: Linted, tree: Tree) -> Iterator[Tree]:
    """Yield each part of a validation that makes the validation true; parts below a negation are left out."""
    match tree:
        case Call(function="_&&_" | "_||_", operands=parts) | Call(function="_?_:_", operands=(_, *parts)):
            for each in parts:
                yield from _wanted(policy, each)
        case Loop(parts=parts):
            yield from _wanted(policy, parts[_STEP])
        case _ if (name := variable(tree)) in policy.variables:
            yield from _wanted(policy, policy.variables[name])
        case _:
            yield tree


def _demanded(policy: Linted, part: Tree, scope: Scope) -> Iterator[Tree]:
    """Yield the key of the label that an expression finds in the pod's nodeSelector or required terms."""
    match part:
        case Call(function="@in", operands=(key, field)) if _in_pod(policy, field, scope, SELECTOR):
            yield key
        case Call(function="hasValue", operands=(Call(function=step, operands=(field, key)),)) if step in _STEPS:
            if _in_pod(policy, field, scope, SELECTOR):
                yield key
        case Call(function="_==_", operands=(left, right)):
            for field, key in ((left, right), (right, left)):
                if _in_pod(policy, field, scope, _TERMS):
                    yield key
        case _:
            return


def _in_pod(policy: Linted, field: Tree, scope: Scope, path: FieldPath) -> bool:
    """Return whether an expression reads the pod's field at ``path``, or a field below it."""
    return (where(policy, field, scope) or ())[1 : len(path) + 1] == path
